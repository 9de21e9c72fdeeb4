"""Shapes of loops and branches: divergence, tree steps, slow paths, remainders, block order."""

from __future__ import annotations

from collections.abc import Iterable

from .flow_branches import CALLS, RETURNS, is_conditional, is_divergent_branch
from .mix import at_addresses
from .model import Fact, Missing, Source
from .pattern_origins import LOSSY, REMAPS, Origins
from .pattern_scope import Line, Scope, chosen, count

_COMPILER = ("$__internal_", "__cuda_", "slowpath")
_SHUFFLED = "shfl"
_SIGN_SHIFT = 31
_SHARED = frozenset({"load_shared", "store_shared"})
_OTHER = frozenset({"load_global", "load_generic", "async_copy", "compute_tensor", "shuffle"})
_LEAST_STEPS = 3  # barriers in a row that make an unrolled tree; two are a plain exchange


def loop_facts(scope: Scope, origins: Origins) -> tuple[list[Fact], list[Missing]]:
    """Give `loops.*`, and what branches and calls of the K-tile loop tell."""
    tile = scope.kernel.tile
    rejected = () if tile is None else tile.rejected
    remainders = [loop.first for loop in rejected if loop.role == "remainder"]
    helpers, functions = _calls(scope)
    facts = [
        Fact("loops.count", len(scope.kernel.loops.loops), "", _loops_at(scope)),
        Fact("loops.remainders", len(remainders), "", at_addresses(remainders)),
        count("loops.tree_barriers", tree_barriers(scope)),
        count("loop.helper_calls", [x for x in helpers if x.times and x.times.high != 0]),
        count("kernel.helper_calls", helpers),
        count("kernel.function_calls", functions),
        *_divergence(scope, origins),
    ]
    if REMAPS in scope.wanted:
        facts.append(_remaps(scope, origins))
    return facts, []


def _loops_at(scope: Scope) -> Source:
    return at_addresses(loop.first for loop in scope.kernel.loops.loops)


# Divergence


def _divergence(scope: Scope, origins: Origins) -> list[Fact]:
    """Find branches of the loop whose condition differs between lanes, and what they guard."""
    branches: list[Line] = []
    exits: list[Line] = []
    guarded: set[int] = set()
    inside = {line.block for line in scope.loop}
    for line in scope.loop:
        if not _splits(line, scope, origins):
            continue
        targets = {edge.target for edge in scope.flow.successors[line.block]}
        if not targets <= inside:
            exits.append(line)
            continue
        region = _region(line.block, inside, scope)
        if region and not all(_is_unexpected(block, scope) for block in region):
            branches.append(line)
            guarded |= region
    expected = [x for x in scope.loop if not _is_unexpected(x.block, scope)]
    under = [x for x in expected if x.block in guarded]
    facts = [
        count("loop.divergent_branches", branches),
        count("loop.divergent_exits", exits),
    ]
    share = len(under) / len(expected) if expected else 0.0
    at = at_addresses(line.address for line in under)
    facts.append(Fact("loop.divergent_fraction", share, "", at))
    return facts


def _splits(line: Line, scope: Scope, origins: Origins) -> bool:
    """Tell whether it is a branch that lanes may take differently because of their data."""
    instruction = line.instruction
    if line.family != "control" or instruction.opcode in CALLS:
        return False
    if not is_conditional(instruction) or is_divergent_branch(instruction):
        return False
    mask = origins.guard(line)
    return bool(mask & origins.threads) and bool(mask & origins.memory)


def _region(block: int, inside: set[int], scope: Scope) -> set[int]:
    """Give the blocks between a branch and the place where its ways meet again."""
    meeting = scope.flow.post_dominators[block]
    waiting = [edge.target for edge in scope.flow.successors[block]]
    found: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at == meeting or at == block or at in found or at not in inside:
            continue
        found.add(at)
        waiting += [edge.target for edge in scope.flow.successors[at]]
    return found


def _is_unexpected(block: int, scope: Scope) -> bool:
    tile = scope.kernel.tile
    times = None if tile is None else tile.weights.times.get(block)
    return times is not None and times.expected == 0


# Calls


