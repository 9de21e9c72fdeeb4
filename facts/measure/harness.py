"""`--bench CMD`: run the user's benchmark and find the kernel's time in what it prints."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence

from ...parsers.errors import KneckError, MissingProgramError, Place, printable
from ...parsers.record import dataclass
from .harness_forms import Candidate, by_form, by_pattern

SHOWN_LINE_LENGTH = 100
SHOWN_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class HarnessTime:
    """The kernel time that a harness printed, and what its output says about how it timed."""

    time_ms: float
    form: str
    line: int
    text: str
    clock: str | None  # "events", "wall", or None where nothing tells
    warm_up: bool | None


def run_harness(command: str, time_limit_s: float) -> str:
    """Run a command line without a shell; give its standard output.

    Raises MissingProgramError where the program does not exist, KneckError where it fails or does
    not end in time.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise KneckError(
            f"--bench cannot be read: {error}", Place("--bench"), "close the quotes"
        ) from None
    if not words:
        raise KneckError("--bench is empty", Place("--bench"), "give a command")
    try:
        done = subprocess.run(words, capture_output=True, timeout=time_limit_s, check=False)
    except (FileNotFoundError, PermissionError) as error:
        raise MissingProgramError(
            f'cannot run "{words[0]}": {error.strerror}',
            Place("--bench"),
            "the command runs without a shell: give a program's path, no pipes or variables",
        ) from None
    except subprocess.TimeoutExpired:
        raise KneckError(
            f'"{words[0]}" did not end within {time_limit_s:g} s',
            Place("--bench"),
            "use a smaller problem or fewer repetitions",
        ) from None
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or output.strip()
        last = said.splitlines()[-1:] or ["(it printed nothing)"]
        raise KneckError(
            f'"{words[0]}" ended with status {done.returncode}: {_shown(last[0])}',
            Place("--bench"),
            "run the command alone first",
        )
    return output


def find_time(
    output: str,
    pattern: str | None = None,
    kernel: str | None = None,
    others: Sequence[str] = (),
) -> HarnessTime:
    """Find the one kernel time in a harness' output.

    `pattern` is --bench-time: its first group is the number, its second group, if any, the unit
    (else the unit must follow the number, else milliseconds). `kernel` picks among several times
    the lines or rows that name it and none of `others`. Raises KneckError with all candidates
    where none or several different times remain.
    """
    if pattern is not None:
        candidates = list(by_pattern(output, pattern))
        if not candidates:
            what = f"--bench-time {pattern!r} matches nothing in the harness' output"
            raise KneckError(what, Place("--bench-time"), _first_lines(output))
    else:
        candidates = by_form(output)
    if kernel is not None and len(_distinct(candidates)) > 1:
        named = [c for c in candidates if _names(c.text, kernel)]
        candidates = named or [c for c in candidates if not any(_names(c.text, o) for o in others)]
    times = _distinct(candidates)
    if len(times) == 1:
        found = candidates[0]
        clock, warm_up = timing_habits(output)
        return HarnessTime(found.time_ms, found.form, found.line, found.text, clock, warm_up)
    if not times:
        raise KneckError(
            "the harness prints no kernel time that kneck knows",
            Place("--bench"),
            f"name it with --bench-time 'REGEX'; {_first_lines(output)}",
        )
    shown = "".join(
        f"\n    line {c.line}: {c.time_ms:g} ms in {_shown(c.text)!r}"
        for c in candidates[:SHOWN_CANDIDATES]
    )
    more = len(candidates) - SHOWN_CANDIDATES
    shown += f"\n    and {more} more" if more > 0 else ""
    raise KneckError(
        f"the harness prints {len(times)} different times:{shown}",
        Place("--bench"),
        "name the line with --bench-time 'REGEX', the number in its first group",
    )


def _names(text: str, kernel: str) -> bool:
    """Tell whether a line names a kernel, and not one whose name only contains it."""
    return re.search(rf"(?<!\w){re.escape(kernel)}(?!\w)", text) is not None


def _distinct(candidates: Sequence[Candidate]) -> set[float]:
    return {float(f"{candidate.time_ms:.6g}") for candidate in candidates}


def _shown(text: str) -> str:
    clean = printable(" ".join(text.split()))
    short = clean[: SHOWN_LINE_LENGTH - 3] + "..."
    return clean if len(clean) <= SHOWN_LINE_LENGTH else short


def _first_lines(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()][:3]
    if not lines:
        return "it printed nothing on standard output"
    return "it printed " + " / ".join(_shown(line) for line in lines)


# What the output tells about the way it timed


def timing_habits(output: str) -> tuple[str | None, bool | None]:
    """Give the clock and whether there was a warm-up, where the output says so."""
    text = output.lower()
    clock = None
    if re.search(r"cuda ?events?|cudaevent|\bgpu time\b|\bbatch gpu\b|\bcold\b", text):
        clock = "events"
    elif re.search(r"wall[ -]?clock|wall[ -]?time|chrono|gettimeofday|/real_time\b", text):
        clock = "wall"
    warm = re.search(r"(no|0|without(?: a)?) warm[ -]?up", text)
    warm_up = False if warm else True if re.search(r"warm[ -]?up|\bcold\b", text) else None
    return clock, warm_up
