"""What is fuzzed: six readers of foreign input, each a function from bytes to nothing.

A target returns where the input is read and where it is refused by a named error; everything else
that it raises is a fault of kneck. `SEEDS` gives sound input to start from.
"""

from __future__ import annotations

import lzma
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from kneck.engine.infer import infer
from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.measurement import counter_table
from kneck.engine.scan.archive import members
from kneck.engine.scan.kernel import Analyst
from kneck.engine.scan.model import ScanOptions
from kneck.engine.scan.walk import kind_of
from kneck.facts.measure.counter_facts import counter_facts
from kneck.facts.measure.ncu_csv import read_csv
from kneck.facts.model import Value
from kneck.facts.problem import parse_problem, problem_facts
from kneck.facts.request import Request
from kneck.parsers.carve import carved, codes_of
from kneck.parsers.cubin import cubin_of
from kneck.parsers.elf import read_elf
from kneck.parsers.errors import KneckError
from kneck.parsers.expression import parse_expression
from kneck.parsers.expression_tree import evaluate
from kneck.parsers.listing import Function
from kneck.parsers.resources import parse_resources
from kneck.parsers.sass import parse_sass
from kneck.parsers.stream import stream_cubin
from kneck.parsers.twins import Fingerprints
from kneck.rules.load import load

from ..engine.knowledge import VOCABULARY, facts, write_folder
from ..rules.test_faults import GOOD, OTHERS

TESTS = Path(__file__).resolve().parents[1]
CUBINS = TESTS / "kernels" / "cubin"
DISASSEMBLED_ONE_IN = 200  # cubins that are disassembled: a process takes longer than all the rest
Target = Callable[[bytes], None]
VALUES: dict[str, Value] = {
    "roofline.ai": 3.0, "roofline.balance": 71.0, "tile.ratio": 4, "tile.low": 5,
    "smem.per_block": 50_000, "smem.cliff": 49_152, "mix.LDGSTS.in_loop": 0, "baseline.share": 0.7,
}  # fmt: skip
NAMED: dict[str, Value] = {"a": 3, "b": 0.5, "c": "memory", "d": True}


@cache
def analyst() -> Analyst:
    """Give what analyses a function, loaded once."""
    return Analyst(ScanOptions())


@cache
def setting() -> Setting:
    """Give the shipped knowledge base, loaded once."""
    return load_setting(Request(target=""))


@cache
def folder() -> Path:
    """Give a folder for input that is read from files; it is removed at the end."""
    holder = tempfile.TemporaryDirectory()
    _holders.append(holder)
    return Path(holder.name)


_holders: list[tempfile.TemporaryDirectory[str]] = []


def text_of(data: bytes) -> str:
    """Decode as kneck decodes files that it reads."""
    return data.decode("utf-8", "surrogateescape")


def listing(data: bytes) -> None:
    """Read SASS text and analyse each of its functions."""
    try:
        found = parse_sass(text_of(data))
    except KneckError:
        return
    for function in found.functions:
        analysed(function)


def analysed(function: Function) -> None:
    """Analyse one function as a scan does."""
    try:
        analyst().kernel(function, None)
    except KneckError:
        return


def resource_log(data: bytes) -> None:
    """Read what a compiler says about registers and memory."""
    try:
        parse_resources(text_of(data))
    except KneckError:
        return


def cubin(data: bytes) -> None:
    """Read a cubin's own tables, or a static library; disassemble one in many."""
    path = folder() / "fuzzed"
    path.write_bytes(data)
    kind = kind_of(str(path))
    try:
        if kind == "archive" or data.startswith(b"!<arch>\n"):
            inside = folder() / "members"
            inside.mkdir(exist_ok=True)
            for _, member in members(str(path), inside):
                member.unlink()
        elf = read_elf(data, "fuzzed")
        found, codes = cubin_of(elf, "fuzzed"), codes_of(elf)
        fingerprints = Fingerprints(elf)
        for record in found.records:
            if record.name in codes:
                fingerprints.of(record, codes[record.name])
                carved(memoryview(data), elf, (record.name,))
        if sum(data) % DISASSEMBLED_ONE_IN == 0:
            for function in stream_cubin(str(path), "fuzzed", found.arch):
                analysed(function)
    except KneckError:
        return


