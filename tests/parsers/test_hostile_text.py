"""Texts made to take for ever end as soon as harmless ones of their length.

Nothing is timed: each text is so long that an expression with more than linear time would not
come back within the suite's limit.
"""

from __future__ import annotations

import pytest

from kneck.parsers.errors import KneckError
from kneck.parsers.resources import parse_resources
from kneck.parsers.sass import parse_sass

LONG = 300_000
HEAD = "\tcode for sm_86\n\t\tFunction : k\n"
INSTRUCTION = "        /*0000*/  EXIT ;  /* 0x000000000000794d */\n"

LISTINGS = {
    "a word without an end": HEAD + "/*0000*/ " + "A" * LONG,
    "dots without an end": HEAD + "/*0000*/ A" + ".A" * LONG,
    "braces": HEAD + "/*0000*/ " + "{" * LONG,
    "a guard without an end": HEAD + "/*0000*/ @" + "P" * LONG,
    "an operand without an end": HEAD + "/*0000*/ MOV " + "R" * LONG + " ;",
    "operands without an end": HEAD + "/*0000*/ MOV " + "R1, " * LONG + "R1 ;",
    "brackets": HEAD + "/*0000*/ MOV " + "[" * 4000 + " ;",
    "labels in labels": HEAD + "/*0000*/ BRA " + "`(" * 2000 + " ;",
    "closing marks": HEAD + "/*0000*/ BRA `(" + ") " * 2000 + "x ;",
    "a number without an end": HEAD + "/*0000*/ MOV R1, " + "9" * 4000 + " ;",
    "a float above all": HEAD + "/*0000*/ LDG R1, [R2+1e999] ;",
    "blank lines behind an encoding": HEAD + INSTRUCTION + "\n" * LONG + INSTRUCTION,
    "blanks behind an encoding": HEAD + INSTRUCTION.rstrip() + " " * LONG + "\n" + INSTRUCTION,
    "slashes behind an encoding": HEAD + INSTRUCTION.rstrip() + "/ " * LONG + "\n" + INSTRUCTION,
    "a name with a gap": "\t\tFunction : a" + " " * LONG + "b\n" + INSTRUCTION,
    "a directive with a gap": HEAD + "\t.size a" + " " * LONG + "b\n" + INSTRUCTION,
    "colons": HEAD + ":" * LONG + "x\n" + INSTRUCTION,
    "an empty label": HEAD + ":\n" + INSTRUCTION,
    "a control word without an end": "[" * LONG + "\n[" + "B" * LONG,
    "tags without an end": "</b" + "<b" * LONG,
    "quotes without an end": '"Source","Address"\n' + '"' * LONG,
    "a debugger's line with a gap": "0x10 <+16>: MOV" + " " * LONG + "x",
    "an address in triton's place": "--:-:-:-:1 " + " " * LONG,
    "nested brackets of json": '"sass-instructions"' + "[" * LONG,
    "an opening json": "[" * LONG + '"sass-instructions"',
    "many functions": "\t\tFunction : k\n" * 20_000 + INSTRUCTION,
    "many architectures": "".join(f"code for sm_{i}\n" for i in range(20_000)),
}
LOGS = {
    "quotes": "Function properties for '" + "' " * LONG,
    "a quote and blanks": "Function properties for 'a'" + " " * LONG + "x",
    "items": "Used 1 registers" + ", 1 bytes x" * LONG,
    "digits": "Used " + "1" * LONG + " registers",
    "many digits": "Used " + "1" * 5000 + " registers, " + "2" * 5000 + " bytes smem",
    "a field with many digits": " Function k:\n  REG:" + "1" * 5000 + " STACK:" + "2" * 5000,
    "tools": "ptxas-" + "w" * LONG + "\n" + "ptxas " * LONG,
    "colons": " Function " + ": " * LONG,
    "entries": "Compiling entry function '" + "' for" * LONG,
    "unfinished statements": "ptxas info : Used 1 registers, \n" * 2000,
}


@pytest.mark.parametrize("text", LISTINGS.values(), ids=LISTINGS.keys())
def test_a_hostile_listing_ends(text: str) -> None:
    try:
        parse_sass(text)
    except KneckError as error:
        assert error.help
        assert len(str(error)) < 1000


@pytest.mark.parametrize("text", LOGS.values(), ids=LOGS.keys())
def test_a_hostile_log_ends(text: str) -> None:
    try:
        parse_resources(text)
    except KneckError as error:
        assert error.help
        assert len(str(error)) < 1000
