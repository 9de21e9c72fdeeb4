#!/bin/sh
# What needs a GPU, in one go: run_all.sh OUTDIR [PART...]
#
# Parts (all of them without one): support bench probe again jit tests ncu. Leaves OUTDIR/*.json,
# and ncu's reports with its own text and CSV output in ncu.tar.gz.
set -u
out=$1
shift
parts=" ${*:-support bench probe again jit tests ncu} "
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$here/../../src${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
cd "$here" || exit 1
began=$(date +%s)
spent() { echo "== $1: $(($(date +%s) - began)) s"; }
wanted() { case $parts in *" $1 "*) ;; *) return 1 ;; esac; }

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv
nvcc -arch=native -O2 -o independent independent.cu || exit 1
spent built
wanted support && timeout 90 python3 on_gpu.py support "$out/support.json" 2>&1 | tail -n 20 && spent support
wanted bench && timeout 200 python3 on_gpu.py bench "$out/bench.json" 2>&1 | tail -n 40 && spent bench
wanted probe && timeout 185 python3 on_gpu.py probe "$out/probe.json" 2>&1 | tail -n 20 && spent probe
wanted again && timeout 185 python3 on_gpu.py probe "$out/again.json" 2>&1 | tail -n 20 && spent again
wanted jit && CUDA_FORCE_PTX_JIT=1 timeout 60 python3 on_gpu.py jit "$out/jit.json" 2>&1 | tail -n 5 && spent jit
wanted tests && timeout 200 python3 -m pytest -q -p no:cacheprovider . 2>&1 | tail -n 40 && spent tests
wanted ncu || exit 0

mkdir -p "$out/ncu"
ncu --version | tail -n 2
sections="--section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis
 --section MemoryWorkloadAnalysis_Tables --section SchedulerStats --section WarpStateStats
 --section InstructionStats --section LaunchStats --section Occupancy --section SourceCounters"
profile() {  # name of the report, options of ncu, --, command
    name=$1
    shift
    timeout 60 ncu --clock-control none -f -o "$out/ncu/$name" "$@" > "$out/ncu/$name.log" 2>&1 < /dev/null ||
        tail -n 5 "$out/ncu/$name.log"
    spent "ncu $name"
}
python3 on_gpu.py commands | while read -r id kernel command; do
    # shellcheck disable=SC2086
    profile "$id" $sections --kernel-name "$kernel" --launch-skip 1 --launch-count 1 $command
done
# Two kernels in turn, four launches, few sections: what tells launches apart.
# shellcheck disable=SC2046
profile several --section LaunchStats --section Occupancy --section SpeedOfLight --launch-skip 3 --launch-count 4 \
    $(python3 on_gpu.py commands | grep '^saxpy' | cut -d' ' -f3-)
for report in "$out"/ncu/*.ncu-rep; do
    base=${report%.ncu-rep}
    for page in raw details; do
        ncu --import "$report" --csv --page $page > "$base.$page.csv"
        ncu --import "$report" --page $page > "$base.$page.txt"
    done
    ncu --import "$report" --csv --page source --print-source sass > "$base.source.csv"
done
spent ncu
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader
tar czf "$out/ncu.tar.gz" -C "$out" ncu && rm -r "$out/ncu"
