"""The instruction lines of a SASS listing.

One compiled expression cuts the text into instructions (with their encodings, which stand on two
lines) and other lines. What an operand means is the business of `sass.lark`, reached through
`operands.py`; what the other lines mean is in `sass_headers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from .control import CONTROL_SHIFT, decode_word, parse_notation, second_words, top_digits_to_control
from .listing import Control, Instruction, Listing, Operand
from .operands import parse_operands
from .sass_headers import INSTRUCTION_BYTES, Headers

Parsed = tuple[tuple[Operand, ...], tuple[str, ...]]  # operands, annotations

# Groups: 1 control notation, 2 address, 3 all of the instruction, 4 guard, 5 mnemonic, 6 operands,
# 7 first encoding word, 8 what stands between the two words, 9 second word, 10 any other line.
# Every quantifier is possessive where it may be: a hostile line must not be tried in all splits.
_LINE = re.compile(
    r"""^(?:
    [ \t]*+ (?: \[ ([^\]\n]*+) \] [ \t]*+ )?+
    /\*([0-9a-fA-F]{4,16})\*/ [ \t{]++
    ( (?: @([^ \t;\n]++) [ \t]++ )?+ ([A-Za-z_][\w.:]*+)
      ( (?: [^;{}\n]++ | \{[0-9,]++\} | \{ )*+ ) ) [;}] [ \t}]*+
    (?: /\*[ ]0x([0-9a-fA-F]{16})[ ]\*/
        (?: ( (?: [^\n/]*+ (?: // [^\n]*+ )?+ \n )?+ [ \t\n]*+ ) /\*[ ]0x([0-9a-fA-F]{16})[ ]\*/ )?+
    )?+ [^\n]*+
    | ([^\n]*+)
    )\n""",
    re.VERBOSE | re.MULTILINE,
)
_ANNOTATION = re.compile(r'\(\*"(.*?)"\*\)')
_MOST_LISTS = 1 << 13  # operand lists that are kept; most of a large unit occur in one function
_TOP_DIGITS = 6  # hex digits of the second word that hold the control bits


class Reader(Headers):
    """Reads one listing, whole or in pieces that end with a line.

    `codes` are the encodings of functions by name, for a text that prints none.
    """

    def __init__(self, path: str, codes: Mapping[str, memoryview] = MappingProxyType({})) -> None:
        super().__init__(path)
        self.codes = codes
        self.next_line = 1
        self.lists: dict[str, Parsed] = {}
        self._words: tuple[str, tuple[int, ...]] = "", ()
        self.controls: dict[str | int, Control] = {}

    def read(self, text: str) -> Listing:
        """Read a whole text and give what it holds."""
        self.feed(text)
        return self.listing()

    def words_of(self, name: str) -> tuple[int, ...]:
        """Give the second words of the encodings of a function, none where they are not known."""
        if name != self._words[0]:
            code = self.codes.get(name)
            self._words = name, () if code is None else second_words(code)
        return self._words[1]

    def feed(self, text: str) -> None:
        """Read on; functions that end in the text are complete."""
        line = self.next_line
        current = self.current
        append = current.instructions.append
        words = self.words_of(current.name)
        lists, controls = self.lists, self.controls
        for found in _LINE.finditer(text if text.endswith("\n") else text + "\n"):
            note, address, body, guard, mnemonic, rest, word, gap, word2, other = found.groups()
            if other is not None:
                if other and not other.isspace():
                    self.other_line(other, line)
                    current = self.current
                    append = current.instructions.append
                    words = self.words_of(current.name)
                line += 1
                continue
            if not current.readable:
                current.saw_instruction = True
                line += 1 + (gap.count("\n") if gap else 0)
                continue
            parsed = lists.get(rest)
            if parsed is None:
                if len(lists) >= _MOST_LISTS:
                    lists.clear()
                parsed = lists[rest] = operand_list(rest)
            control = None
            if word2:
                digits = word2[:_TOP_DIGITS]
                control = controls.get(digits)
                if control is None:
                    control = controls[digits] = top_digits_to_control(digits)
            elif note:
                control = parse_notation(note)
            elif word:
                current.single_words += 1
            at = int(address, 16)
            index = at // INSTRUCTION_BYTES
            if control is None and index < len(words):
                bits = words[index] >> CONTROL_SHIFT
                control = controls.get(bits)
                if control is None:
                    control = controls[bits] = decode_word(words[index])
            if current.pending:
                current.place_labels(at)
            if parsed[1]:
                body = _ANNOTATION.sub("", body)
            append(
                Instruction(at, guard, mnemonic, parsed[0], control, line, body.rstrip(), parsed[1])
            )
            line += 1 + (gap.count("\n") if gap else 0)
        self.next_line = line


def operand_list(text: str) -> Parsed:
    """Parse what follows the mnemonic: operands and disassembler annotations."""
    annotations: tuple[str, ...] = ()
    if "(*" in text:
        annotations = tuple(_ANNOTATION.findall(text))
        text = _ANNOTATION.sub("", text)
    text = text.strip()
    if not text:
        return (), annotations
    return parse_operands(split_operands(text)), annotations


def split_operands(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets (demangled names carry commas)."""
    if "(" not in text and "{" not in text:
        parts = text.split(", ")
        if len(parts) > text.count(",") and " ," not in text:
            return parts
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
