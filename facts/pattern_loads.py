"""Patterns of loads that the code alone shows: widths, gathers, chains, what threads share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .mix import at_addresses
from .model import Fact, Missing
from .pattern_atomics import GLOBAL_LOADS, atomic_facts, repeated
from .pattern_origins import Origins
from .pattern_runs import WIDEST_BYTES, base_of, run_facts
from .pattern_scope import SHARED, Line, Scope, chosen, count, memory_operands, size_of

WORD_BYTES = 4
NO_ENCODINGS = "the listing has no encodings"


def load_facts(scope: Scope, origins: Origins) -> tuple[list[Fact], list[Missing]]:
    """Give `loads.*`, `stores.*`, `gather.*` and `atomics.*`: of the loop, else of the function."""
    loads = chosen(scope.body, GLOBAL_LOADS)
    shared = chosen(scope.body, ("load_shared",))
    same = _same_for_threads(loads, origins)
    narrow = [x for x in loads if 0 < size_of(x) < WIDEST_BYTES]
    facts = [
        count("loads.narrow", narrow, "loads"),
        count("loads.sub_word", [x for x in narrow if size_of(x) < WORD_BYTES], "loads"),
        *run_facts("loads", loads, scope, origins),
        *run_facts(
            "loads.shared", [x for x in shared if x.instruction.opcode == "LDS"], scope, origins
        ),
        *run_facts("stores", chosen(scope.body, ("store_global", "store_generic")), scope, origins),
        count("gather.loads", _gathers(loads, origins), "loads"),
        count("loads.same_for_threads", same, "loads"),
        *_asked("gather.shared_accesses", _shared_gathers, scope, origins),
        *_asked("loads.chased", _chased, scope, origins),
        *_asked("loads.repeated_by_loops", repeated, scope),
        *atomic_facts(scope, origins),
    ]
    missing: list[Missing] = []
    is_asked = not scope.loop and "loads.bytes_in_flight" in scope.wanted
    for name, found in (
        ("loads.same_for_threads_fraction", _share(same, loads)),
        ("gather.bytes", _gathered(_gathers(loads, origins), scope)),
        *((("loads.bytes_in_flight", _in_flight(scope.lines)),) if is_asked else ()),
    ):
        if isinstance(found, str):
            missing.append(Missing(name, found, applies=found == NO_ENCODINGS))
        else:
            value, lines = found
            unit = "" if name.endswith("fraction") else "B"
            facts.append(Fact(name, value, unit, at_addresses(line.address for line in lines)))
    return facts, missing


def _asked(name: str, find: Callable[..., list[Line]], scope: Scope, *more: Origins) -> list[Fact]:
    unit = "loads" if name.startswith("loads") else "instructions"
    return [count(name, find(scope, *more), unit)] if name in scope.wanted else []


def _shared_gathers(scope: Scope, origins: Origins) -> list[Line]:
    return _gathers(chosen(scope.body, SHARED), origins)


Measured = tuple[float, Sequence[Line]]  # a figure and the lines that it rests on


def _share(part: Sequence[Line], whole: Sequence[Line]) -> Measured | str:
    return (len(part) / len(whole), part) if whole else "nothing is loaded"


def _gathers(lines: Sequence[Line], origins: Origins) -> list[Line]:
    """Find accesses whose address was loaded."""
    return [line for line in lines if origins.of_address(line) & origins.memory]


def _gathered(gathers: Sequence[Line], scope: Scope) -> Measured | str:
    """Give the bytes taken from one such address: neighbours of one base count together."""
    places: dict[tuple[object, ...], int] = {}
    for line in gathers:
        operand = next(memory_operands(line.instruction))
        key = (line.block, *base_of(operand, line, scope))
        places[key] = places.get(key, 0) + size_of(line)
    if not places:
        return "no address was loaded"
    return sum(places.values()) / len(places), gathers


def _in_flight(lines: Sequence[Line]) -> Measured | str:
    """Give the bytes that a thread has asked for and not waited for, where they are most.

    For code without a loop; of a K-tile loop the dependences tell the loads under way.
    """
    flying: dict[int, list[Line]] = {}  # by scoreboard
    most: Measured = (0, [])
    for line in lines:
        control = line.instruction.control
        if control is None:
            return NO_ENCODINGS
        flying = {n: loads for n, loads in flying.items() if not control.wait_mask >> n & 1}
        if line.family in GLOBAL_LOADS and control.write_barrier is not None:
            flying.setdefault(control.write_barrier, []).append(line)
            loads = [load for group in flying.values() for load in group]
            total = sum(map(size_of, loads))
            if total > most[0]:
                most = (total, loads)
    return most if most[1] else "nothing is loaded"


def _same_for_threads(loads: Sequence[Line], origins: Origins) -> list[Line]:
    """Find loads that several threads of a block issue with the same address.

    That is sure where a dimension of the thread index is not in the address, or only by one
    operation that maps several threads to one value. What two such operations give together is
    not followed.
    """
    found = []
    for line in loads:
        mask = origins.of_address(line)
        if mask & origins.memory:
            continue
        whole, parts = origins.of_kind(mask, "thread"), origins.of_kind(mask, "part")
        is_one_part = len(parts) == 1 and not whole
        if (not parts and whole < origins.dimensions) or is_one_part:
            found.append(line)
    return found


def _chased(scope: Scope, origins: Origins) -> list[Line]:
    """Find loads of a loop whose address depends on what they brought one iteration before."""
    found = []
    for line in chosen(scope.lines, (*GLOBAL_LOADS, "load_shared")):
        if line.block in scope.looping:
            loads = origins.of_kind(origins.of_address(line), "load")
            if line.position in loads:
                found.append(line)
    return found
