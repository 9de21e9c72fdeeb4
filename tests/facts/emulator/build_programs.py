"""Write the integer programs as one compressed cubin, with the parameters they are launched with.

Run it after a change of the generator; needs nvcc. The results of an H200 (`results.npz`) come from
tests/truth/measure.py and must be measured again then.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tempfile
from pathlib import Path

from programs import (  # type: ignore[import-not-found]
    BLOCKS,
    THREADS,
    VARIABLES,
    Program,
    programs,
)

HERE = Path(__file__).parent
COUNT = 200


def compiled(made: list[Program], arch: str) -> bytes:
    """Compile programs into one cubin."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "programs.cu", Path(folder) / "programs.cubin"
        source.write_text("\n\n".join(program.source() for program in made))
        command = ["nvcc", "-cubin", f"-arch={arch}", "-O2", "-w", "-o", str(cubin), str(source)]
        subprocess.run(command, check=True)
        return cubin.read_bytes()


def main() -> None:
    """Write cubin and plan."""
    made = programs(COUNT)
    (HERE / "programs.sm_90.cubin.xz").write_bytes(lzma.compress(compiled(made, "sm_90")))
    plan = {
        "blocks": BLOCKS,
        "threads": THREADS,
        "variables": VARIABLES,
        "programs": {program.name: program.parameters for program in made},
    }
    (HERE / "programs.json").write_text(json.dumps(plan) + "\n")


if __name__ == "__main__":
    main()
