"""The instruction table: a mnemonic in, what it computes, moves and costs out."""

import re
from pathlib import Path

import pytest

from kneck.facts.instructions import InstructionInfo
from kneck.parsers.listing import Instruction, Operand
from kneck.rules.hardware import load_instructions, shipped_folder

TABLE = load_instructions([shipped_folder()])
ARCHITECTURES = sorted(TABLE.architectures)
TESTS = Path(__file__).parents[1]
SHAPES = TESTS / "parsers" / "data" / "sass-shapes.tsv"
OPCODES = TESTS / "data" / "documented_opcodes.txt"


def info(mnemonic: str, arch: str = "sm_86", product_class: str | None = None) -> InstructionInfo:
    found = TABLE.info(mnemonic, arch, product_class)
    assert found is not None, mnemonic
    return found


def mnemonics_seen() -> list[tuple[str, int]]:
    """Read each line of the shapes of public libraries: mnemonic, highest architecture."""
    seen = []
    for line in SHAPES.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        archs, _, _, text, _ = line.split("\t")
        newest = max(int(re.sub(r"\D", "", arch)) for arch in archs.split(","))
        match = re.search(r"\*/\s*\{?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", text)
        assert match, line
        seen.append((match.group(1), newest))
    return seen


def test_every_opcode_seen_in_public_libraries_from_volta_on_is_known() -> None:
    mnemonics = [mnemonic for mnemonic, newest in mnemonics_seen() if newest >= 70]
    assert len(mnemonics) > 500
    assert [m for m in mnemonics if TABLE.info(m, "sm_90") is None] == []


def test_every_documented_opcode_is_known() -> None:
    lines = OPCODES.read_text(encoding="utf-8").splitlines()
    opcodes = [word for line in lines if not line.startswith("#") for word in line.split()]
    assert len(opcodes) > 240
    assert [opcode for opcode in opcodes if TABLE.info(opcode, "sm_90") is None] == []


def test_an_unknown_opcode_is_not_guessed() -> None:
    assert TABLE.info("XFOO.16816.F32", "sm_86") is None


@pytest.mark.parametrize(
    ("mnemonic", "precision", "flops"),
    [
        ("FFMA", "fp32_ffma", 64),
        ("FADD.FTZ", "fp32_ffma", 32),
        ("FFMA2", "fp32_ffma", 128),
        ("HFMA2", "fp16_hfma2", 128),
        ("HFMA2.MMA", "fp16_hfma2", 128),
        ("HFMA2.BF16_V2", "fp16_hfma2", 128),
        ("HADD2", "fp16_hfma2", 64),
        ("DFMA", "fp64", 64),
        ("DADD", "fp64", 32),
        ("IMAD", "int32", 64),
        ("IMAD.WIDE.U32", "int32", 64),
        ("IMAD.MOV.U32", None, 0),
        ("IMAD.SHL.U32", None, 0),
        ("IDP.4A.S8.S8", None, 256),
        ("MUFU.EX2", None, 32),
        ("HMMA.884.F32.F32.STEP3", "fp16_tensor_fp32acc", 512),
        ("HMMA.884.F16.F16.STEP1", "fp16_tensor_fp16acc", 1024),
        ("HMMA.1688.F32", "fp16_tensor_fp32acc", 2048),
        ("HMMA.1684.F32.TF32", "tf32_tensor", 1024),
        ("HMMA.1688.F32.TF32", "tf32_tensor", 2048),
        ("HMMA.16816.F16", "fp16_tensor_fp16acc", 4096),
        ("HMMA.16816.F32", "fp16_tensor_fp32acc", 4096),
        ("HMMA.16816.F32.BF16", "bf16_tensor", 4096),
        ("HMMA.SP.16816.F32", "fp16_tensor_fp32acc", 4096),
        ("HMMA.SP.16832.F32.BF16", "bf16_tensor", 8192),
        ("IMMA.8816.S8.S8", "int8_tensor", 2048),
        ("IMMA.8832.S4.S4", "int4_tensor", 4096),
        ("IMMA.16816.S8.S8", "int8_tensor", 4096),
        ("IMMA.16832.U8.S8.SAT", "int8_tensor", 8192),
        ("IMMA.16864.S4.S4", "int4_tensor", 16384),
        ("IMMA.SP.16864.S8.S8", "int8_tensor", 16384),
        ("BMMA.88128.XOR.POPC", "b1_tensor", 16384),
        ("BMMA.168256.AND.POPC", "b1_tensor", 65536),
        ("DMMA.884", "fp64_tensor", 512),
        ("DMMA.8x8x4", "fp64_tensor", 512),
        ("DMMA.16x8x16", "fp64_tensor", 4096),
        ("QMMA.16832.F32.E4M3.E4M3", "fp8_tensor", 8192),
        ("QMMA.SF.16832.F32.E4M3.E4M3.E8", "fp8_tensor", 8192),
        ("OMMA.SF.16864.F32.E2M1.E2M1.E8", "fp4_tensor", 16384),
        ("HGMMA.64x256x16.F32.BF16", "bf16_tensor", 131072),
        ("HGMMA.64x64x16.F16", "fp16_tensor_fp16acc", 32768),
        ("HGMMA.64x128x8.F32.TF32", "tf32_tensor", 32768),
        ("QGMMA.64x64x32.F32.E4M3.E4M3", "fp8_tensor", 65536),
        ("IGMMA.64x128x32.S8.S8", "int8_tensor", 131072),
        ("UTCHMMA.2CTA", None, None),
    ],
)
def test_precision_and_operations_of_one_warp(
    mnemonic: str, precision: str | None, flops: int | None
) -> None:
    found = info(mnemonic)
    assert (found.precision, found.flops_per_warp) == (precision, flops)
    assert found.sparse == (".SP." in mnemonic)


