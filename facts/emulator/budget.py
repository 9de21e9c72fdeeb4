"""What an emulation may cost, counted in work and not in time, so that every machine ends it alike.

The unit is one thread of one vector operation. Everything else is weighed in that unit: what an
operation costs however few threads it has, what a block of code costs, what the addresses of one
access cost when they are analysed later. The weights and the budget are data (kb/method.yaml).
"""

from __future__ import annotations

from ...parsers.record import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Weights in threads of a vector operation.

    `block`: an execution of a block of code; `instruction`: each instruction in it, for the playing
    back of one warp; `step`: an evaluated instruction beside its threads; `access` and
    `access_lane`: the later analysis of one execution of a memory instruction; `follow`: how many
    steps it takes to follow one step around a loop that may be closed; `turn`: how many more to
    tell when a comparison turns.
    """

    block: float
    instruction: float
    step: float
    access: float
    access_lane: float
    follow: float
    turn: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an emulation stops, and how it goes on where data decides.

    `uneven` is the relative difference of blocks that asks for more of them, which then have
    `spread_threads` threads together; `unknown_trips` the times that a backward branch on unknown
    data is taken.
    """

    budget: float
    costs: Costs
    unknown_trips: int
    uneven: float
    spread_threads: int


class Budget:
    """What is left of a budget."""

    def __init__(self, limits: Limits) -> None:
        self.costs = limits.costs
        self.limit = limits.budget
        self.spent = 0.0

    @property
    def is_spent(self) -> bool:
        """Tell whether nothing is left."""
        return self.spent > self.limit

    def spend(self, cost: float) -> None:
        """Take a cost off the budget."""
        self.spent += cost

    def of_block(self, instructions: int, steps: int, accesses: int, threads: int) -> float:
        """Give the cost of one execution of a block over so many threads, accesses included."""
        c = self.costs
        return (
            c.block
            + c.instruction * instructions
            + (c.step + threads) * steps
            + (c.access + c.access_lane * threads) * accesses
        )

    def of_following(self, steps: int, threads: int, orders: int = 0) -> float:
        """Give the cost of following so many steps around a loop, comparisons among them."""
        c = self.costs
        return (c.step + threads) * (c.follow * steps + c.turn * orders)
