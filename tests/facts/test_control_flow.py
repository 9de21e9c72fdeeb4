"""Blocks and edges of SASS, by hand-written cases and against the graph that nvdisasm draws."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.control_flow import ControlFlow, control_flow
from kneck.facts.flow_dominators import immediate_dominators, tree_spans
from kneck.parsers.listing import Function
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool

from .flow_listings import KERNELS, functions, sass


def edges(flow: ControlFlow) -> set[tuple[int, int, str]]:
    return {
        (flow.blocks[e.source].address, flow.blocks[e.target].address, e.kind) for e in flow.edges
    }


def test_a_predicated_branch_goes_on_or_jumps() -> None:
    flow = control_flow(sass("@P0 BRA `(.L_x)\n NOP\n .L_x:\n EXIT"))
    assert edges(flow) == {
        (0x00, 0x20, "taken"),
        (0x00, 0x10, "fallthrough"),
        (0x10, 0x20, "fallthrough"),
    }


@pytest.mark.parametrize("branch", ["BRA `(.L_x)", "@PT BRA `(.L_x)", "JMP `(.L_x)", "BRA 0x20"])
def test_an_unconditional_branch_only_jumps(branch: str) -> None:
    flow = control_flow(sass(f"{branch}\n NOP\n .L_x:\n EXIT"))
    assert (0x00, 0x20, "taken") in edges(flow)
    assert not any(source == 0 and kind == "fallthrough" for source, _, kind in edges(flow))
    assert flow.block_of[1] not in flow.reachable


@pytest.mark.parametrize("branch", ["BRA.U UP0, `(.L_x)", "BRA.U !UP0, `(.L_x)", "BRA P1, `(.L_x)"])
def test_a_condition_may_be_an_operand_of_the_branch(branch: str) -> None:
    flow = control_flow(sass(f"{branch}\n NOP\n .L_x:\n EXIT"))
    assert {kind for source, _, kind in edges(flow) if source == 0} == {"taken", "fallthrough"}


def test_a_branch_that_never_executes_is_no_edge() -> None:
    flow = control_flow(sass("@!PT BRA `(.L_x)\n NOP\n .L_x:\n EXIT"))
    assert edges(flow) == {(0x00, 0x10, "fallthrough")}


def test_a_branch_for_lanes_that_disagree_is_told_apart() -> None:
    code = "BRA.DIV UR4, `(.L_x)\n NOP\n .L_back:\n EXIT\n .L_x:\n NOP\n BRA `(.L_back)"
    assert (0x00, 0x30, "divergent") in edges(control_flow(sass(code)))


def test_convergence_instructions_go_on_with_the_next_one() -> None:
    code = """
        BSSY B0, `(.L_meet)
        @P0 BRA `(.L_sync)
        @P1 BREAK B0
        WARPSYNC 0xffffffff
        YIELD
        .L_sync:
        BSYNC B0
        .L_meet:
        EXIT
    """
    flow = control_flow(sass(code))
    assert edges(flow) == {
        (0x00, 0x50, "taken"),
        (0x00, 0x20, "fallthrough"),
        (0x20, 0x50, "fallthrough"),
        (0x50, 0x60, "fallthrough"),
    }


def test_the_targets_of_an_indirect_branch_are_read_from_the_annotation() -> None:
    code = """
        BRX R2 -0x10 (*"BRANCH_TARGETS .L_a,.L_b,.L_a"*)
        .L_a:
        EXIT
        .L_b:
        EXIT
    """
    flow = control_flow(sass(code))
    assert edges(flow) == {(0x00, 0x10, "indirect"), (0x00, 0x20, "indirect")}
    assert flow.unknown_branches == ()


def test_without_the_annotation_the_targets_are_unknown_and_nothing_is_called_unreachable() -> None:
    flow = control_flow(sass("BRX R2 -0x10\n MOV R0, R1\n EXIT"))
    assert flow.unknown_branches == (0x00,)
    assert flow.indirect[0].targets is None
    assert flow.reachable == {0, 1}


def test_a_branch_to_an_address_outside_the_text_is_reported() -> None:
    flow = control_flow(sass("@P0 BRA 0x5000\n EXIT"))
    assert flow.unknown_branches == (0x00,)


CALLS = """
    MOV R20, 0x20
    CALL.REL.NOINC `(helper)
    @P0 CALL.REL.NOINC `(.L_end)
    BRA `(.L_end)
    .L_end:
    EXIT
    helper:
    FADD R0, R0, R1
    RET.REL.NODEC R20 `(kernel)