@pytest.mark.parametrize(
    ("mnemonic", "family", "space", "size"),
    [
        ("LDG.E", "load_global", "global", 4),
        ("LDG.E.U8.CONSTANT", "load_global", "global", 1),
        ("LDG.E.S16", "load_global", "global", 2),
        ("LDG.E.64", "load_global", "global", 8),
        ("LDG.E.128.CONSTANT.SYS", "load_global", "global", 16),
        ("LDG.E.ENL2.256", "load_global", "global", 32),
        ("LDGSTS.E.BYPASS.LTC128B.128", "async_copy", "global", 16),
        ("LDGSTS.E.LTC128B", "async_copy", "global", 4),
        ("LDGDEPBAR", "async_group", None, None),
        ("LDS.U.128", "load_shared", "shared", 16),
        ("LDS.U.32", "load_shared", "shared", 4),
        ("LDSM.16.M88.4", "load_shared", "shared", 16),
        ("LDSM.16.MT88.2", "load_shared", "shared", 8),
        ("LDSM.16.M88", "load_shared", "shared", 4),
        ("STSM.16.M88.4", "store_shared", "shared", 16),
        ("STS.64", "store_shared", "shared", 8),
        ("STG.E.U16", "store_global", "global", 2),
        ("LDL.128", "load_local", "local", 16),
        ("STL", "store_local", "local", 4),
        ("LDC.64", "load_constant", "constant", 8),
        ("ULDC.64", "load_constant", "constant", 8),
        ("LD.E.64", "load_generic", "generic", 8),
        ("ATOMS.POPC.INC.32", "atomic_shared", "shared", 4),
        ("ATOMG.E.ADD.64.STRONG.GPU", "atomic_global", "global", 8),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "atomic_global", "global", 4),
        ("REDG.E.ADD.F16x2.RN.STRONG.GPU", "atomic_global", "global", 4),
        ("UBLKCP.S.G", "bulk_load", "global", None),
        ("UBLKCP.G.S", "bulk_store", "global", None),
        ("UTMALDG.2D", "bulk_load", "global", None),
        ("UTMASTG.2D", "bulk_store", "global", None),
        ("LDTM.x32", "load_tensor_memory", "tensor", 128),
        ("LDTM.16dp256bit.x2", "load_tensor_memory", "tensor", 32),
    ],
)
def test_family_space_and_bytes_per_thread(
    mnemonic: str, family: str, space: str | None, size: int | None
) -> None:
    found = info(mnemonic)
    assert (found.family, found.space, found.bytes_per_thread) == (family, space, size)