def _calls(scope: Scope) -> tuple[list[Line], list[Line]]:
    """Tell slow paths that the compiler adds from calls of functions of the program.

    A name decides where the listing has one. Without it a routine that holds a reciprocal or a
    root (MUFU) is taken for a slow path. Shuffles under divergence are neither, and a call whose
    target never returns is a jump.
    """
    helpers, functions = [], []
    for line in scope.lines:
        if line.instruction.opcode not in CALLS:
            continue
        label = next((o.label for o in line.instruction.operands if o.label), "") or ""
        entry = scope.flow.calls.get(line.block)
        if entry is not None and not _returns(entry, scope):
            continue
        if any(part in label for part in _COMPILER):
            if _SHUFFLED not in label:
                helpers.append(line)
        elif _is_nameless(label) and entry is not None and _holds_special(entry, scope):
            helpers.append(line)
        elif entry is not None or not _is_nameless(label):
            functions.append(line)
    return helpers, functions


def _is_nameless(label: str) -> bool:
    return not label or label.startswith(".L")


def _routine(entry: int, scope: Scope) -> frozenset[int]:
    return next((r.blocks for r in scope.flow.routines if r.entry == entry), frozenset())


def _returns(entry: int, scope: Scope) -> bool:
    blocks = _routine(entry, scope)
    return any(scope.flow.last_instruction(block).opcode in RETURNS for block in blocks)


def _holds_special(entry: int, scope: Scope) -> bool:
    blocks = _routine(entry, scope)
    return any(line.block in blocks for line in chosen(scope.lines, ("special",)))


# Trees and scans through shared memory


def tree_barriers(scope: Scope) -> list[Line]:
    """Find the barriers that part the steps of a tree or scan through shared memory.

    In a loop: one that loads from and stores to shared memory around a barrier, loads nothing
    else, and halves or doubles a counter. Unrolled: several barriers in a row with such steps.
    """
    found: dict[int, Line] = {}
    for loop in scope.kernel.loops.loops:
        if loop.children:
            continue
        lines = [line for block in sorted(loop.blocks) for line in scope.by_block.get(block, ())]
        if not _exchanges(lines):
            continue
        steps = _unrolled(lines)
        if _scales_counter(lines, scope):
            steps = [line for line in lines if _is_barrier(line)]
        found.update((line.position, line) for line in steps)
    straight = [line for line in scope.lines if line.block not in scope.looping]
    found.update((line.position, line) for line in _unrolled(straight))
    return [found[position] for position in sorted(found)]


def _is_barrier(line: Line) -> bool:
    return line.instruction.opcode == "BAR"


def _exchanges(lines: Iterable[Line]) -> bool:
    members = list(lines)
    families = {line.family for line in members}
    return _SHARED <= families and not families & _OTHER and any(map(_is_barrier, members))


def _scales_counter(lines: Iterable[Line], scope: Scope) -> bool:
    """Tell whether some register is shifted into itself, or added to itself, in each iteration."""
    for line in lines:
        access = scope.access(line)
        if line.family not in ("integer", "uniform", "move") or not access.writes:
            continue
        written, reads = access.writes[0], list(access.reads)
        shifts = line.instruction.opcode in ("SHF", "USHF") or "SHL" in line.instruction.modifiers
        if written in reads and (shifts or reads.count(written) > 1):
            return True
    return False


def _unrolled(lines: list[Line]) -> list[Line]:
    """Find rows of barriers with nothing but an exchange through shared memory between them.

    A step has one barrier or two: one behind its loads and one behind its stores.
    """
    found: list[Line] = []
    row: list[Line] = []
    between: list[Line] = []
    segment: list[Line] = []
    for line in [*lines, None]:
        if line is not None and not _is_barrier(line):
            segment.append(line)
            continue
        families = {member.family for member in segment}
        if line is None or not row or not families & _SHARED or families & _OTHER:
            if len(row) >= _LEAST_STEPS and _exchanges([*between, *row]):
                found += row
            row, between = [], []
        else:
            between += segment
        if line is not None:
            row.append(line)
        segment = []
    return found


# The order of blocks


def _remaps(scope: Scope, origins: Origins) -> Fact:
    """Tell whether block indices are divided or masked before they address memory."""
    found = []
    blocks = origins.mask("block") | origins.mask("block part")
    for line in scope.lines:
        opcode, modifiers = line.instruction.opcode, line.instruction.modifiers
        if opcode not in LOSSY or "L" in modifiers or _takes_sign(line):
            continue
        mask = 0
        for known in origins.before(line).values():
            mask |= known
        if mask & blocks and not mask & (origins.threads | origins.memory):
            found.append(line.address)
    return Fact(REMAPS, bool(found), "", at_addresses(found))


def _takes_sign(line: Line) -> bool:
    """Tell whether it only extends a sign: `SHF.R.S32.HI R3, RZ, 0x1f, R0`."""
    return any(o.value == _SIGN_SHIFT for o in line.instruction.operands)
