"""Odd names, odd places, damaged files, several processes at once: an answer or a named error."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kneck
from kneck.engine.knowledge import load_setting
from kneck.facts.request import Request
from kneck.rules.vocabulary import Entry

from .cases import KERNELS, cubin, manifest, options, run

KNECK = [sys.executable, "-m", "kneck"]
INTERNAL = 70  # the exit status of a fault of kneck itself


def process(*args: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run kneck as a process of its own, with these variables changed."""
    return subprocess.run(
        [*KNECK, *map(str, args)],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )


# Names


@pytest.mark.parametrize(
    "name",
    [
        "two words.cubin",
        "q'uo\"te.cubin",
        "semi;colon & $HOME `id`.cubin",
        "ünï-コード.cubin",
        "line\nbreak.cubin",
        "--help",
        "-",
        "%s{0}.cubin",
        "a" * 200,
    ],
)
def test_a_file_of_any_name_is_diagnosed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(cubin("saxpy"), tmp_path / name)
    target = f"./{name}"
    done = run("infer", target, "--block", "256", "--format", "json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["kernel"]["source"] == target


def test_a_name_that_is_no_utf_8_survives_into_every_report(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.cubin")
    shutil.copy(cubin("saxpy"), name)
    for format in ("text", "markdown", "json", "html"):
        output = tmp_path / format
        assert run("infer", name, "--format", format, "-o", output).status == 0
        output.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "json").read_text())["kernel"]["source"] == name
    assert run("explain").status == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_cannot_show_a_sign_gets_its_code(encoding: str, tmp_path: Path) -> None:
    target = tmp_path / "コ.cubin"
    shutil.copy(cubin("saxpy"), target)
    done = process("infer", target, "--format", "json", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kernel"]["source"] == str(target)


def test_links_are_followed_and_links_to_nowhere_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.cubin").symlink_to(cubin("saxpy"))
    Path("nowhere.cubin").symlink_to("missing")
    Path("round.cubin").symlink_to("round.cubin")
    assert run("infer", "good.cubin").status == 0
    assert run("infer", "nowhere.cubin").err.startswith("error: no such file\n")
    assert run("infer", "round.cubin").err.startswith("error: cannot read it: ")
    missing = run("infer", "goo.cubin")
    assert 'did you mean "good.cubin"?' in missing.err


def test_a_pipe_carries_text_and_refuses_device_code(tmp_path: Path) -> None:
    listing = tmp_path / "kernel.sass"
    listing.write_text("\tcode for sm_86\n\t\tFunction : f\n        /*0000*/  EXIT ;\n")
    for source, status in [(listing, 0), (cubin("saxpy"), 2)]:
        pipe = tmp_path / f"pipe-{source.name}"
        os.mkfifo(pipe)
        with subprocess.Popen(["cp", str(source), "/dev/stdout"], stdout=subprocess.PIPE) as copy:
            writer = subprocess.Popen(["tee", str(pipe)], stdin=copy.stdout, stdout=-3)
            done = process("infer", pipe)
            writer.kill()
            writer.wait()
        assert done.returncode == status, done.stderr
    assert done.stderr.startswith("error: device code cannot be read from a pipe\n")


# Places


def test_a_home_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    wanted = process("infer", "example:hgemm-30k").stdout
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    environ = {name: "" for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    cleaned = {k: v for k, v in os.environ.items() if k != "KNECK_CACHE_DIR"}
    for home in (str(blocked), "/proc", ""):
        done = subprocess.run(
            [*KNECK, "infer", "example:hgemm-30k"],
            env={**cleaned, **environ, "HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr, done.stdout) == (0, "", wanted), home


def test_a_cache_that_is_off_leaves_nothing_behind(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for off in ("off", ""):
        done = process("infer", "example:saxpy", KNECK_CACHE_DIR=off, **home)
        assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*")) == []


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()  # with a folder of its own the build's copy does not serve
    cache = {"KNECK_CACHE_DIR": str(tmp_path / "cache"), "KNECK_KB": str(tmp_path / "own")}
    wanted = process("infer", "example:hgemm-30k", **cache).stdout
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) > 3
    for content in (b"", b"{}", b"\xff" * 100):
        for path in files:
            path.write_bytes(content)
        done = process("infer", "example:hgemm-30k", **cache)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", wanted), content


def test_a_cache_full_of_folders_is_no_hindrance(tmp_path: Path) -> None:
    cache = {"KNECK_CACHE_DIR": str(tmp_path / "cache")}
    wanted = process("infer", "example:saxpy", **cache).stdout
    for path in [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]:
        path.unlink()
        path.mkdir()
    done = process("infer", "example:saxpy", **cache)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", wanted)


# Several at once, and ends before the end


def test_processes_that_share_an_empty_cache_give_the_same_report(tmp_path: Path) -> None:
    environ = {**os.environ, "KNECK_CACHE_DIR": str(tmp_path)}
    command = [*KNECK, "infer", "example:hgemm-30k", "--format", "json"]
    running = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    results = [each.communicate() for each in running]
    assert [each.returncode for each in running] == [0] * 4
    assert {err for _, err in results} == {b""}
    assert len({out for out, _ in results}) == 1
    assert [path.name for path in tmp_path.rglob(".*")] == []


def children(pid: int) -> str:
    """Name the processes that a process has started (Linux)."""
    found = ""
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += (task / "children").read_text()
    return found


def test_an_interrupt_ends_with_130_and_without_a_traceback() -> None:
    status, out, err = interrupted()
    assert (status, out, err.strip()) == (130, "", "error: interrupted")


def interrupted() -> tuple[int, str, str]:
    with subprocess.Popen(
        [*KNECK, "infer", str(KERNELS / "cubin" / "unrolled_far.sm_90.cubin")],
        env={**os.environ, "KNECK_CACHE_DIR": "off"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        while running.poll() is None and not children(running.pid):
            time.sleep(0.01)  # until the disassembler runs
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    return running.returncode, out, err


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    with subprocess.Popen(
        [*KNECK, "kb", "show", "cp-async-pipelining"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        err = running.stderr.read()
    assert (running.wait(), err) == (0, "")


def test_a_closed_standard_output_is_no_fault() -> None:
    command = f"{sys.executable} -m kneck infer example:saxpy >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Damaged content


@pytest.fixture(scope="module")
def places() -> random.Random:
    return random.Random(20250)


def test_a_damaged_cubin_is_read_or_refused_by_name(tmp_path: Path, places: random.Random) -> None:
    whole = cubin("hgemm_30k").read_bytes()
    target = tmp_path / "damaged.cubin"
    refused = 0
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(places.choice([1, 3, 10])):
            data[places.randrange(len(data))] = places.randrange(256)
        target.write_bytes(data[: places.choice([len(data), places.randrange(len(data))])])
        done = run("infer", target, "--block", "128")
        assert done.status in (0, 2), done.err
        assert done.status == 0 or "\n  help: " in done.err
        refused += done.status
    assert refused


def test_a_damaged_listing_is_read_or_refused_by_name(
    tmp_path: Path, places: random.Random
) -> None:
    from .test_contract import listing_of

    whole = listing_of("sgemm_load_loop").splitlines()
    target = tmp_path / "damaged.sass"
    for _ in range(12):
        lines = list(whole)
        for _ in range(places.choice([1, 5, 50])):
            at, other = places.randrange(len(lines)), places.randrange(len(lines))
            match places.randrange(4):
                case 0:
                    lines[at] = lines[at][: places.randrange(len(lines[at]) + 1)]
                case 1:
                    lines[at], lines[other] = lines[other], lines[at]
                case 2:
                    lines[at] += lines[other]
                case _:
                    lines[at] = lines[at].replace("R", "UR").replace("0x", "-0x", 1)
        target.write_text("\n".join(lines))
        done = run("infer", target, "--block", "256", "--time-ms", "1")
        assert done.status in (0, 2), done.err


def test_a_saved_diagnosis_of_any_content_is_read_or_refused_by_name(
    tmp_path: Path, places: random.Random
) -> None:
    whole = run("infer", "example:hgemm-30k", "--format", "json").out
    target = tmp_path / "saved.json"
    odd: list[object] = [None, True, -1, 1e308, "x", [], {}, float("nan"), 10**30]
    statuses = set()
    for _ in range(25):
        document = json.loads(whole)
        row = places.choice(document["facts"])
        row[places.choice(["name", "value", "value", "unit", "source"])] = places.choice(odd)
        target.write_text(json.dumps(document))
        done = run("explain", "cp-async-pipelining", "--from", target)
        assert done.status in (0, 2), (row, done.err)
        assert done.status == 0 or "\n  help: " in done.err
        statuses.add(done.status)
    assert statuses == {0, 2}


# Facts that do not fit together

EXTREMES = ["0", "-1", "1", "1e-320", "1e308", "-1e308", "0.5", "123456789012345678901234567890"]


def extreme(entry: Entry, places: random.Random) -> str:
    if entry.type == "bool":
        return places.choice(["true", "false"])
    if entry.type == "text":
        return places.choice(list(entry.values) or ["x", 'é "quoted"'])
    return places.choice(EXTREMES)


def test_any_facts_by_hand_give_a_report_or_a_named_error(places: random.Random) -> None:
    vocabulary = load_setting(Request(target="")).knowledge.vocabulary
    entries = [entry for entry in vocabulary.entries.values() if "*" not in entry.name]
    kernels = ["saxpy", "hgemm_30k", "hgemm_over_cliff", "sgemm_wide", "spilled"]
    reports = 0
    for _ in range(30):
        chosen = places.sample(entries, places.choice([1, 2, 5]))
        what_if = [f"{entry.name}={extreme(entry, places)}" for entry in chosen]
        id = places.choice(kernels)
        try:
            diagnosis = kneck.infer(str(cubin(id)), **options(id, what_if=what_if))
        except kneck.KneckError as error:
            assert error.help, what_if
            continue
        reports += 1
        json.loads(diagnosis.to_json(), parse_constant=pytest.fail)
        diagnosis.to_markdown()
        diagnosis.to_html()
        assert max(len(line) for line in diagnosis.to_text().splitlines()) <= 120, what_if
    assert reports > 15


@pytest.mark.parametrize("changed", ["", "baseline.time_ms=0", "baseline.time_ms=-1"])
@pytest.mark.parametrize("time_ms", [1e-320, 1e-300, 1e300])
def test_any_time_gives_a_report(time_ms: float, changed: str) -> None:
    for id in ("saxpy", "hgemm_30k"):
        given = options(id, time_ms=time_ms, what_if=[changed] if changed else [])
        diagnosis = kneck.infer(str(cubin(id)), **given)
        json.loads(diagnosis.to_json(), parse_constant=pytest.fail)
        assert diagnosis.to_text()


def test_sizes_beyond_any_hardware_are_refused_and_large_ones_do_not_launch() -> None:
    done = run("infer", cubin("saxpy"), "--block", "256", "--dynamic-smem", "9" * 400)
    assert (done.status, done.err) == (
        2,
        "error: --dynamic-smem: a number of 400 digits is no size\n"
        "  help: give a size that hardware could have\n",
    )
    large = run("infer", cubin("saxpy"), "--block", "256", "--dynamic-smem", "9" * 18)
    assert (large.status, large.err) == (0, "")
    assert "launch-fails" in large.out


def test_no_test_kernel_is_too_odd_for_the_manifest() -> None:
    assert len(manifest()) > 90