@pytest.mark.parametrize(
    ("mnemonic", "family"),
    [
        ("HFMA2.MMA", "compute_fma"),
        ("HADD2.F32", "conversion"),
        ("BAR.SYNC.DEFER_BLOCKING", "barrier"),
        ("BRA.DIV", "control"),
        ("SHFL.BFLY", "shuffle"),
        ("ISETP.GE.AND", "integer"),
        ("UIADD3.X", "uniform"),
        ("I2FP.F32.S32", "conversion"),
        ("MEMBAR.CTA", "fence"),
        ("S2R", "system"),
        ("NOP", "other"),
    ],
)
def test_names_that_contain_each_other_are_told_apart(mnemonic: str, family: str) -> None:
    assert info(mnemonic).family == family


def instruction(mnemonic: str, *operands: str) -> Instruction:
    return Instruction(0, None, mnemonic, tuple(Operand(o, "register") for o in operands), None)


def test_half_products_of_zero_are_constant_moves() -> None:
    move = instruction("HFMA2.MMA", "R7", "-RZ", "RZ", "0", "1.9e-06")
    product = instruction("HFMA2.MMA", "R7", "R8", "R9", "R7")
    found = [TABLE.info(i, "sm_80") for i in (move, product)]
    assert [i and (i.family, i.flops_per_warp) for i in found] == [
        ("move", 0),
        ("compute_fma", 128),
    ]


@pytest.mark.parametrize(
    ("mnemonic", "arch", "product_class", "cycles"),
    [
        ("HMMA.16816.F32", "sm_80", None, 8),
        ("HMMA.16816.F32", "sm_86", "geforce", 32),
        ("HMMA.16816.F32", "sm_86", "datacenter", 16),
        ("HMMA.16816.F32", "sm_86", None, None),
        ("HMMA.16816.F16", "sm_86", "geforce", 16),
        ("HMMA.1688.F32", "sm_86", "geforce", 16),
        ("HMMA.1688.F32", "sm_75", "geforce", 16),
        ("HMMA.16816.F32", "sm_89", "geforce", 32),
        ("HMMA.16816.F32", "sm_90", None, 6),
        ("HMMA.16816.F32", "sm_120", "geforce", 32),
        ("HMMA.SP.16832.F32", "sm_80", None, 8),
        ("IMMA.16816.S8.S8", "sm_80", None, 4),
        ("IMMA.16816.S8.S8", "sm_86", None, 8),
        ("IMMA.16832.S8.S8", "sm_86", None, 16),
        ("HGMMA.64x256x16.F32", "sm_90a", None, 128),
        ("DMMA.16x8x16", "sm_90", None, 64),
        ("FFMA", "sm_80", None, 2),
        ("FFMA", "sm_86", None, 1),
        ("IADD3", "sm_86", None, 2),
        ("IMAD.WIDE", "sm_86", None, 4),
        ("MUFU.RCP", "sm_86", None, 8),
        ("DFMA", "sm_90", None, 2),
        ("DFMA", "sm_86", None, 64),
        ("LDS", "sm_86", None, 4),
        ("LDC", "sm_90", None, 8),
        ("BAR.SYNC", "sm_90", None, 8),
        ("UIADD3", "sm_90", None, 2),
    ],
)
def test_cycles_that_the_pipe_is_taken(
    mnemonic: str, arch: str, product_class: str | None, cycles: float | None
) -> None:
    assert info(mnemonic, arch, product_class).issue_interval_cycles == cycles


@pytest.mark.parametrize(
    ("mnemonic", "arch", "kind", "cycles"),
    [
        ("FFMA", "sm_86", "fixed", 4),
        ("HFMA2", "sm_75", "fixed", 6),
        ("HFMA2", "sm_86", "fixed", 4),
        ("HMMA.16816.F32", "sm_86", "fixed", 24),
        ("HMMA.1688.F32", "sm_75", "variable", None),
        ("HMMA.16816.F32", "sm_120", "fixed", 29),
        ("IMMA.16832.S8.S8", "sm_120", "fixed", 27),
        ("IMMA.16832.S8.S8", "sm_103", "variable", None),
        ("DFMA", "sm_86", "variable", None),
        ("DFMA", "sm_90", "fixed", 8),
        ("LDG.E", "sm_86", "variable", None),
        ("MUFU.EX2", "sm_110", "variable", None),
        ("FFMA", "sm_110", None, None),
    ],
)
def test_latency_is_fixed_variable_or_unknown(
    mnemonic: str, arch: str, kind: str | None, cycles: int | None
) -> None:
    found = info(mnemonic, arch)
    assert (found.latency_kind, found.latency_cycles) == (kind, cycles)
    assert found.sets_scoreboard == (None if kind is None else kind == "variable")


