#!/bin/sh
# Everything that needs the GPU, in one go: measure.sh JOBS.json OUTDIR [SECONDS [banks]]
# Programs, times, then counters in eight parts, as far as the time goes.
set -u
jobs=$1 out=$2 limit=${3:-540}
here=$(dirname "$0")
began=$(date +%s)
left() { echo $((limit - $(date +%s) + began)); }
cd "$here" || exit 1
mkdir -p "$out/r"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv
sections="" metrics=""
watch() {  # name, part
    [ "$(left)" -gt 40 ] || return
    timeout "$(left)" ncu --clock-control none --profile-from-start off $sections --metrics "$metrics" \
        -f -o "$out/r/$1" python3 measure.py once "$jobs" "$2" "$out/r/times.json" > "$out/r/$1.log" 2>&1
    grep -v PROF "$out/r/$1.log" | tail -n 3
    echo "$1: $(left) s left"
}
if [ "${4:-all}" = all ]; then
    timeout 60 python3 measure.py programs ../facts/emulator "$out/r/programs.npz"
    timeout 100 python3 measure.py time "$jobs" set "$out/r/times.json" > "$out/r/times.log" 2>&1
    tail -n 4 "$out/r/times.log"
    echo "times: $(left) s left"
    timeout 60 ncu --query-metrics --chips gh100 2>/dev/null | awk '{print $1}' > "$out/r/known.txt"
    metrics=$(python3 metrics.py "$out/r/known.txt" "$out/r/unknown.txt")
    sections="--section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis
     --section MemoryWorkloadAnalysis_Tables --section WarpStateStats --section Occupancy
     --section LaunchStats --section InstructionStats --section SourceCounters"
    for part in 0 1 2 3 4 5 6 7; do watch "set$part" "set:$part/8"; done
    watch paths paths
    watch pipes pipes
fi
sections="" metrics=$(python3 metrics.py lanes)
watch banks banks
nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv,noheader
ls -la "$out/r"
tar czf "$out/all.tgz" -C "$out" r && rm -r "$out/r"
cd "$out" && split -b 15M all.tgz all.tgz. && rm all.tgz && ls -la
