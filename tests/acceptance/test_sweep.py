"""`kneck sweep` with a table of times: one row per size, and where the verdict flips."""

from __future__ import annotations

import json
from pathlib import Path

from .cases import cubin, run

# Measured on an H200: kneck sweep saxpy.sm_90.cubin --measure --gpu local
TIMES = """n,time_ms
65536,0.00464
524288,0.00582
4194304,0.0166
33554432,0.119
268435456,0.944
"""


def sweep(folder: Path, *more: str) -> str:
    (folder / "times.csv").write_text(TIMES)
    done = run(
        "sweep", cubin("saxpy", "sm_90"), "--gpu", "h200", "--grid", "n/256", "--block", "256",
        "--problem", "elementwise:n=65536..268435456*8,reads=2,writes=1,flops=2,dtype=f32",
        "--args", "f32[n], f32[n], f32=2.0, i32 n", "--times", folder / "times.csv", *more,
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    return done.out


def test_each_size_has_its_row_and_the_flip_says_what_moved(tmp_path: Path) -> None:
    text = sweep(tmp_path)
    rows = [line.split()[0] for line in text.splitlines() if line.startswith("n=")]
    assert rows == ["n=65536", "n=524288", "n=4194304", "n=33554432", "n=268435456"]
    flip = text.partition("The verdict flips between n=4194304 and n=33554432:\n")[2].splitlines()
    assert flip[0].startswith("  latency (") and flip[0].endswith("at n=4194304")
    assert flip[1].strip() == "memory (dram) at n=33554432"
    assert any(line.strip().startswith("share of dram 0.4") for line in flip)
    assert "{" not in text


def test_the_document_holds_every_diagnosis(tmp_path: Path) -> None:
    document = json.loads(sweep(tmp_path, "--format", "json"))
    assert [point["varied"]["n"] for point in document["points"]][-1] == 268435456
    assert all(p["diagnosis"]["schema"] == "kneck.diagnosis/1" for p in document["points"])
    assert document["flips"][-1]["verdicts"][1] == "memory (dram)"