@pytest.mark.parametrize(
    ("arch", "producer", "reader", "cycles"),
    [
        ("sm_86", "FFMA", "FFMA", 4),
        ("sm_86", "FFMA", "IADD3", 5),
        ("sm_86", "LOP3.LUT", "IMAD", 5),
        ("sm_86", "IADD3", "STG.E", 5),
        ("sm_75", "IADD3", "STG.E", 8),
        ("sm_86", "FFMA", "MUFU.EX2", 4),
        ("sm_86", "F2FP", "HMMA.16816.F32", 7),
        ("sm_86", "HMMA.16816.F32", "HMMA.16816.F32", 24),
        ("sm_86", "HMMA.16816.F32", "FADD", 24),
        ("sm_86", "HMMA.1688.F32", "FMNMX", 17),
        ("sm_86", "UIADD3", "UIADD3", 4),
        ("sm_86", "UIADD3", "IADD3", 6),
        ("sm_86", "UIADD3", "LDS", 9),
        ("sm_80", "HFMA2", "HFMA2.MMA", 6),
        ("sm_80", "HFMA2.MMA", "HFMA2", 10),
        ("sm_90", "DFMA", "FADD", 10),
        ("sm_120", "IADD3", "ISETP.GE.AND", 5),
        ("sm_120", "IADD3", "LOP3.LUT", 4),
        ("sm_86", "LDS", "FFMA", None),
        ("sm_86", "DFMA", "DFMA", None),
    ],
)
def test_cycles_from_a_producer_to_a_reader(
    arch: str, producer: str, reader: str, cycles: int | None
) -> None:
    timing = TABLE.timing(arch)
    assert timing is not None
    assert timing.raw_cycles(info(producer, arch), info(reader, arch)) == cycles


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_knows_its_common_distances(arch: str) -> None:
    timing = TABLE.timing(arch)
    assert timing is not None
    ffma, imad, alu = (info(m, arch) for m in ("FFMA", "IMAD", "IADD3"))
    same = [timing.raw_cycles(i, i) for i in (ffma, imad, alu)]
    crossed = [timing.raw_cycles(ffma, alu), timing.raw_cycles(alu, imad)]
    assert (same, crossed) == ([4, 4, 4], [5, 5])
    assert timing.guard_cycles(info("ISETP.GE.AND", arch)) in (12, 13)
    assert timing.guard_cycles(info("LDG.E", arch)) is None
    assert timing.distance("scoreboard_to_wait") == 2


def test_an_architecture_without_a_file_has_no_timing() -> None:
    assert TABLE.timing("sm_110") is None
    assert info("LDG.E.128", "sm_110").bytes_per_thread == 16


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_tensor_instruction_at_its_interval_reaches_the_peak_rate(arch: str) -> None:
    """2 x rate x sub-partitions / interval is what the device's peak is made of."""
    architecture = TABLE.architectures[arch]
    shape = {"sm_70": "HMMA.884.F32.F32.STEP0", "sm_75": "HMMA.1688.F32"}.get(
        arch, "HMMA.16816.F32"
    )
    found = info(shape, arch, "datacenter")
    assert found.flops_per_warp is not None and found.issue_interval_cycles is not None
    rate = found.flops_per_warp / 2 * architecture.limits.sub_partitions
    rate /= found.issue_interval_cycles
    peak = architecture.tensor_rate("fp16_tensor_fp32acc", "datacenter")
    stated = "mma_long" in architecture.timing.issue_interval
    assert peak is not None and (rate < peak if stated else rate == peak)
