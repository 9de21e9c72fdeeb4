#!/bin/sh
# Everything that needs a GPU, in one go: run_all.sh OUTDIR
# Leaves OUTDIR/*.json, a log, and ncu's reports with its own text and CSV output in ncu.tar.gz.
set -u
out=$1
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$here/../../src${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1
cd "$here" || exit 1
began=$(date +%s)
spent() { echo "== $1: $(($(date +%s) - began)) s"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv
nvcc -arch=sm_90 -O2 -o independent independent.cu || exit 1
spent built
timeout 90 python3 on_gpu.py support "$out/support.json" 2>&1 | tail -n 20
spent support
timeout 200 python3 on_gpu.py bench "$out/bench.json" 2>&1 | tail -n 40
spent bench
timeout 185 python3 on_gpu.py probe "$out/probe.json" 2>&1 | tail -n 20
spent probe
mkdir -p "$out/ncu"
ncu --version | tail -n 2
python3 on_gpu.py commands | while read -r id kernel command; do
    timeout 60 ncu --set full --clock-control none --kernel-name "$kernel" --launch-skip 1 --launch-count 1 \
        -f -o "$out/ncu/$id" $command > "$out/ncu/$id.log" 2>&1 < /dev/null || tail -n 5 "$out/ncu/$id.log"
    spent "ncu $id"
done
# Several kernels and launches in one report, small.
set -- $(python3 on_gpu.py commands | grep '^saxpy' | cut -d' ' -f3-)
timeout 60 ncu --set basic --clock-control none --launch-skip 3 --launch-count 4 -f -o "$out/ncu/several" "$@" \
    > "$out/ncu/several.log" 2>&1 < /dev/null
for report in "$out"/ncu/*.ncu-rep; do
    base=${report%.ncu-rep}
    ncu --import "$report" --csv --page raw > "$base.raw.csv" 2>> "$out/ncu/import.log"
    ncu --import "$report" --csv --page details > "$base.details.csv" 2>> "$out/ncu/import.log"
    ncu --import "$report" --csv --page source --print-source sass > "$base.source.csv" 2>> "$out/ncu/import.log"
    ncu --import "$report" --page details > "$base.details.txt" 2>> "$out/ncu/import.log"
    ncu --import "$report" --page raw > "$base.raw.txt" 2>> "$out/ncu/import.log"
done
spent ncu
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader
ls -la "$out/ncu"
tar czf "$out/ncu.tar.gz" -C "$out" ncu && rm -r "$out/ncu"
