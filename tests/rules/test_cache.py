"""The cache of the checked knowledge base: the same knowledge, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kneck.parsers.errors import KnowledgeError
from kneck.rules import cache
from kneck.rules.cache import load_knowledge
from kneck.rules.freeze import knowledge_to_json
from kneck.rules.load import load
from kneck.rules.model import Knowledge
from kneck.rules.overlay import KnowledgeFolder, knowledge_folders

from ..engine.knowledge import VOCABULARY, write_folder
from .test_faults import GOOD, OTHERS


@pytest.fixture
def folder(tmp_path: Path) -> KnowledgeFolder:
    files = {"vocabulary.yaml": VOCABULARY, "strategies/use.yaml": GOOD, **OTHERS}
    return write_folder(tmp_path / "base", files)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": f"{tmp_path}/cache"}


def as_json(knowledge: Knowledge) -> str:
    return json.dumps(knowledge_to_json(knowledge))


def cached(environ: dict[str, str]) -> list[Path]:
    return sorted(Path(environ["XDG_CACHE_HOME"], "kneck").glob("*"))


def test_the_cache_gives_the_same_knowledge(
    folder: KnowledgeFolder, environ: dict[str, str]
) -> None:
    fresh = load([folder])
    assert as_json(load_knowledge([folder], environ)) == as_json(fresh)
    assert len(cached(environ)) == 1
    kept = load_knowledge([folder], environ)
    assert as_json(kept) == as_json(fresh)
    assert kept.rules == fresh.rules
    assert kept.vocabulary == fresh.vocabulary


def test_the_shipped_knowledge_survives_the_cache(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CHECKED", str(tmp_path / "no build was here"))
    folders = knowledge_folders((), {})
    fresh = load(folders)
    load_knowledge(folders, environ)
    kept = load_knowledge(folders, environ)
    assert (kept.rules, kept.method, kept.folders) == (fresh.rules, fresh.method, fresh.folders)


def test_what_the_build_checked_is_read_where_the_cache_is_empty(
    folder: KnowledgeFolder, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = load_knowledge([folder], environ)
    monkeypatch.setattr(cache, "CHECKED", str(cached(environ)[0].parent))
    monkeypatch.setattr("kneck.rules.load.load", lambda _: pytest.fail("read again"))
    kept = load_knowledge([folder], {"KNECK_CACHE_DIR": "off"})
    assert as_json(kept) == as_json(fresh)


def test_a_warm_cache_needs_no_parser(folder: KnowledgeFolder, environ: dict[str, str]) -> None:
    load_knowledge([folder], environ)
    code = f"""
import sys
from kneck.rules.cache import load_knowledge
from kneck.rules.overlay import KnowledgeFolder
from kneck.engine.infer import infer
from kneck.facts.model import FactBase
knowledge = load_knowledge([KnowledgeFolder("base", {folder.root!r})])
infer(FactBase(), knowledge)
heavy = {{"yaml", "lark", "pydantic", "networkx", "numpy", "durable", "click", "pathlib"}}
print(sorted(heavy & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ, "KNECK_CACHE_DIR": f"{environ['XDG_CACHE_HOME']}/kneck"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "null",
        "[1, 2]",
        "{}",
        '{"rules": [[1]]}',
        "\x00\xff",
        '{"entries": 3}',
        "[" * 99_999,
    ],
)
def test_a_damaged_cache_is_ignored(
    content: str, folder: KnowledgeFolder, environ: dict[str, str]
) -> None:
    wanted = as_json(load_knowledge([folder], environ))
    cached(environ)[0].write_text(content, encoding="latin-1")
    assert as_json(load_knowledge([folder], environ)) == wanted
    assert as_json(load_knowledge([folder], environ)) == wanted


def test_a_cut_cache_is_ignored(folder: KnowledgeFolder, environ: dict[str, str]) -> None:
    wanted = as_json(load_knowledge([folder], environ))
    file = cached(environ)[0]
    whole = file.read_text()
    for length in range(0, len(whole), len(whole) // 20):
        file.write_text(whole[:length])
        assert as_json(load_knowledge([folder], environ)) == wanted


def test_a_change_of_any_file_is_seen(folder: KnowledgeFolder, environ: dict[str, str]) -> None:
    load_knowledge([folder], environ)
    file = folder.path / "strategies/use.yaml"
    file.write_text(GOOD.replace("35 %", "36 %"), encoding="utf-8")
    rule = load_knowledge([folder], environ).by_id["use-cp-async"]
    assert rule.gain is not None and str(rule.gain.high) == "36 %"
    file.write_text(GOOD.replace("measured", "mesured"), encoding="utf-8")
    with pytest.raises(KnowledgeError, match="status is not one of"):
        load_knowledge([folder], environ)


def test_without_a_place_for_the_cache_the_folders_are_read(
    folder: KnowledgeFolder, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    for environ in ({}, {"XDG_CACHE_HOME": "relative"}, {"XDG_CACHE_HOME": f"{tmp_path}/file"}):
        assert load_knowledge([folder], environ).by_id["use-cp-async"].kind == "strategy"


def test_nothing_but_the_finished_file_stays(
    folder: KnowledgeFolder, environ: dict[str, str]
) -> None:
    load_knowledge([folder], environ)
    (file,) = cached(environ)
    assert file.suffix == ".json"


def test_one_variable_moves_every_cache_or_switches_it_off(
    folder: KnowledgeFolder, environ: dict[str, str], tmp_path: Path
) -> None:
    for name in ("", "off"):
        load_knowledge([folder], {**environ, "KNECK_CACHE_DIR": name})
        assert cached(environ) == []
    load_knowledge([folder], {**environ, "KNECK_CACHE_DIR": f"{tmp_path}/elsewhere"})
    assert cached(environ) == []
    assert len(list(Path(f"{tmp_path}/elsewhere").iterdir())) == 1


def test_old_caches_are_removed(folder: KnowledgeFolder, environ: dict[str, str]) -> None:
    file = folder.path / "strategies/use.yaml"
    for number in range(12):
        file.write_text(GOOD.replace("35 %", f"{number + 20} %"), encoding="utf-8")
        load_knowledge([folder], environ)
    assert len(cached(environ)) == 8
