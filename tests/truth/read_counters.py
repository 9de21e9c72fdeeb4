"""Turn the profiler's reports into the committed data: figures per kernel, and per instruction.

    python read_counters.py FOLDER measured/h200

FOLDER holds times.json and the .ncu-rep files of measure.sh; needs NVIDIA's ncu-report package.
Writes h200.json (one record per kernel), h200-instructions.json.xz (one row per instruction) and
h200-banks.json (one row per pattern of lanes).
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

import ncu_report  # type: ignore[import-untyped]

# What is kept: throughputs, counts, stalls. Shares are percent of peak over elapsed cycles.
SHARE = r"\.avg\.pct_of_peak_sustained_elapsed"
KEPT = re.compile(
    rf"""gpu__time_duration\.sum | sm__cycles_active\.avg
    | (sm|lts|dram|l1tex)__cycles_elapsed\.(max|avg)
    | (sm|l1tex|lts|gpu__compute_memory|gpu__dram)_*throughput{SHARE}
    | sm__(inst|pipe|issue|mio|instruction|memory)\w*{SHARE}
    | (idc|l1tex|lts|dram|fbpa)__\w+{SHARE}
    | smsp__(inst_executed|inst_issued|warps_launched)\.sum
    | smsp__thread_inst_executed(_pred_on)?\.sum
    | sm__inst_executed_pipe_\w+\.sum
    | l1tex__(data_pipe|data_bank_conflicts|t_sectors|t_requests|m_)\w+\.sum
    | lts__(t_requests|t_tag_requests|t_sectors|d_sectors)\.sum
    | lts__(lts2xbar|xbar2lts)_cycles_active\.sum
    | lts__t_(requests|sectors)_(srcunit_tex|op)_?(op_)?(read|write|red|atom)?(_lookup_hit)?\.sum
    | dram__(bytes|sectors)_(read|write)\.sum
    | launch__(registers_per_thread|occupancy_limit_\w+|shared_mem_config_size)
    | launch__waves_per_multiprocessor | sm__maximum_warps_per_active_cycle_pct
    | sm__warps_active\.avg\.(pct_of_peak_sustained_active|per_cycle_active)
    | smsp__average_warps_issue_stalled_\w+_per_issue_active\.ratio
    | sm__sass_l1tex\w+\.sum
    """,
    re.VERBOSE,
)
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


def banks(folder: str) -> list[dict[str, Any]]:
    """Give the counters of every pattern of lanes, in the order of jobs.bank_jobs."""
    import jobs  # type: ignore[import-not-found]

    reports = ncu_report.load_report(str(Path(folder) / "banks.ncu-rep"))
    actions = [action for part in reports for action in part]
    found = []
    for job, action in zip(jobs.bank_jobs(), actions, strict=True):
        assert action.name() == job["name"]
        counters = {
            name.removesuffix(".sum"): number(action.metric_by_name(name).value())
            for name in sorted(action.metric_names())
            if name.endswith(".sum") and not name.startswith("profiler")
        }
        found.append({"kernel": job["name"], "pattern": job["pattern"], **counters})
    return found


def main(folder: str, to: str) -> None:
    """Read all reports; where only the patterns were measured, only those."""
    if (Path(folder) / "banks.ncu-rep").exists():
        lines = ",\n".join(json.dumps(row, sort_keys=True) for row in banks(folder))
        Path(f"{to}-banks.json").write_text(f"[\n{lines}\n]\n")
    if not (Path(folder) / "times.json").exists():
        return
    times = json.loads((Path(folder) / "times.json").read_text())
    records: dict[str, dict[str, Any]] = {"set": {}, "paths": {}, "pipes": {}}
    rows: dict[str, Any] = {}
    for path in sorted(Path(folder).glob("*.ncu-rep")):
        part = "set" if path.stem.startswith("set") else path.stem
        if part == "banks":
            continue
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
