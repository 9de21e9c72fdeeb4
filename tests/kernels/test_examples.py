"""The shipped examples are the test kernels of the same name, with the same launch and problem."""

from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "kb" / "examples"
KERNELS = {
    kernel["id"]: kernel
    for kernel in yaml.safe_load((HERE / "manifest.yaml").read_text(encoding="utf-8"))["kernels"]
}


@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda folder: folder.name)
def test_an_example_is_the_test_kernel_and_says_that_its_time_is_assumed(folder: Path) -> None:
    example = yaml.safe_load((folder / "example.yaml").read_text(encoding="utf-8"))
    kernel = KERNELS[example["kernel"]]
    cubin = HERE / "cubin" / f"{kernel['id']}.sm_86.cubin"
    assert (folder / "kernel.sm_86.cubin").read_bytes() == cubin.read_bytes()
    assert (folder / "kernel.cu").read_bytes() == (HERE / kernel["file"]).read_bytes()
    launch = {key: example[key] for key in ("grid", "block", "dynamic_smem")}
    assert launch == kernel["launch"]
    assert example["problem"] == kernel["problem"]
    assert example["time_ms"] == kernel["assumed_time_ms"]
    assert "assumed" in example["note"]
