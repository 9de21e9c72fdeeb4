"""All opcodes the emulator knows, from the groups that define them."""

from __future__ import annotations

from . import (
    bits,
    compare,
    conversions,
    extremes,
    floats,
    integer,
    logic,
    moves,
    predicates,
    products,
    warp,
)
from .parts import Builder

BUILDERS: dict[str, Builder] = {
    **integer.BUILDERS,
    **products.BUILDERS,
    **extremes.BUILDERS,
    **logic.BUILDERS,
    **moves.BUILDERS,
    **bits.BUILDERS,
    **compare.BUILDERS,
    **predicates.BUILDERS,
    **floats.BUILDERS,
    **conversions.BUILDERS,
    **warp.BUILDERS,
}

# Results that nothing but data decides: unknown by nature, not by ignorance.
DATA = frozenset(
    {"LDG", "LD", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS", "TEX", "TLD", "TLD4", "SULD", "SUATOM",
     "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "LDTM",
     "LDGSTS", "MATCH", "REDUX", "CREDUX", "SYNCS", "HFMA2", "HADD2", "HMUL2", "HSETP2", "F2FP",
     "FFMA2", "FADD2", "FMUL2", "LDL", "STL", "STG", "ST", "STS", "STSM", "RED", "REDG", "QSPC",
     "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED", "FCHK", "MOVM", "BMOV", "CS2UR"}
)  # fmt: skip
