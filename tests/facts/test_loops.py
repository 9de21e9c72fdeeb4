"""Loops: which cycles are loops, how they nest, and which backward branches are none."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.loops import Loop, Loops

from .flow_listings import loops_of, only, sass

COUNTED = """
    MOV R0, RZ
    .L_top:
    IADD3 R0, R0, 0x1, RZ
    ISETP.LT.AND P0, PT, R0, 0x8, PT
    @P0 BRA `(.L_top)
    EXIT
"""


def spans(loops: Loops) -> list[tuple[int, int, int]]:
    return [(loop.first, loop.last, loop.depth) for loop in loops.loops]


def test_a_back_edge_makes_a_loop() -> None:
    (loop,) = loops_of(sass(COUNTED)).loops
    assert (loop.first, loop.last, loop.depth) == (0x10, 0x30, 1)
    assert loop.is_natural and not loop.has_middle_exit


def test_loops_nest_by_the_blocks_they_share() -> None:
    code = """
        .L_outer:
        MOV R1, RZ
        .L_inner:
        IADD3 R1, R1, 0x1, RZ
        @P1 BRA `(.L_inner)
        IADD3 R0, R0, 0x1, RZ
        @P0 BRA `(.L_outer)
        EXIT
    """
    loops = loops_of(sass(code))
    assert spans(loops) == [(0x00, 0x40, 1), (0x10, 0x20, 2)]
    outer, inner = loops.loops
    assert outer.children == (inner.index,) and inner.parent == outer.index
    assert loops.around(inner) == (outer,)
    assert loops.innermost[loops.flow.block_of[1]] == inner.index


def test_an_inner_loop_that_starts_at_the_same_block_is_told_from_a_continue() -> None:
    nested = """
        .L_top:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], RZ
        @!P0 BRA `(.L_top)
        IADD3 R0, R0, 0x1, RZ
        ISETP.LT.AND P1, PT, R0, 0x8, PT
        @P1 BRA `(.L_top)
        EXIT
    """
    assert spans(loops_of(sass(nested))) == [(0x00, 0x40, 1), (0x00, 0x10, 2)]
    skipping = """
        .L_top:
        IADD3 R0, R0, 0x1, RZ
        @P2 BRA `(.L_top)
        FADD R2, R2, R3
        @P1 BRA `(.L_top)
        EXIT
    """
    (loop,) = loops_of(sass(skipping)).loops
    assert len(loop.latches) == 2


def test_a_loop_may_be_left_in_the_middle() -> None:
    code = """
        .L_top:
        LDG.E R0, [R2.64]
        @P0 BRA `(.L_out)
        FADD R1, R1, R0
        BRA `(.L_top)
        .L_out:
        EXIT
    """
    (loop,) = loops_of(sass(code)).loops
    assert loop.has_middle_exit
    assert [edge.kind for edge in loop.exits] == ["taken"]


def test_a_cycle_with_two_entries_is_reported_as_irregular() -> None:
    code = """
        @P0 BRA `(.L_b)
        .L_a:
        FADD R0, R0, R1
        .L_b:
        FADD R2, R2, R3
        @P1 BRA `(.L_a)
        EXIT
    """
    (loop,) = loops_of(sass(code)).loops
    assert not loop.is_natural


def test_a_slow_path_behind_the_code_belongs_to_the_loop_and_is_no_loop_itself() -> None:
    code = """
        .L_top:
        MUFU.RCP R0, R1
        @P0 BRA `(.L_slow)
        .L_back:
        FADD R2, R2, R0
        @P1 BRA `(.L_top)
        EXIT
        .L_slow:
        FMUL R0, R0, R1
        BRA `(.L_back)
        .L_self:
        BRA `(.L_self)
    """
    loops = loops_of(sass(code))
    assert spans(loops) == [(0x00, 0x30, 1)]
    assert loops.loops[0].out_of_line == {loops.flow.block_of[5]}
    reasons = {no_loop.address: no_loop.because for no_loop in loops.not_loops}
    assert "out of line" in reasons[0x60]
    assert "pads" in reasons[0x70]


def test_lanes_that_disagree_leave_and_come_back_without_a_loop() -> None:
    code = """
        BRA.DIV UR4, `(.L_split)
        .L_join:
        EXIT
        .L_split:
        SHFL.DOWN PT, R0, R1, 0x1, 0x1f
        BRA `(.L_join)
    """
    loops = loops_of(sass(code))
    assert loops.loops == ()
    assert [no_loop.address for no_loop in loops.not_loops] == [0x30]


def test_a_loop_in_a_helper_routine_is_found() -> None:
    code = """
        CALL.REL.NOINC `(helper)
        EXIT
        helper:
        FADD R0, R0, R1
        @P0 BRA `(helper)
        RET.REL.NODEC R20 `(kernel)
    """
    assert spans(loops_of(sass(code))) == [(0x20, 0x30, 1)]


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("hgemm_persistent", [(0x290, 0xAC0, 1), (0x6E0, 0x980, 2)]),
        ("sgemm_load_loop", [(0x250, 0x16D0, 1), (0x280, 0x470, 2)]),
        ("sgemm_double_buffered", [(0x800, 0x1BF0, 1), (0x3070, 0x32A0, 1)]),
        ("nbody", [(0x100, 0xAD0, 1), (0x190, 0xAB0, 2)]),
        ("saxpy", []),
    ],
)
def test_loops_of_compiled_kernels(stem: str, expected: list[tuple[int, int, int]]) -> None:
    assert spans(loops_of(only(stem))) == expected


BRANCHES = st.lists(
    st.tuples(st.sampled_from(["@P0 BRA", "BRA", "NOP"]), st.integers(0, 9)),
    min_size=2,
    max_size=10,
)


@given(BRANCHES)
def test_every_cycle_that_control_can_reach_lies_in_a_loop(code: list[tuple[str, int]]) -> None:
    lines = [
        f"{opcode} 0x{(target % len(code)) * 16:x}" if opcode != "NOP" else "NOP"
        for opcode, target in code
    ]
    loops = loops_of(sass("\n".join([*lines, "EXIT"])))
    flow = loops.flow
    graph = nx.DiGraph((edge.source, edge.target) for edge in flow.edges)
    in_loops = frozenset[int]().union(*(loop.blocks for loop in loops.loops))
    on_cycles = {
        node
        for component in nx.strongly_connected_components(graph)
        for node in component
        if len(component) > 1 or graph.has_edge(node, node)
    }
    assert in_loops == on_cycles & flow.reachable
    for loop in loops.loops:
        _check(loops, loop)


def _check(loops: Loops, loop: Loop) -> None:
    flow = loops.flow
    if loop.is_natural:
        assert all(flow.dominates(loop.header, block) for block in loop.blocks)
        assert all(
            edge.target in loop.blocks
            for latch in loop.latches
            for edge in flow.successors[latch]
            if edge.target == loop.header
        )
    for child in loop.children:
        assert loops.loops[child].blocks <= loop.blocks
        assert loops.loops[child].depth == loop.depth + 1
