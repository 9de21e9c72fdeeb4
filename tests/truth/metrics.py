"""The counters that the set is judged by, as far as the installed profiler knows them.

    python metrics.py KNOWN.txt UNKNOWN.txt
    python metrics.py lanes

KNOWN holds the base names that `ncu --query-metrics` lists; names that it lacks are written to
UNKNOWN, because one unknown name stops the profiler. `lanes` prints the few counters that tell what
one pattern of lane addresses costs; Nsight Compute 2025.3 knows all of them on gh100.
"""

from __future__ import annotations

import sys
from pathlib import Path

SUMS = """
smsp__inst_executed smsp__inst_issued smsp__thread_inst_executed smsp__thread_inst_executed_pred_on
smsp__warps_launched
sm__inst_executed_pipe_adu sm__inst_executed_pipe_alu sm__inst_executed_pipe_cbu
sm__inst_executed_pipe_fma sm__inst_executed_pipe_fmaheavy sm__inst_executed_pipe_fp16
sm__inst_executed_pipe_fp64 sm__inst_executed_pipe_lsu sm__inst_executed_pipe_uniform
sm__inst_executed_pipe_xu
sm__inst_executed_pipe_tensor_op_hmma sm__inst_executed_pipe_tensor_op_imma
sm__inst_executed_pipe_tensor_op_dmma sm__inst_executed_pipe_tensor_op_gmma
l1tex__data_pipe_lsu_wavefronts l1tex__data_pipe_lsu_wavefronts_mem_shared
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom
l1tex__data_pipe_lsu_wavefronts_mem_lg
l1tex__data_bank_conflicts_pipe_lsu_mem_shared
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st
l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_requests_pipe_lsu_mem_global_op_st
l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit
l1tex__t_sectors_pipe_lsu_mem_global_op_st l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit
l1tex__t_sectors_pipe_lsu_mem_global_op_red l1tex__t_sectors_pipe_lsu_mem_global_op_atom
l1tex__t_sectors_pipe_lsu_mem_local_op_ld l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit
l1tex__t_sectors_pipe_lsu_mem_local_op_st l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit
l1tex__m_xbar2l1tex_read_sectors l1tex__m_l1tex2xbar_write_sectors l1tex__m_xbar2l1tex_read_bytes
lts__t_requests lts__t_tag_requests lts__t_sectors lts__t_sectors_op_read lts__t_sectors_op_write
lts__t_sectors_op_red lts__t_sectors_op_atom lts__t_sectors_lookup_hit lts__t_sectors_lookup_miss
lts__t_requests_srcunit_tex lts__t_sectors_srcunit_tex lts__t_sectors_srcunit_tex_lookup_hit
lts__t_requests_srcunit_tex_op_read lts__t_requests_srcunit_tex_op_write lts__d_sectors
lts__lts2xbar_cycles_active lts__xbar2lts_cycles_active
dram__bytes_read dram__bytes_write dram__sectors_read dram__sectors_write
""".split()
OTHERS = {
    "gpu__time_duration": "sum", "sm__cycles_elapsed": "max", "sm__cycles_active": "avg",
    "lts__cycles_elapsed": "avg", "dram__cycles_elapsed": "avg",
}  # fmt: skip
SHARES = """
sm__throughput gpu__compute_memory_throughput l1tex__throughput lts__throughput gpu__dram_throughput
sm__inst_executed sm__inst_issued sm__pipe_alu_cycles_active sm__pipe_fma_cycles_active
sm__pipe_fmaheavy_cycles_active sm__pipe_fp64_cycles_active sm__pipe_shared_cycles_active
sm__pipe_tensor_op_hmma_cycles_active sm__pipe_tensor_op_imma_cycles_active
sm__pipe_tensor_op_dmma_cycles_active sm__pipe_tensor_op_gmma_cycles_active
sm__inst_executed_pipe_adu sm__inst_executed_pipe_xu sm__inst_executed_pipe_lsu
sm__inst_executed_pipe_uniform sm__inst_executed_pipe_fp16
l1tex__data_pipe_lsu_wavefronts l1tex__lsuin_requests l1tex__data_bank_reads l1tex__data_bank_writes
l1tex__lsu_writeback_active l1tex__m_l1tex2xbar_req_cycles_active l1tex__f_wavefronts
lts__t_tag_requests lts__t_sectors lts__lts2xbar_cycles_active lts__xbar2lts_cycles_active
lts__d_sectors
""".split()
BREAKDOWNS = (
    "sm__throughput", "gpu__compute_memory_throughput", "l1tex__throughput", "lts__throughput",
    "gpu__dram_throughput",
)  # fmt: skip
LANES = """
gpu__time_duration smsp__inst_executed l1tex__data_pipe_lsu_wavefronts
l1tex__data_pipe_lsu_wavefronts_mem_shared
l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_ld
l1tex__m_xbar2l1tex_read_sectors lts__t_requests_srcunit_tex lts__t_tag_requests
lts__t_sectors_srcunit_tex
""".split()


def main(known_path: str, unknown_path: str = "") -> None:
    """Print the list for --metrics."""
    if known_path == "lanes":
        print(",".join(f"{name}.sum" for name in LANES))
        return
    known = set(Path(known_path).read_text().split())
    wanted = [(name, f"{name}.sum") for name in SUMS]
    wanted += [(name, f"{name}.{kind}") for name, kind in OTHERS.items()]
    wanted += [(name, f"{name}.avg.pct_of_peak_sustained_elapsed") for name in SHARES]
    wanted += [(name, f"breakdown:{name}.avg.pct_of_peak_sustained_elapsed") for name in BREAKDOWNS]
    Path(unknown_path).write_text("\n".join(name for name, _ in wanted if name not in known))
    print(",".join(text for name, text in wanted if name in known))


if __name__ == "__main__":
    main(*sys.argv[1:])
