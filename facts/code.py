"""What one function's code says, as plain records that can be kept: the result of the analysis."""

from __future__ import annotations

from ..parsers.listing import ResourceRecord
from ..parsers.record import dataclass
from .mix import MixLine
from .model import Fact, Missing


@dataclass(frozen=True)
class CodeLoop:
    """The K-tile loop; `instructions` of one iteration, the fewest where it is a range.

    `header` is where an iteration begins, `addresses` are all instructions of the loop, also those
    that stand elsewhere in the code.
    """

    first: int
    last: int
    depth: int
    instructions: int
    chosen_because: str
    header: int
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class CodeStall:
    """Instructions of the loop with one mnemonic and stall count; see the contract's `stalls`."""

    mnemonic: str
    stall: int
    count: int
    independent: int
    required: int
    reducible_cycles: int


@dataclass(frozen=True)
class CodeAccess:
    """One memory instruction over the launch; `data_share`: part whose addresses are data.

    `wavefronts`: of shared memory for shared accesses, of the L1 data stage otherwise.
    """

    address: int
    mnemonic: str
    space: str
    executions: float
    sectors_per_request: float | None
    conflict_ways: float | None
    stride_bytes: int | None
    data_share: float
    wavefronts: float


@dataclass(frozen=True)
class CodeBound:
    """The time that one resource needs at least, with its lowest and highest possible value."""

    resource: str
    side: str
    time_ms: float
    low_ms: float
    high_ms: float
    basis: str


@dataclass(frozen=True)
class Code:
    """One kernel as its code tells it, analysed for one device (None: limits of the code's own).

    `records` are what the binary itself says of its resources. `flop_shares_known` tells whether
    every opcode's part of the loop's FLOP could be read. `accesses`, `bounds` and `executed`
    (warp instructions by mnemonic) come from the emulation of the launch, where there was one.
    """

    name: str
    arch: str
    sha256: str
    device: str | None
    has_encodings: bool
    loop: CodeLoop | None
    flop_shares_known: bool
    mix: tuple[MixLine, ...]
    stalls: tuple[CodeStall, ...]
    facts: tuple[Fact, ...]
    missing: tuple[Missing, ...]
    records: tuple[ResourceRecord, ...]
    accesses: tuple[CodeAccess, ...] = ()
    bounds: tuple[CodeBound, ...] = ()
    executed: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
