"""Fuzz every reader of foreign input with atheris, one after the other, for a share of the time.

    python -m pip install atheris
    python -m tests.fuzz.fuzz FOLDER [--seconds 3600] [--target NAME ...]

FOLDER keeps the corpus of each target (a later run goes on from it), a log, and each input that
showed a fault beside what it raised. An input that takes more than 10 s of processor time or 4 GB
of memory is a fault as well. Prints how long each target ran, how many inputs it saw and how many
different faults they showed; exit status 1 where there was one.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

LONGEST_INPUT_S = 10.0
MOST_MEMORY_BYTES = 4 << 30
LONGEST = {"listing": 12_288, "cubin": 32_768, "ncu-csv": 16_384, "rule-file": 8_192}
OTHERWISE = 4_096
MOST_WORDS = 400
NAMES = ("listing", "resource-log", "cubin", "rule-file", "ncu-csv", "expression")
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)|^Done (\d+) runs", re.MULTILINE)


class TookTooLong(BaseException):
    """An input is over its time; no handler of kneck may take it for an error of its own."""


def main() -> int:
    """Run the targets, each in a process of its own, since libFuzzer ends its process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--target", action="append", choices=NAMES)
    parser.add_argument("--inside", choices=NAMES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        fuzz(arguments.inside, arguments.folder, arguments.seconds)
    chosen = arguments.target or NAMES
    found = 0
    for name in chosen:
        found += run(name, arguments.folder, arguments.seconds // len(chosen))
    return 1 if found else 0


def run(name: str, folder: Path, seconds: int) -> int:
    """Fuzz one target, start again where its process was ended, and give the number of faults."""
    place = folder / name
    (place / "faults").mkdir(parents=True, exist_ok=True)
    start, executed, ends = time.monotonic(), 0, 0
    while (left := int(seconds - (time.monotonic() - start))) > 0:
        options = [str(folder), "--seconds", str(left), "--inside", name]
        with open(place / "log", "wb") as log:
            command = [sys.executable, "-m", "tests.fuzz.fuzz", *options]
            status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        text = (place / "log").read_text("utf-8", "replace")
        counts = [int(a or b) for a, b in EXECUTED.findall(text)]
        executed += max(counts, default=0)
        if status:
            ends += 1
            (place / "faults" / f"process-{ends}.log").write_text(text[-20_000:])
            time.sleep(1)
    ran = time.monotonic() - start
    faults = len(list((place / "faults").glob("*.txt"))) + ends
    print(f"{name:14}{ran:8.0f} s {executed:12,} inputs {faults:4} faults", flush=True)
    return faults


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """Fuzz in this process; does not return."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["kneck"]):
        targets = importlib.import_module("tests.fuzz.targets")
        seeds = list(targets.seeds(name))
        for seed in seeds:
            targets.TARGETS[name](seed)  # loads what is loaded late, so that it is instrumented
    place = folder / name
    corpus = place / "corpus"
    corpus.mkdir(exist_ok=True)
    longest = LONGEST.get(name, OTHERWISE)
    for seed in seeds:
        cut = seed[:longest]
        (corpus / hashlib.sha256(cut).hexdigest()[:16]).write_bytes(cut)
    (place / "words").write_text(dictionary(seeds), encoding="ascii")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, hard))
    signal.signal(signal.SIGVTALRM, _too_long)
    watched = Watched(targets.TARGETS[name], place / "faults")
    options = [
        f"-max_total_time={seconds}", f"-max_len={longest}", f"-dict={place / 'words'}",
        f"-artifact_prefix={place / 'faults'}/", "-print_final_stats=1", "-timeout=120",
        "-rss_limit_mb=0", str(corpus),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], watched)
    atheris.Fuzz()


class Watched:
    """A target that keeps what shows a fault and goes on, once per place that raised."""

    def __init__(self, target: Any, faults: Path) -> None:
        self.target = target
        self.faults = faults

    def __call__(self, data: bytes) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_INPUT_S)
        try:
            self.target(data)
        except (Exception, TookTooLong, SystemExit) as error:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self.keep(data, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def keep(self, data: bytes, error: BaseException) -> None:
        """Write the input and the traceback under a name made of what raised where."""
        frames = traceback.extract_tb(error.__traceback__)
        inside = [f"{Path(f.filename).name}:{f.name}" for f in frames if "fuzz" not in f.filename]
        place = inside[-1:] if not isinstance(error, TookTooLong) else inside[:4]
        key = hashlib.sha256(repr((type(error).__name__, place)).encode()).hexdigest()[:12]
        told = self.faults / f"{key}.txt"
        if not told.exists():
            (self.faults / f"{key}.input").write_bytes(data)
            text = "".join(traceback.format_exception(error))
            told.write_text(text[-20_000:], encoding="utf-8", errors="backslashreplace")


def dictionary(seeds: list[bytes]) -> str:
    """Give the words of the seeds as a dictionary of libFuzzer."""
    counts: dict[bytes, int] = {}
    for seed in seeds:
        for word in re.findall(rb"[A-Za-z_.$%][\w.:+-]{1,23}|[\[\](){}`@!~|<>=*/\\-]{2,4}", seed):
            counts[word] = counts.get(word, 0) + 1
    words = sorted(counts, key=lambda word: -counts[word])[:MOST_WORDS]
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    return "".join(f'"{word}"\n' for word in quoted)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TookTooLong(f"more than {LONGEST_INPUT_S:g} s of processor time")


if __name__ == "__main__":
    sys.exit(main())
