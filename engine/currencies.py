"""What the two currencies of the ratio say of asynchronous copies, and which of them decided."""

from __future__ import annotations

from .diagnosis import Tile

CURRENCIES = {"flops_per_byte": "FLOP per loaded byte", "ratio": "instructions per load"}


def decision(tile: Tile) -> str:
    """Say which currency decided, what the other would advise alone, and why it does not count."""
    if tile.cp_async_decided_by == "both":
        return "both currencies agree"
    if tile.cp_async_decided_by in CURRENCIES:
        (other,) = (name for name in CURRENCIES if name != tile.cp_async_decided_by)
        return (
            f"decided by {CURRENCIES[tile.cp_async_decided_by]}; {CURRENCIES[other]} alone: "
            f"{_alone(tile)[other]}. {tile.cp_async_because}"
        )
    said = {name: advice for name, advice in _alone(tile).items() if advice != "unknown"}
    return "; ".join(
        f"{CURRENCIES[name]} alone: {advice}, the other currency is not known"
        for name, advice in said.items()
    )


def _alone(tile: Tile) -> dict[str, str]:
    return {"flops_per_byte": tile.cp_async_by_bytes, "ratio": tile.cp_async_by_ratio}