"""


def test_a_call_comes_back_and_its_routine_is_a_graph_of_its_own() -> None:
    flow = control_flow(sass(CALLS))
    (routine,) = flow.routines
    assert flow.blocks[routine.entry].address == 0x50
    assert routine.callers == (0x10,)
    assert (0x00, 0x20, "fallthrough") in edges(flow)
    assert not any(target == 0x50 for _, target, _ in edges(flow))


def test_a_call_whose_target_never_returns_is_a_jump() -> None:
    assert (0x20, 0x40, "taken") in edges(control_flow(sass(CALLS)))


def test_a_call_into_other_code_goes_on_behind_it() -> None:
    flow = control_flow(sass("CALL.ABS.NOINC `(vprintf)\n EXIT"))
    assert flow.layout.external_calls == (0x00,)
    assert edges(flow) == {(0x00, 0x10, "fallthrough")}


def test_a_guarded_exit_goes_on_for_the_other_threads() -> None:
    flow = control_flow(sass("@P0 EXIT\n NOP\n EXIT\n NOP"))
    assert edges(flow) == {(0x00, 0x10, "fallthrough")}


def test_the_branch_to_itself_behind_the_code_leads_nowhere() -> None:
    flow = control_flow(sass("EXIT\n .L_x:\n BRA `(.L_x)\n NOP"))
    assert flow.edges == ()
    assert flow.reachable == {0}


def test_post_dominators_exist_in_an_endless_loop_too() -> None:
    code = "MOV R0, RZ\n .L_x:\n IADD3 R0, R0, 0x1, RZ\n @P0 BRA `(.L_x)\n BRA `(.L_x)\n EXIT"
    flow = control_flow(sass(code))
    assert flow.post_dominators[0] == 1


GRAPHS = st.integers(2, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=24),
    )
)


@given(GRAPHS)
def test_dominance_is_what_removing_a_node_cuts_off(
    graph: tuple[int, set[tuple[int, int]]],
) -> None:
    count, pairs = graph
    spans = tree_spans(immediate_dominators(count, pairs, [0]))
    whole = nx.DiGraph(pairs)
    whole.add_nodes_from(range(count))
    reachable = {0} | nx.descendants(whole, 0)
    for node in reachable:
        rest = whole.copy()
        rest.remove_node(node)
        left = ({0} | nx.descendants(rest, 0)) if node else set()
        for other in reachable:
            dominates = spans[node][0] <= spans[other][0] < spans[node][1]
            assert dominates == (other == node or other not in left)


DRAWN = [
    "switch_brx",
    "device_call",
    "precise_math",
    "flash_attention",
    "sgemm_load_loop",
    "spmv_csr_vector",
]


@pytest.mark.parametrize("arch", ["sm_86", "sm_90"])
@pytest.mark.parametrize("stem", DRAWN)
def test_edges_agree_with_those_that_nvdisasm_draws(stem: str, arch: str) -> None:
    cubin = KERNELS / "cubin" / f"{stem}.{arch}.cubin"
    command = [str(find_tool("nvdisasm").path), "-bbcfg", str(cubin)]
    drawing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = dict(_drawn(drawing))
    assert sum(map(len, found.values())) > 5
    for name, drawn in found.items():
        function, first = _place_of(name, functions(stem, arch))
        flow = control_flow(function)
        for last, targets in drawn.items():
            if not _differs_by_design(flow, first + last):
                expected = {first + target for target in targets}
                assert _following(flow, first + last) == expected, f"{name} {last * 16:#x}"


def _place_of(name: str, found: Mapping[str, Function]) -> tuple[Function, int]:
    """Find the function that a drawing shows, or the one that the drawn helper stands in."""
    for function in found.values():
        if function.name == name:
            return function, 0
        if name in function.labels:
            return function, function.labels[name] // 16
    raise KeyError(name)


def _following(flow: ControlFlow, position: int) -> set[int]:
    block = flow.block_of[position]
    if position + 1 < flow.blocks[block].end:
        return {position + 1}
    return {flow.blocks[edge.target].first for edge in flow.successors[block]}


def _differs_by_design(flow: ControlFlow, position: int) -> bool:
    """nvdisasm lets every call come back, and draws the branch to itself behind the code."""
    last = flow.function.instructions[position]
    return last.opcode == "CALL" or not flow.successors[flow.block_of[position]]


def _drawn(text: str) -> Iterator[tuple[str, dict[int, set[int]]]]:
    """Read each function's drawing: position of the last instruction of a node -> its targets."""
    for cluster in re.split(r'subgraph "cluster_', text)[1:]:
        name = cluster[: cluster.index('"')]
        spans: dict[str, tuple[int, int]] = {}
        position = 0
        for node, label in re.findall(r'^"([^"]+)"\n\[label="(.*)"\]$', cluster, re.MULTILINE):
            count = len(re.findall(r"(?:\\l|>|\|)(?:<exit\d+>)?\\ \\ ", label))
            spans[node] = (position, position + count)
            position += count
        targets: dict[int, set[int]] = {}
        for source, target in re.findall(
            r'^"([^"]+)":\w+:\w+ -> "([^"]+)":', cluster, re.MULTILINE
        ):
            if source in spans and target in spans:
                targets.setdefault(spans[source][1] - 1, set()).add(spans[target][0])
        yield name, targets


@pytest.mark.parametrize("stem", ["device_call", "flash_attention"])
def test_the_text_of_cuobjdump_gives_the_same_graph(stem: str) -> None:
    for name, function in _from_cuobjdump(stem).items():
        assert edges(control_flow(function)) == edges(control_flow(functions(stem)[name]))


def test_the_text_of_cuobjdump_leaves_indirect_branches_open_and_says_so() -> None:
    (function,) = _from_cuobjdump("switch_brx").values()
    flow = control_flow(function)
    indirect = [i.address for i in function.instructions if i.opcode == "BRX"]
    assert indirect and flow.unknown_branches == tuple(indirect)


def _from_cuobjdump(stem: str) -> dict[str, Function]:
    cubin = KERNELS / "cubin" / f"{stem}.sm_86.cubin"
    command = [str(find_tool("cuobjdump").path), "-sass", str(cubin)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {function.name: function for function in parse_sass(text).functions}
