"""The instruction mix: how often each mnemonic stands in a function, and its stall counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .model import EVERYTHING, Fact, Source, Wanted

SHOWN_ADDRESSES = 8
_NOWHERE = Source("sass", "no address")


@dataclass(frozen=True, slots=True)
class MixLine:
    """One mnemonic; `in_loop` and `stalls` are None where there is no loop or no encoding.

    `stalls` maps a stall count in cycles to the number of instructions that carry it, inside the
    loop where there is one, else in the whole function.
    """

    mnemonic: str
    opcode: str
    count: int
    in_loop: int | None
    stalls: dict[int, int] | None


def mix(
    instructions: Iterable[Instruction], loop_addresses: Collection[int] | None
) -> list[MixLine]:
    """Count every mnemonic; the most frequent in the loop (else in the function) comes first.

    Instructions whose guard is never true are filler and left out.
    """
    lines: dict[str, list[Instruction]] = {}
    for instruction in instructions:
        if not instruction.never_executes:
            lines.setdefault(instruction.mnemonic, []).append(instruction)
    rows = [_line(mnemonic, members, loop_addresses) for mnemonic, members in lines.items()]
    return sorted(rows, key=lambda row: (-(row.in_loop or 0), -row.count, row.mnemonic))


def _line(
    mnemonic: str, members: list[Instruction], loop_addresses: Collection[int] | None
) -> MixLine:
    inside = members
    if loop_addresses is not None:
        inside = [i for i in members if i.address in loop_addresses]
    counted = inside or members
    stalls: dict[int, int] | None = None
    if all(i.control is not None for i in counted):
        stalls = dict(sorted(Counter(i.control.stall for i in counted if i.control).items()))
    in_loop = None if loop_addresses is None else len(inside)
    return MixLine(mnemonic, members[0].opcode, len(members), in_loop, stalls)


def mix_facts(
    instructions: Iterable[Instruction],
    loop_addresses: Collection[int] | None,
    wanted: Wanted = EVERYTHING,
) -> list[Fact]:
    """Give `mix.OPCODE.count` and `mix.OPCODE.in_loop`, each with the addresses counted."""
    by_opcode: dict[str, list[int]] = {}
    for instruction in instructions:
        if not instruction.never_executes:
            by_opcode.setdefault(instruction.opcode, []).append(instruction.address)
    facts = []
    for opcode, addresses in by_opcode.items():
        if (name := f"mix.{opcode}.count") in wanted:
            facts.append(_count(name, addresses))
        if loop_addresses is not None and (name := f"mix.{opcode}.in_loop") in wanted:
            inside = [address for address in addresses if address in loop_addresses]
            facts.append(_count(name, inside))
    return facts


def _count(name: str, addresses: list[int]) -> Fact:
    return Fact(name, len(addresses), "instructions", at_addresses(addresses))


def at_addresses(addresses: Iterable[int]) -> Source:
    """Name SASS addresses as a source: the first few, then how many more.

    >>> at_addresses([0x10, 0x20]).detail
    '0x0010 0x0020'
    """
    known = list(addresses)
    if not known:
        return _NOWHERE
    shown = " ".join(f"0x{address:04x}" for address in known[:SHOWN_ADDRESSES])
    more = len(known) - SHOWN_ADDRESSES
    return Source("sass", f"{shown}, and {more} more" if more > 0 else shown)
