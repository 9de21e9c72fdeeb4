"""Lines of a listing that have an address and are no instruction are counted where they stand."""

from __future__ import annotations

from kneck.engine.code_analysis import unparsed_lines
from kneck.parsers.sass import parse_sass

LISTING = """\
\tcode for sm_86
\t\tFunction : first
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   EXIT ;
\t\tFunction : second
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   %MAD R2, R4, R5, R0 ;
        /*0020*/                   EXIT ;
"""


def test_a_line_belongs_to_the_function_that_it_stands_in() -> None:
    listing = parse_sass(LISTING, "k.sass")
    first, second = (unparsed_lines(listing, function) for function in listing.functions)
    assert (first.value, first.source.detail) == (0, "k.sass, lines: none")
    assert (second.value, second.source.detail) == (1, "k.sass, lines: 7")


def test_many_lines_are_named_by_the_first_of_them() -> None:
    broken = "        /*0010*/                   %MAD R2, R4, R5, R0 ;\n"
    listing = parse_sass(LISTING + 6 * broken, "k.sass")
    found = unparsed_lines(listing, listing.functions[1])
    assert found.value == 7
    assert found.source.detail == "k.sass, lines: 7, 9, 10, 11 and 3 more"
