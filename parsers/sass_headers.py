"""Everything in a SASS listing that is no instruction: functions, labels, directives, data."""

from __future__ import annotations

import re

from .generations import is_readable, sm_number
from .listing import Function, Instruction, Listing

UNKNOWN_ARCH = "unknown"  # the text does not say; never guessed
OLD_ENCODING = "64-bit"  # stands for the architecture of code that only its form gives away
INSTRUCTION_BYTES = 16

_ADDRESS = re.compile(r"[ \t]*+/\*[0-9a-fA-F]{4,16}\*/\s*+(.*)")
_DATA = re.compile(r"\.(?:byte|short|word|dword|quad|zero|string|ascii|align|skip|\d)")
_FUNCTION = re.compile(r"\s*+Function\s*+:\s*+(\S.*)")
_SECTION = re.compile(r"\s*\.section\s+([^\s,\"]+)")
_LABEL = re.compile(r"\s*+(\S+):\s*+(?://.*)?$")
_ARCH = re.compile(r"\s*(?:code for|\.target|arch =)\s*(sm_\w+)")
_FLAGS_ARCH = re.compile(r"EF_CUDA_SM(\d+)")
_DIRECTIVE = re.compile(r"\s*+(\.\w+)\s++(.*)")
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d+)")


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
        if any(i.address & (INSTRUCTION_BYTES - 1) for i in self.instructions):
            return True
        return self.single_words * 2 > len(self.instructions)


class Headers:
    """Collects functions while the lines of one listing go by."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.functions: list[Function] = []
        self.unknown: list[tuple[int, str]] = []
        self.refused: list[tuple[int, str]] = []
        self.in_code = True
        self.target = UNKNOWN_ARCH
        self.entry_marks: dict[str, bool] = {}
        self.current = OpenFunction("", UNKNOWN_ARCH, 0)

    def listing(self) -> Listing:
        """Close the last function and give everything that was read."""
        self.close()
        return Listing(tuple(self.functions), self.path, tuple(self.unknown), tuple(self.refused))

    def take_functions(self) -> list[Function]:
        """Hand over the functions that are complete, and forget them."""
        done, self.functions = self.functions, []
        return done

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
        first_line = done.line or done.instructions[0].line
        if done.arch == UNKNOWN_ARCH and done.looks_64_bit():
            self.refused.append((first_line, OLD_ENCODING))
            return
        done.place_labels(done.instructions[-1].address + INSTRUCTION_BYTES)
        self.functions.append(
            Function(
                done.name,
                done.arch,
                tuple(done.instructions),
                done.labels,
                self.entry_marks.get(done.name),
                first_line,
                done.header,
            )
        )

    def other_line(self, text: str, line: int) -> None:
        """Look at a line that is no instruction."""
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
            self.open(found[1].rstrip(), line)
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
        name, value = found[1], found[2].rstrip()
        if name == ".headerflags":
            self.header_flags(value)
        elif name == ".other":
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
