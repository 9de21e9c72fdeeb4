"""The lines of a SASS listing: which are instructions, which open a function, which are noise.

One compiled expression cuts the text into instructions (with their encodings, which stand on two
lines) and other lines; only what it cannot cut is looked at twice. What an operand means is the
business of `sass.lark`, reached through `operands.py`.
"""

from __future__ import annotations

import re

from .control import CONTROL_BITS, CONTROL_SHIFT, decode, parse_notation
from .generations import is_readable, sm_number
from .listing import Function, Instruction, Listing, Operand

UNKNOWN_ARCH = "unknown"  # the text does not say; never guessed
_INSTRUCTION_BYTES = 16

# Groups: 1 control notation, 2 address, 3 guard, 4 mnemonic, 5 operands, 6 first encoding word,
# 7 what stands between the two words, 8 second word, 9 any other line.
_LINE = re.compile(
    r"""^(?:
    [ \t>|]* (?: \[ ([^\]\n]*) \] [ \t]* )?
    /\*([0-9a-fA-F]{4,16})\*/ [ \t{]+
    (?: @([^ \t;\n]+) [ \t]+ )?
    ([A-Za-z_][\w.:]*) ([^;}\n]*) [;}] [ \t}]*
    (?: /\*[ ]0x([0-9a-fA-F]{16})[ ]\*/
        (?: ([^\n]*\n[ \t\n>|]* | [ \t]*) /\*[ ]0x([0-9a-fA-F]{16})[ ]\*/ )?
    )? [^\n]*
    | ([^\n]*)
    )\n""",
    re.VERBOSE | re.MULTILINE,
)
_ADDRESS = re.compile(r"[ \t>|]*/\*[0-9a-fA-F]{4,16}\*/\s*(.*)")
_DATA = re.compile(r"\.(?:byte|short|word|dword|quad|zero|string|ascii|align|skip|\d)")
_ANNOTATION = re.compile(r'\(\*"(.*?)"\*\)')
_FUNCTION = re.compile(r"\s*Function\s*:\s*(\S.*?)\s*$")
_SECTION = re.compile(r"\s*\.section\s+([^\s,\"]+)")
_LABEL = re.compile(r"\s*(\S[^\s]*):\s*(?://.*)?$")
_ARCH = re.compile(r"\s*(?:code for|\.target|arch =)\s*(sm_\w+)")
_FLAGS_ARCH = re.compile(r"EF_CUDA_SM(\d+)")
_DIRECTIVE = re.compile(r"\s*(\.\w+)\s+(.*?)\s*$")
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d+)")
_MASK = (1 << CONTROL_BITS) - 1


