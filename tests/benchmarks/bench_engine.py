"""How long the knowledge base takes: cached load and one inference, against a bare import.

Prints what loading the knowledge and one inference cost (at most 0.3 times
`python -c "import lark, networkx"` of the same run is wanted), the same with the import of kneck's
modules, and what each part costs. Times are processor time, since others may share the machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

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
start = time.process_time()
def lap(name):
    global start
    now = time.process_time()
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
        parts = [_output(PARTS, environ).splitlines() for _ in range(RUNS)]
        laps = [statistics.median(float(p[i].split()[-2]) for p in parts) for i in range(6)]
        load_and_infer = sum(laps[1:5]) / 1000
        print(f"load and infer / import              {load_and_infer / bare:6.2f}")
        print(f"with the import of kneck / import    {(ours - start) / bare:6.2f}")
        print("of which:")
        for line, lap in zip(parts[0], laps, strict=True):
            print(f"{line[:30]}{lap:6.1f} ms")


def _run(program: str, environ: dict[str, str]) -> float:
    process = subprocess.Popen([sys.executable, "-c", program], env=environ)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{program!r} failed")
    return used.ru_utime + used.ru_stime


def _output(program: str, environ: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
