"""The pages for those who write rules and architectures, followed from an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from .cases import ROOT, run

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"`(my-kb/[\w/.-]+\.yaml)`")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def files_of(text: str) -> list[tuple[Path, str]]:
    """Give each YAML block with the file that the text before it names."""
    found = []
    for block in BLOCK.finditer(text):
        if block[1] == "yaml":
            named = FILE.findall(text[: block.start()])
            found.append((Path(named[-1]), block[2]))
    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_first_rule_of_the_page_passes_the_checks_and_takes_part() -> None:
    path, text = files_of(page("rules.md"))[0]
    write(path, text)
    assert run("kb", "check", "my-kb").status == 0
    shown = run("kb", "show", "fewer-barriers-here", "--kb", "my-kb").out
    assert "my-kb/strategies/fewer-barriers-here.yaml" in shown
    said = run("infer", "example:hgemm-30k", "--kb", "my-kb")
    assert (said.status, said.err) == (0, "")
    assert "fewer-barriers-here" in run("infer", "example:hgemm-30k", "--kb", "my-kb").out


def test_all_files_of_the_page_pass_the_checks_together() -> None:
    files = files_of(page("rules.md"))
    assert len(files) > 2
    for path, text in files:
        write(path, text)
    done = run("kb", "check", "my-kb")
    assert (done.status, done.err) == (0, "")


def test_the_commands_for_an_architecture_work_one_after_the_other() -> None:
    lines = [
        line
        for block in BLOCK.finditer(page("architectures.md"))
        for line in block[2].splitlines()
        if line.startswith("kneck ")
    ]
    tried = [line for line in lines if "KERNEL" not in line]
    assert len(tried) == len(lines) - 1
    for line in tried:
        done = run(*shlex.split(line)[1:])
        assert (done.status, done.err) == (0, ""), line
    device = Path("kneck-kb", "devices", "my-gpu.yaml")
    text = device.read_text(encoding="utf-8")
    write(device, re.sub(r"(?m)^arch: sm_\d+$", "arch: sm_99", text))
    assert run("kb", "check", "kneck-kb").status == 0
    assert "sm_99" in run("kb", "list", "--kb", "kneck-kb").out