def split_operands(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets (demangled names carry commas)."""
    if "(" not in text and "{" not in text:
        return [part.strip() for part in text.split(",")]
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return parts


class OpenFunction:
    """A function whose lines are still going by."""

    def __init__(self, name: str, arch: str, line: int) -> None:
        self.name = name
        self.arch = arch
        self.line = line
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.pending: list[str] = []  # labels that wait for the address of the next instruction
        self.header: dict[str, str] = {}
        self.single_words = 0  # instructions with one encoding word, as 64-bit code has
        self.readable = is_readable(arch)
        self.saw_instruction = False

    def place_labels(self, address: int) -> None:
        """Give the waiting labels the address of the instruction that follows them."""
        for label in self.pending:
            self.labels.setdefault(label, address)
        self.pending.clear()

    def looks_64_bit(self) -> bool:
        """Tell 64-bit code from its form where no architecture is named."""
        if any(i.address & (_INSTRUCTION_BYTES - 1) for i in self.instructions):
            return True
        return self.single_words * 2 > len(self.instructions)


class Reader:
    """Collects functions while the lines of one listing go by."""

    def __init__(self, path: str) -> None:
        from .operands import parse_operand

        self.parse_operand = parse_operand
        self.path = path
        self.functions: list[Function] = []
        self.unknown: list[tuple[int, str]] = []
        self.refused: list[tuple[int, str]] = []
        self.in_code = True
        self.target = UNKNOWN_ARCH
        self.entry_marks: dict[str, bool] = {}
        self.current = OpenFunction("", UNKNOWN_ARCH, 0)
        self.operand_lists: dict[str, tuple[tuple[Operand, ...], tuple[str, ...]]] = {}

    def read(self, text: str) -> Listing:
        """Read a whole text and give what it holds."""
        line = 1
        current = self.current
        append = current.instructions.append
        known = self.operand_lists
        for found in _LINE.finditer(text if text.endswith("\n") else text + "\n"):
            note, address, guard, mnemonic, rest, word, gap, word2, other = found.groups()
            if other is not None:
                if other and not other.isspace():
                    self.other_line(other, line)
                    current = self.current
                    append = current.instructions.append
                line += 1
                continue
            if not current.readable:
                current.saw_instruction = True
                line += 1 + (gap.count("\n") if gap else 0)
                continue
            parsed = known.get(rest)
            if parsed is None:
                parsed = known[rest] = self.operands_of(rest)
            control = None
            if word2:
                control = decode(int(word2, 16) >> CONTROL_SHIFT & _MASK)
            elif note:
                control = parse_notation(note)
            elif word:
                current.single_words += 1
            at = int(address, 16)
            if current.pending:
                current.place_labels(at)
            start = found.start(3) - 1 if guard else found.start(4)
            body = text[start : found.end(5)].rstrip()
            append(Instruction(at, guard, mnemonic, parsed[0], control, line, body, parsed[1]))
            line += 1 + (gap.count("\n") if gap else 0)
        self.close()
        return Listing(tuple(self.functions), self.path, tuple(self.unknown), tuple(self.refused))

    def operands_of(self, text: str) -> tuple[tuple[Operand, ...], tuple[str, ...]]:
        """Parse what follows the mnemonic: operands and disassembler annotations."""
        annotations: tuple[str, ...] = ()
        if "(*" in text:
            annotations = tuple(_ANNOTATION.findall(text))
            text = _ANNOTATION.sub("", text)
        text = text.strip()
        if not text:
            return (), annotations
        return tuple([self.parse_operand(part) for part in split_operands(text)]), annotations

    def open(self, name: str, line: int) -> None:
        """Start a function; the one before it is complete."""
        self.close()
        self.in_code = True
        self.current = OpenFunction(name, self.target, line)

    def close(self) -> None:
        """Keep the function that just ended, or note why it is refused."""
        done = self.current
        self.current = OpenFunction("", self.target, 0)
        if not done.readable:
            if done.saw_instruction:
                self.refused.append((done.line, done.arch))
            return
        if not done.instructions:
            return
        if done.arch == UNKNOWN_ARCH and done.looks_64_bit():
            self.refused.append((done.line or done.instructions[0].line, "64-bit"))
            return
        done.place_labels(done.instructions[-1].address + _INSTRUCTION_BYTES)
        self.functions.append(
            Function(
                done.name,
                done.arch,
                tuple(done.instructions),
                done.labels,
                self.entry_marks.get(done.name),
                done.line or done.instructions[0].line,
                done.header,
            )
        )

    def other_line(self, text: str, line: int) -> None:
        """Look at a line that is no instruction: header, label, directive, data or noise."""
        addressed = _ADDRESS.match(text)
        if addressed:
            if self.in_code and self.current.readable and not _DATA.match(addressed[1]):
                self.unknown.append((line, text.strip()))
            return
        stripped = text.lstrip()
        if stripped.startswith(("//", "/*")):
            return
        found = _FUNCTION.match(text)
        if found:
            self.open(found[1], line)
            return
        found = _ARCH.match(text)
        if found:
            self.named_arch(found[1])
            return
        found = _LABEL.match(text)
        if found:
            self.label(found[1], line)
        elif stripped.startswith("."):
            self.directive(stripped, line)

    def named_arch(self, arch: str) -> None:
        """Take over an architecture; it starts a new part of a fat binary's listing."""
        if arch != self.target:
            self.close()
            self.target = arch
            self.entry_marks = {}
            self.current = OpenFunction("", arch, 0)

    def label(self, name: str, line: int) -> None:
        """Take a label; `.text.NAME:` opens a function where no section line did."""
        if name.startswith(".text."):
            name = name.removeprefix(".text.")
            if name != self.current.name:
                self.open(name, line)
        elif self.in_code:
            if not self.current.name and not self.current.instructions and name[0] != ".":
                self.current.name, self.current.line = name, line
            self.current.pending.append(name)

    def directive(self, text: str, line: int) -> None:
        """Keep what a directive says of the function or of the whole listing."""
        section = _SECTION.match(text)
        if section:
            if section[1].startswith(".text."):
                self.open(section[1].removeprefix(".text."), line)
            else:
                self.close()
                self.in_code = False
            return
        found = _DIRECTIVE.match(text)
        if not found or _DATA.match(text):
            return
        name, value = found[1], found[2]
        if name == ".headerflags":
            self.header_flags(value)
        if name == ".other":
            symbol, _, marks = value.partition(",")
            self.entry_marks[symbol.strip()] = "STO_CUDA_ENTRY" in marks
        elif name == ".type" and "@function" in value:
            self.entry_marks.setdefault(value.partition(",")[0].strip(), False)
        if self.in_code:
            self.current.header[name] = value.strip('@"')
            registers = _REGISTERS.search(value)
            if name == ".sectioninfo" and registers:
                self.current.header["registers"] = registers[1]

    def header_flags(self, value: str) -> None:
        """Read the architecture of older listings, which name it in the ELF flags only."""
        found = _FLAGS_ARCH.search(value)
        if not found or sm_number(self.target) == int(found[1]):
            return
        self.target = f"sm_{found[1]}"
        if not self.current.instructions:
            self.current.arch = self.target
            self.current.readable = is_readable(self.target)