def rule_file(data: bytes) -> None:
    """Load a file of rules beside a sound knowledge base, and infer with it where it is sound.

    The first byte tells which kind of file it is.
    """
    kinds = ("verdicts", "strategies", "pitfalls", "limitations", "")
    kind = kinds[data[0] % len(kinds)] if data else ""
    content = text_of(data[1:])
    files = {"vocabulary.yaml": VOCABULARY, **OTHERS}
    if kind:
        files["strategies/use.yaml"] = GOOD
        files[f"{kind}/fuzzed.yaml"] = content
    else:
        files["vocabulary.yaml"] = VOCABULARY + content
    place = folder() / "rules"
    for path in place.rglob("*.yaml"):
        path.unlink()
    try:
        known = {
            name: value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            for name, value in files.items()
        }
        infer(facts(VALUES), load([write_folder(place, known)]))
    except KneckError:
        return


def counters(data: bytes) -> None:
    """Read a CSV page of Nsight Compute, and make facts of each launch."""
    table = counter_table()
    try:
        for launch in read_csv(text_of(data), "fuzzed.csv", table.labels):
            counter_facts(launch, table, "fuzzed.csv")
    except KneckError:
        return


def expression(data: bytes) -> None:
    """Read a problem, and a condition or formula, and compute both."""
    text = text_of(data)
    try:
        problem_facts(parse_problem(text, setting().hardware.problems))
    except KneckError:
        pass
    try:
        evaluate(parse_expression(text), NAMED.get)
    except KneckError:
        return


TARGETS: dict[str, Target] = {
    "listing": listing,
    "resource-log": resource_log,
    "cubin": cubin,
    "rule-file": rule_file,
    "ncu-csv": counters,
    "expression": expression,
}
PROBLEMS = (
    "gemm:M=4096,N=4096,K=4096,dtype=f16,acc=f32,out=f32",
    "attention:batch=4,heads=16,seq_len=2048,head_dim=64,causal=true,dtype=f16",
    "conv2d:N=8,C=64,H=56,W=56,K=64,R=3,S=3,stride=1,pad=1,dtype=f16",
    "elementwise:n=1e8,reads=2,writes=1,flops=2,dtype=f32",
    "softmax:rows=4096,cols=1024", "spmv:rows=100000,nnz=5000000",
    "custom:flops=2*4096**3,bytes=3*4096*4096*2",
    "a > 3 and b <= 20 % or not d", "min(a, b, 3) / (a - 3) ** 2 == c",
    "ceil(a * 32 / 8 KiB) * floor(b) != 1e30", "c == memory", "a ** a ** a ** a",
)  # fmt: skip


def seeds(name: str) -> Iterator[bytes]:
    """Give sound input for a target."""
    if name == "listing":
        for kernel in ("saxpy.sm_86", "chain.sm_90", "switch_brx.sm_86", "hgemm_30k.sm_86"):
            yield from _disassembled(CUBINS / f"{kernel}.cubin")
    elif name == "resource-log":
        for path in sorted(CUBINS.glob("s*.log"))[:8]:
            yield path.read_bytes()
        for path in sorted((TESTS / "parsers" / "data").glob("*two-architectures*")):
            yield path.read_bytes()
    elif name == "cubin":
        for kernel in ("saxpy.sm_86", "two_kernels.sm_86", "chain.sm_90", "saxpy.sm_120"):
            yield (CUBINS / f"{kernel}.cubin").read_bytes()
        yield (TESTS / "scan" / "data" / "same_names.a").read_bytes()
    elif name == "rule-file":
        yield b"\x01" + GOOD.replace("use-cp-async", "fuzzed").encode()
        for kind, content in ((b"\x02", "pitfalls/over.yaml"), (b"\x00", "verdicts/sides.yaml")):
            text = OTHERS[content].replace("- id: ", "- id: fuzzed-").encode()
            yield kind + text
        yield b"\x04  my.fact: {type: num, unit: ms, meaning: mine, from: me, cost: 1}\n"
    elif name == "ncu-csv":
        for path in sorted((TESTS / "measure" / "data" / "ncu").glob("*.csv.xz")):
            yield lzma.decompress(path.read_bytes())
    else:
        yield from (text.encode() for text in PROBLEMS)


def _disassembled(path: Path) -> Iterator[bytes]:
    import subprocess

    from kneck.parsers.tools import find_tool

    for tool, options in (("nvdisasm", ["-c", "-hex"]), ("cuobjdump", ["-sass"])):
        command = [find_tool(tool).path, *options, str(path)]
        yield subprocess.run(command, capture_output=True, check=True).stdout
