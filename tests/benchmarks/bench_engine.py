"""How long the knowledge base takes: cached load and one inference, against a bare import.

Prints the ratio to `python -c "import lark, networkx"` of the same run (at most 0.3 is wanted),
with and without the start of the interpreter, and what each part of it costs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 21

LOAD_AND_INFER = """
from kneck.engine.infer import infer
from kneck.facts.model import FactBase
from kneck.rules.cache import load_knowledge
from kneck.rules.overlay import knowledge_folders
knowledge = load_knowledge(knowledge_folders())
infer(FactBase({fact.name: fact for fact in knowledge.method}), knowledge)
"""
PROGRAMS = {
    "python": "pass",
    "import lark, networkx": "import lark, networkx",
    "load and infer": LOAD_AND_INFER,
}
PARTS = """
import time
start = time.perf_counter()
def lap(name):
    global start
    now = time.perf_counter()
    print(f"  {name:<28}{1000 * (now - start):6.1f} ms")
    start = now
from kneck.engine.infer import infer
from kneck.facts.model import FactBase
from kneck.rules.cache import load_knowledge
from kneck.rules.overlay import knowledge_folders
lap("imports")
folders = knowledge_folders()
lap("folders")
knowledge = load_knowledge(folders)
lap(f"load {len(knowledge.rules)} rules, cached")
from kneck.engine.rete import network
network(knowledge)
lap("compile for durable_rules")
base = FactBase({fact.name: fact for fact in knowledge.method})
infer(base, knowledge)
lap("first inference")
for _ in range(100):
    infer(base, knowledge)
lap("hundred more inferences")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        _run(LOAD_AND_INFER, environ)  # fills the cache
        times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
        for _ in range(RUNS):
            for name, program in PROGRAMS.items():
                times[name].append(_run(program, environ))
        medians = {name: statistics.median(values) for name, values in times.items()}
        for name, seconds in medians.items():
            print(f"{name:<30}{1000 * seconds:6.1f} ms")
        start, bare, ours = (medians[name] for name in PROGRAMS)
        print(f"ratio                         {ours / bare:6.2f}")
        print(f"ratio without the start       {(ours - start) / (bare - start):6.2f}")
        print("of which:")
        print(_output(PARTS, environ), end="")


def _run(program: str, environ: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environ, check=True)
    return time.perf_counter() - begin


def _output(program: str, environ: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
