"""The figures of this set, or of some of its kernels; `kneck kb backtest` prints the same.

python -m tests.truth.accuracy [NAME ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from kneck.engine.knowledge import load_setting
from kneck.engine.truth.load import load_judge, load_set
from kneck.engine.truth.report import text_of
from kneck.engine.truth.run import replay_set
from kneck.facts.request import Request

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    """Print the figures; with names, every row of the kernels whose names begin like one."""
    judge = load_judge()
    found = replay_set(load_set(HERE), load_setting(Request(target="")), judge, names)
    if names:
        print(*found.given, *found.without, sep="\n")
    print(text_of(found, judge, f"{len(found.given)} kernels"), end="")


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if not name.startswith("-")])
