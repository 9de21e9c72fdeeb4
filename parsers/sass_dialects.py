"""Other tools' ways to print SASS, turned into the form of cuobjdump line by line.

Line numbers stay those of the text given (except for nvdisasm's JSON, which is one line). Known:
Triton (`--:-:0:-:1<tab>S2R R0, SR_TID.X;`, no addresses), cuda-gdb (`0x7fff... <+16>: MOV ...`),
the source page of Nsight Compute as CSV, nvdisasm -json, and HTML around any of them. CuAssembler
prints control words in square brackets before the address, which `sass_lines.py` reads itself.
"""

from __future__ import annotations

import re

from .sass_headers import INSTRUCTION_BYTES

_HTML = re.compile(r"</?(?:html|body|pre|code|span|div|p|td|tr|table|br|b|i|a|font)\b[^<>]*>", re.I)
_QUOTED = re.compile(r"\s*>[ \t]")  # a text that starts with a Markdown quote
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_TRITON = re.compile(
    r"^[ \t]*(?P<control>(?:--|\d\d):[-\d]:[-\d]:[-Y]:[0-9a-f])[ \t]+(?P<body>\S[^;\n]*);?"
)
_GDB = re.compile(
    r"^(?:=>)?[ \t]*(?P<address>0x[0-9a-f]+)[ \t]*(?:<(?P<place>[^>\n]*)>)?:"
    r"[ \t]++(?P<body>\S.*)"
)
_GDB_FUNCTION = re.compile(r"^Dump of assembler code for function (.+):\s*$")
_LABEL_OR_HEADER = re.compile(r"^\s*(?:[\w.$]+:|Function\s*:.*)\s*$")
_LONG_NUMBER = re.compile(r"(?<!\w)0x[0-9a-f]{7,}(?!\w)")
_LARGEST_FUNCTION = 1 << 28  # bytes; an address above it is one of the GPU's memory
_KERNEL_NAME = "Kernel Name"


def without_markup(text: str) -> str:
    """Take HTML tags and Markdown quotes off, keeping the lines; other text comes back as it is."""
    if _QUOTED.match(text):
        text = _QUOTE.sub("", text)
    if "</" not in text or not _HTML.search(text):
        return text
    from html import unescape

    return unescape(_HTML.sub("", text)).replace("\xa0", " ")


def to_cuobjdump(text: str) -> str | None:
    """Turn another tool's listing into cuobjdump's form; None where it is none that is known."""
    if '"sass-instructions"' in text:
        return _from_json(text)
    for convert in (_from_triton, _from_gdb, _from_csv):
        lines = convert(text)
        if lines is not None:
            return "\n".join(lines)
    return None


def _from_triton(text: str) -> list[str] | None:
    """Number the instructions of each function by 16 bytes, as Triton took them apart."""
    lines, address, seen = [], 0, False
    for line in text.split("\n"):
        found = _TRITON.match(line)
        if found:
            lines.append(f"[{found['control']}] /*{address:04x}*/ {found['body'].strip()} ;")
            address += INSTRUCTION_BYTES
            seen = True
        else:
            if re.match(r"\s*Function\s*:", line):
                address = 0
            lines.append(line if _LABEL_OR_HEADER.match(line) or ".target" in line else "")
    return lines if seen else None


def _from_gdb(text: str) -> list[str] | None:
    """Count addresses from the start of the function where gdb says how far they are from it."""
    lines, seen = [], False
    for line in text.split("\n"):
        name = _GDB_FUNCTION.match(line)
        found = _GDB.match(line)
        if name:
            lines.append(f"Function : {name[1].split('(')[0]}")
        elif found:
            place = (found["place"] or "").rpartition("+")[2]
            absolute = int(found["address"], 16)
            address = int(place) if place.isdecimal() else absolute
            body = _relative(found["body"].rstrip(" \t;"), absolute - address)
            lines.append(f"/*{address:04x}*/ {body} ;")
            seen = True
        else:
            lines.append("")
    return lines if seen else None


def _from_csv(text: str) -> list[str] | None:
    """Read the columns Address and Source of Nsight Compute's source page."""
    if '"Source"' not in text and "Source," not in text:
        return None
    import csv

    lines: list[str] = []
    columns: tuple[int, int] | None = None
    first, count, seen = 0, 0, False
    for row_text in text.split("\n"):
        try:
            row = next(csv.reader([row_text]), [])
        except csv.Error:
            row = []
        line = ""
        if "Source" in row and "Address" in row:
            columns, count = (row.index("Address"), row.index("Source")), 0
        elif len(row) >= 2 and row[0] == _KERNEL_NAME:
            line = f"Function : {row[1].split('(')[0]}"
        elif columns is not None and len(row) > max(columns) and row[columns[1]].strip():
            address = count * INSTRUCTION_BYTES
            absolute = _address(row[columns[0]])
            if absolute is not None:
                first = absolute if count == 0 else first
                address = absolute - first if absolute >= first else absolute
            body = _relative(row[columns[1]].strip().rstrip(";"), first)
            line = f"/*{address:04x}*/ {body} ;"
            count += 1
            seen = True
        lines.append(line)
    return lines if seen else None


def _relative(body: str, first: int) -> str:
    """Count absolute branch targets from the start of the function, as its addresses are."""

    def shift(found: re.Match[str]) -> str:
        target = int(found[0], 16)
        return hex(target - first) if first <= target < first + _LARGEST_FUNCTION else found[0]

    return _LONG_NUMBER.sub(shift, body) if first >= _LARGEST_FUNCTION else body


def _address(cell: str) -> int | None:
    """Read an address: decimal, or hex with a prefix or in groups of eight digits."""
    digits = cell.replace(" ", "")
    try:
        return int(digits, 10 if digits.isdecimal() and len(digits) > 12 else 16)
    except ValueError:
        return None


def _from_json(text: str) -> str | None:
    """Print what `nvdisasm -json` holds; it has no encodings and no labels."""
    import json

    try:
        document = json.loads(text)
        header, functions = document[0], document[1]
        version = header["SM"]["version"]
        lines = [f"\t.target\tsm_{version['major']}{version['minor']}"]
        for function in functions:
            lines.append(f"\t\tFunction : {function['function-name']}")
            for number, each in enumerate(function["sass-instructions"]):
                guard = f"{each['predicate']} " if each.get("predicate") else ""
                body = f"{guard}{each['opcode']} {each.get('operands', '')}"
                lines.append(f"/*{number * INSTRUCTION_BYTES:04x}*/ {body} ;")
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return "\n".join(lines)
