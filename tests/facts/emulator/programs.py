"""Random integer programs, once as CUDA C and once as values computed with plain Python integers.

Both come from one tree, so that a compiled program can be judged without a GPU. Every variable is
an unsigned 32-bit number; a program reads its thread index and four parameters and writes its
variables to memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MASK = 0xFFFFFFFF
VARIABLES = 6
PARAMETERS = 4
THREADS = 64
BLOCKS = 2


def signed(value: int) -> int:
    """Read 32 bits as two's complement."""
    return value - (1 << 32) if value & 0x80000000 else value


def byte_permute(a: int, b: int, selector: int) -> int:
    """Pick four of eight bytes, as __byte_perm does (replication bit left out)."""
    pool = (b << 32) | a
    picked = [(pool >> (8 * (selector >> (4 * i) & 7))) & 0xFF for i in range(4)]
    return sum(byte << (8 * i) for i, byte in enumerate(picked))


def truncated(a: int, b: int) -> int:
    """Divide as C does, towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


# name: (C text with {0}, {1}, {2}; the same on Python integers)
OPERATIONS: dict[str, tuple[str, Callable[..., int]]] = {
    "add": ("({0} + {1})", lambda a, b: a + b),
    "subtract": ("({0} - {1})", lambda a, b: a - b),
    "multiply": ("({0} * {1})", lambda a, b: a * b),
    "multiply_add": ("({0} * {1} + {2})", lambda a, b, c: a * b + c),
    "and": ("({0} & {1})", lambda a, b: a & b),
    "or": ("({0} | {1})", lambda a, b: a | b),
    "xor": ("({0} ^ {1})", lambda a, b: a ^ b),
    "three_way": ("(({0} & {1}) ^ ~{2})", lambda a, b, c: (a & b) ^ ~c),
    "not": ("(~{0})", lambda a: ~a),
    "shift_left": ("({0} << ({1} & 31))", lambda a, b: a << (b & 31)),
    "shift_right": ("({0} >> ({1} & 31))", lambda a, b: a >> (b & 31)),
    "shift_signed": (
        "((unsigned)((int){0} >> ({1} & 31)))",
        lambda a, b: signed(a) >> (b & 31),
    ),
    "shift_constant": ("({0} << 3)", lambda a: a << 3),
    "rotate": (
        "__funnelshift_l({0}, {0}, {1} & 31)",
        lambda a, b: (a << (b & 31)) | (a >> (32 - (b & 31))),
    ),
    "funnel": (
        "__funnelshift_r({0}, {1}, {2} & 31)",
        lambda a, b, c: ((b << 32) | a) >> (c & 31),
    ),
    "minimum": ("min({0}, {1})", min),
    "maximum": ("max({0}, {1})", max),
    "minimum_signed": (
        "((unsigned)min((int){0}, (int){1}))",
        lambda a, b: min(signed(a), signed(b)),
    ),
    "absolute": ("((unsigned)abs((int){0}))", lambda a: abs(signed(a))),
    "high": ("__umulhi({0}, {1})", lambda a, b: (a * b) >> 32),
    "high_signed": (
        "((unsigned)__mulhi((int){0}, (int){1}))",
        lambda a, b: (signed(a) * signed(b)) >> 32,
    ),
    "wide": (
        "((unsigned)(((unsigned long long){0} * {1} + {2}) >> 13))",
        lambda a, b, c: (a * b + c) >> 13,
    ),
    "wide_signed": (
        "((unsigned)(((long long)(int){0} * (int){1} - (int){2}) >> 9))",
        lambda a, b, c: (signed(a) * signed(b) - signed(c)) >> 9,
    ),
    "sum_of_halves": (
        "((unsigned)((((unsigned long long){0} << 32 | {1}) + "
        "((unsigned long long){2} << 31 | {0})) >> 32))",
        lambda a, b, c: ((a << 32 | b) + (c << 31 | a)) % (1 << 64) >> 32,
    ),
    "select": ("({0} < {1} ? {2} : {0})", lambda a, b, c: c if a < b else a),
    "select_signed": (
        "((int){0} >= (int){1} ? {2} : {1})",
        lambda a, b, c: c if signed(a) >= signed(b) else b,
    ),
    "select_wide": (
        "(((unsigned long long){0} << 16) < ((unsigned long long){1} << 20) ? {2} : ~{2})",
        lambda a, b, c: c if (a << 16) < (b << 20) else ~c,
    ),
    "population": ("((unsigned)__popc({0}))", lambda a: a.bit_count()),
    "leading": ("((unsigned)__clz({0}))", lambda a: 32 - a.bit_length()),
    "reverse": ("__brev({0})", lambda a: int(f"{a:032b}"[::-1], 2)),
    "permute": ("__byte_perm({0}, {1}, 0x5140)", lambda a, b: byte_permute(a, b, 0x5140)),
    "low_byte": ("((unsigned)(signed char){0})", lambda a: ((a & 0xFF) ^ 0x80) - 0x80),
    "low_half": ("((unsigned)(unsigned short){0})", lambda a: a & 0xFFFF),
    "field": ("({0} >> 7 & 0x1ff)", lambda a: a >> 7 & 0x1FF),
    "divide": ("({0} / ({1} | 1u))", lambda a, b: a // (b | 1)),
    "modulo": ("({0} % ({1} | 1u))", lambda a, b: a % (b | 1)),
    "divide_by_seven": ("({0} / 7u)", lambda a: a // 7),
    "divide_signed": (
        "((unsigned)((int){0} / 12))",
        lambda a: truncated(signed(a), 12),
    ),
    "rounded": ("((unsigned)(int)(float)(int)({0} >> 9))", lambda a: a >> 9),
    "compare_bits": (
        "((unsigned)({0} > {1}) + ((unsigned)({1} != {2}) << 1))",
        lambda a, b, c: int(a > b) + (int(b != c) << 1),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Assign:
    """`target = operation(sources)`; a source is a variable, a parameter or a constant."""

    target: int
    operation: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """An if with an optional else on an unsigned comparison."""

    left: str
    right: str
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop:
    """A loop whose trip count is `source % most`, or constant where the source is a number."""

    name: str
    source: str
    most: int
    body: tuple[Statement, ...]


Statement = Assign | Branch | Loop


@dataclass(frozen=True)
class Program:
    """One kernel: its name, its body and the parameters that it is launched with."""

    name: str
    body: tuple[Statement, ...]
    parameters: tuple[int, ...]

    def source(self) -> str:
        """Give the kernel as CUDA C."""
        parameters = ", ".join(f"unsigned p{i}" for i in range(PARAMETERS))
        lines = [f'extern "C" __global__ void {self.name}(unsigned* out, {parameters}) {{']
        lines.append("  const unsigned t = threadIdx.x, b = blockIdx.x;")
        for i in range(VARIABLES):
            lines.append(f"  unsigned v{i} = {_initial_text(i)};")
        lines += _text(self.body, 1)
        lines.append(f"  unsigned* to = out + (size_t)(b * blockDim.x + t) * {VARIABLES};")
        lines += [f"  to[{i}] = v{i};" for i in range(VARIABLES)]
        return "\n".join([*lines, "}"])

    def expected(self) -> list[list[int]]:
        """Give the variables of each thread at the end, block after block."""
        return [self._thread(block, thread) for block in range(BLOCKS) for thread in range(THREADS)]

    def _thread(self, block: int, thread: int) -> list[int]:
        state = {"t": thread, "b": block}
        state.update((f"p{i}", value) for i, value in enumerate(self.parameters))
        for i in range(VARIABLES):
            state[f"v{i}"] = _initial(i, state)
        _run(self.body, state)
        return [state[f"v{i}"] for i in range(VARIABLES)]


def _initial_text(i: int) -> str:
    return [
        "t", "t * 2654435761u + p0", "p1 ^ (b << 8)", "p2 - t", "b + 1", "(t << 20) | p3",
    ][i]  # fmt: skip


def _initial(i: int, s: dict[str, int]) -> int:
    t, b = s["t"], s["b"]
    values = (
        t,
        t * 2654435761 + s["p0"],
        s["p1"] ^ (b << 8),
        s["p2"] - t,
        b + 1,
        t << 20 | s["p3"],
    )
    return values[i] & MASK


def _text(body: Sequence[Statement], depth: int) -> list[str]:
    pad, lines = "  " * depth, []
    for one in body:
        if isinstance(one, Assign):
            lines.append(
                f"{pad}v{one.target} = {OPERATIONS[one.operation][0].format(*one.sources)};"
            )
        elif isinstance(one, Branch):
            lines.append(f"{pad}if ({one.left} < {one.right}) {{")
            lines += _text(one.then, depth + 1)
            if one.otherwise:
                lines += [f"{pad}}} else {{", *_text(one.otherwise, depth + 1)]
            lines.append(f"{pad}}}")
        else:
            count = f"{one.source} % {one.most}u"
            lines.append(
                f"{pad}for (unsigned {one.name} = 0, n = {count}; {one.name} < n; ++{one.name}) {{"
            )
            lines += [*_text(one.body, depth + 1), f"{pad}}}"]
    return lines


def _value(source: str, state: dict[str, int]) -> int:
    return int(source.rstrip("u"), 0) if source[0].isdigit() else state[source]


def _run(body: Sequence[Statement], state: dict[str, int]) -> None:
    for one in body:
        if isinstance(one, Assign):
            arguments = [_value(source, state) for source in one.sources]
            state[f"v{one.target}"] = OPERATIONS[one.operation][1](*arguments) & MASK
        elif isinstance(one, Branch):
            taken = _value(one.left, state) < _value(one.right, state)
            _run(one.then if taken else one.otherwise, state)
        else:
            for i in range(_value(one.source, state) % one.most):
                state[one.name] = i
                _run(one.body, state)


class Generator:
    """Makes one program after the other from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def program(self, name: str) -> Program:
        """Make a program of some thirty statements."""
        parameters = tuple(
            self.random.choice((self.random.randrange(1 << 32), self.random.randrange(100)))
            for _ in range(PARAMETERS)
        )
        return Program(name, self._body(self.random.randrange(8, 16), 0, ()), parameters)

    def _body(self, length: int, depth: int, counters: tuple[str, ...]) -> tuple[Statement, ...]:
        return tuple(self._statement(depth, counters) for _ in range(length))

    def _statement(self, depth: int, counters: tuple[str, ...]) -> Statement:
        kind = self.random.random()
        if depth < 2 and kind < 0.12:
            then = self._body(self.random.randrange(1, 4), depth + 1, counters)
            has_else = self.random.random() < 0.5
            otherwise = self._body(2, depth + 1, counters) if has_else else ()
            return Branch(self._source(counters), self._source(counters), then, otherwise)
        if depth < 2 and kind < 0.22:
            self.loops += 1
            name = f"i{self.loops}"
            source = self.random.choice((*(f"p{i}" for i in range(PARAMETERS)), "t", "v1", "13u"))
            body = self._body(self.random.randrange(1, 5), depth + 1, (*counters, name))
            return Loop(name, source, self.random.choice((5, 17, 40)), body)
        operation = self.random.choice(tuple(OPERATIONS))
        holes = sum(f"{{{i}}}" in OPERATIONS[operation][0] for i in range(3))
        sources = tuple(self._source(counters) for _ in range(holes))
        return Assign(self.random.randrange(VARIABLES), operation, sources)

    def _source(self, counters: tuple[str, ...]) -> str:
        kind = self.random.random()
        if counters and kind < 0.2:
            return self.random.choice(counters)
        if kind < 0.75:
            return f"v{self.random.randrange(VARIABLES)}"
        if kind < 0.9:
            return f"p{self.random.randrange(PARAMETERS)}"
        constants = (1, 7, 0x55, 0xFFFF, 0x80000000, self.random.randrange(1 << 32))
        return f"{self.random.choice(constants)}u"


def programs(count: int, seed: int = 1) -> list[Program]:
    """Make `count` programs, the same ones for the same seed."""
    return [Generator(seed * 100_003 + i).program(f"program_{i}") for i in range(count)]
