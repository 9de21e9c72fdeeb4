"""Turn the profiler's reports into the committed data: figures per kernel, and per instruction.

    python read_counters.py FOLDER measured/h200

FOLDER holds times.json and the .ncu-rep files of measure.sh; needs NVIDIA's ncu-report package.
Writes h200.json (one record per kernel) and h200-instructions.json.xz (one row per instruction).
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

import ncu_report

# What is kept: throughputs, counts, stalls. Shares are percent of peak over elapsed cycles.
KEPT = re.compile(
    r"""gpu__time_duration\.sum | (sm|lts|dram|l1tex)__cycles_elapsed\.(max|avg) | sm__cycles_active\.avg
    | (sm|l1tex|lts|gpu__compute_memory|gpu__dram)_*throughput\.avg\.pct_of_peak_sustained_elapsed
    | (sm__(inst|pipe|issue|mio|instruction|memory)\w*|idc__\w+|l1tex__\w+|lts__\w+|dram__\w+|fbpa__\w+)
      \.avg\.pct_of_peak_sustained_elapsed
    | smsp__(inst_executed|inst_issued|thread_inst_executed|thread_inst_executed_pred_on|warps_launched)\.sum
    | sm__inst_executed_pipe_\w+\.sum
    | l1tex__(data_pipe|data_bank_conflicts|t_sectors|t_requests|m_)\w+\.sum
    | lts__(t_requests|t_tag_requests|t_sectors|d_sectors|lts2xbar_cycles_active|xbar2lts_cycles_active)\.sum
    | lts__t_(requests|sectors)_(srcunit_tex|op)_?(op_)?(read|write|red|atom)?(_lookup_hit)?\.sum
    | dram__(bytes|sectors)_(read|write)\.sum
    | launch__(registers_per_thread|occupancy_limit_\w+|waves_per_multiprocessor|shared_mem_config_size)
    | sm__warps_active\.avg\.(pct_of_peak_sustained_active|per_cycle_active) | sm__maximum_warps_per_active_cycle_pct
    | smsp__average_warps_issue_stalled_\w+_per_issue_active\.ratio
    | sm__sass_l1tex\w+\.sum
    """,
    re.VERBOSE,
)  # fmt: skip
BREAKDOWNS = {
    "compute": "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory": "breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
}
OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
ROWS = {
    "executed": "inst_executed",
    "threads": "thread_inst_executed_true",
    "shared_wavefronts": "memory_l1_wavefronts_shared",
    "global_tags": "memory_l1_tag_requests_global",
    "global_sectors": "memory_l2_theoretical_sectors_global",
}


def number(value: Any) -> float | int | None:
    """Shorten a figure to six digits; whole numbers stay."""
    if isinstance(value, str) or value is None or value != value:
        return None
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")


def figures(action: Any) -> dict[str, Any]:
    """Give the kept figures of one launch."""
    result = {}
    for name in sorted(action.metric_names()):
        if KEPT.fullmatch(name):
            value = number(action.metric_by_name(name).value())
            if value:
                result[name] = value
    return result


def breakdown(action: Any, name: str) -> list[str]:
    """Name the counters that a throughput is the largest of."""
    return [part.strip() for part in str(action.metric_by_name(name).value()).split(",")]


def opcodes(action: Any) -> dict[str, int]:
    """Give warp instructions per mnemonic."""
    metric = action.metric_by_name(OPCODES)
    names = metric.correlation_ids()
    return {str(names.value(i)): int(metric.value(i)) for i in range(metric.num_instances())}


def instructions(action: Any) -> dict[str, dict[str, int]]:
    """Give the counters of each instruction by its offset in the kernel."""
    base = min(
        action.metric_by_name("inst_executed").correlation_ids().value(i)
        for i in range(action.metric_by_name("inst_executed").num_instances())
    )
    table: dict[str, dict[str, int]] = {}
    for key, name in ROWS.items():
        metric = action.metric_by_name(name)
        if metric is None:
            continue
        places = metric.correlation_ids()
        table[key] = {
            f"{places.value(i) - base:x}": int(metric.value(i))
            for i in range(metric.num_instances())
            if metric.value(i)
        }
    return table


def main(folder: str, to: str) -> None:
    """Read all reports."""
    times = json.loads((Path(folder) / "times.json").read_text())
    records: dict[str, dict[str, Any]] = {"set": {}, "paths": {}, "pipes": {}}
    rows: dict[str, Any] = {}
    for path in sorted(Path(folder).glob("*.ncu-rep")):
        part = "set" if path.stem.startswith("set") else path.stem
        context = ncu_report.load_report(str(path))
        for action in (a for r in context for a in r):
            name = action.name()
            record = {
                **times.get(name, {}),
                "counters": figures(action),
                "opcodes": opcodes(action),
            }
            if part == "paths":
                name = f"{name}_{(1, 2, 4)[sum(k.startswith(name + '_') for k in records[part])]}"
            records[part][name] = record
            if part == "set":
                rows[name] = instructions(action)
                for side, metric in BREAKDOWNS.items():
                    records.setdefault("breakdown", {})[side] = breakdown(action, metric)
    Path(f"{to}.json").write_text(json.dumps(records, indent=0, sort_keys=True) + "\n")
    packed = lzma.compress(json.dumps(rows, sort_keys=True).encode(), preset=9)
    Path(f"{to}-instructions.json.xz").write_bytes(packed)


if __name__ == "__main__":
    main(*sys.argv[1:])
