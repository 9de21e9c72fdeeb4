"""Knowledge folders: what is read, and how later ones are laid over earlier ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.parsers.errors import KneckError, KnowledgeError
from kneck.rules.hardware import load_architecture
from kneck.rules.load import check, load
from kneck.rules.model import Knowledge
from kneck.rules.new import new_files
from kneck.rules.overlay import KnowledgeFolder, knowledge_folders
from kneck.rules.pipes import load_pipes
from kneck.rules.values import typed_value
from kneck.rules.vocabulary import Entry, Vocabulary

from ..engine.knowledge import VOCABULARY, write_folder
from .test_faults import GOOD, OTHERS


def folder(path: Path, files: dict[str, str]) -> KnowledgeFolder:
    return write_folder(path, files)


def base(path: Path) -> KnowledgeFolder:
    files = {"vocabulary.yaml": VOCABULARY, "strategies/use.yaml": GOOD, **OTHERS}
    return folder(path / "base", files)


def strategy(knowledge: Knowledge) -> tuple[str, str, str]:
    rule = knowledge.by_id["use-cp-async"]
    return rule.title, rule.file, rule.status


def test_a_rule_remembers_where_it_stands(tmp_path: Path) -> None:
    rule = load([base(tmp_path)]).by_id["use-cp-async"]
    assert (rule.file, rule.line) == ("base/strategies/use.yaml", 1)
    assert [(c.text, c.line, c.column) for c in rule.conditions] == [
        ("roofline.side == memory", 7, 7),
        ("tile.ratio < tile.low", 8, 7),
        ("mix.LDGSTS.in_loop > 0", 10, 7),
    ]


def test_rules_come_after_the_rules_that_set_their_facts(tmp_path: Path) -> None:
    knowledge = load([base(tmp_path)])
    order = [rule.id for rule in knowledge.rules]
    assert order.index("memory-side") < order.index("use-cp-async")
    assert order.index("over") < order.index("over-cliff")
    assert knowledge.by_id["use-cp-async"].stratum == 1


def test_a_later_folder_replaces_a_rule_by_id(tmp_path: Path) -> None:
    changed = GOOD.replace("Overlap loads with compute", "Mine").replace("measured", "contested")
    mine = folder(tmp_path / "mine", {"strategies/other-name.yaml": changed})
    assert strategy(load([base(tmp_path), mine])) == (
        "Mine",
        "mine/strategies/other-name.yaml",
        "contested",
    )


def test_a_later_folder_adds_facts_and_rules(tmp_path: Path) -> None:
    mine = folder(
        tmp_path / "mine",
        {
            "vocabulary.yaml": "facts: {my.fact: {type: num, meaning: mine, from: me}}\n",
            "pitfalls/mine.yaml": OTHERS["pitfalls/over.yaml"]
            .replace("over-cliff", "mine")
            .replace("[smem.over_cliff]", "[my.fact > 1]")
            .replace("smem.over_cliff: true", "my.fact: 2")
            .replace("smem.over_cliff: false", "my.fact: 1"),
        },
    )
    knowledge = load([base(tmp_path), mine])
    assert {"mine", "over-cliff"} <= set(knowledge.by_id)
    assert [folder.name for folder in knowledge.folders] == ["base", "mine"]


def test_a_later_folder_may_not_turn_a_rule_into_another_kind(tmp_path: Path) -> None:
    pitfall = OTHERS["pitfalls/over.yaml"].replace("over-cliff", "use-cp-async")
    mine = folder(tmp_path / "mine", {"pitfalls/x.yaml": pitfall})
    with pytest.raises(KnowledgeError, match='"use-cp-async" is a pitfall here and a strategy at'):
        load([base(tmp_path), mine])


def test_the_folders_of_the_environment_come_before_those_of_the_command_line(
    tmp_path: Path,
) -> None:
    for name in ("one", "two", "three", "home/.config/kneck/kb"):
        (tmp_path / name).mkdir(parents=True)
    environ = {"KNECK_KB": f"{tmp_path}/one:{tmp_path}/two", "HOME": f"{tmp_path}/home"}
    found = knowledge_folders([f"{tmp_path}/three"], environ)
    assert [folder.name for folder in found] == [
        "kb",
        f"{tmp_path}/one",
        f"{tmp_path}/two",
        f"{tmp_path}/home/.config/kneck/kb",
        f"{tmp_path}/three",
    ]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="does not exist"):
        knowledge_folders([f"{tmp_path}/none"], {})


def test_an_overlay_called_kb_is_told_apart_from_the_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kb").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [folder.name for folder in knowledge_folders(["kb"], {})] == ["kb", "./kb"]


def entry(name: str, type: str = "num") -> Entry:
    return Entry(name, type, "", "", "", 0)  # type: ignore[arg-type]


def test_the_most_specific_entry_of_the_vocabulary_counts() -> None:
    names = ["arch.*", "arch.has_*", "arch.has_tma", "mix.*.in_loop", "mix.*"]
    vocabulary = Vocabulary({name: entry(name) for name in names}, {}, {})
    wanted = {
        "arch.has_tma": "arch.has_tma",
        "arch.has_wgmma": "arch.has_*",
        "arch.max_warps": "arch.*",
        "mix.HMMA.16816.F32.in_loop": "mix.*.in_loop",
        "mix.HMMA.count": "mix.*",
    }
    found = {name: e.name for name in wanted if (e := vocabulary.entry(name))}
    assert found == wanted
    assert "tile.ratio" not in vocabulary


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("num", "48 KiB", 49152),
        ("num", "0.5", 0.5),
        ("num", "60 %", 0.6),
        ("num", "-3", -3),
        ("bool", "true", True),
        ("text", "a b", "a b"),
    ],
)
def test_a_value_is_read_as_the_vocabulary_says(type: str, text: str, value: object) -> None:
    vocabulary = Vocabulary({"x": entry("x", type)}, {}, {})
    assert typed_value("x", text, vocabulary, None) == value


@pytest.mark.parametrize(
    ("type", "text"), [("num", "nan"), ("num", "1/0"), ("num", "true"), ("bool", "1")]
)
def test_a_value_of_another_type_is_refused(type: str, text: str) -> None:
    vocabulary = Vocabulary({"x": entry("x", type)}, {}, {})
    with pytest.raises(KnowledgeError):
        typed_value("x", text, vocabulary, None)


def test_a_name_that_is_taken_is_refused_with_the_path_as_reports_give_it(tmp_path: Path) -> None:
    with pytest.raises(KneckError, match=r"unroll has a file already: kb/strategies/unroll\.yaml"):
        new_files("strategy", "unroll", knowledge_folders())
    overlay = write_folder(tmp_path / "mine", {"strategies/widen.yaml": "[]"})
    with pytest.raises(KneckError, match=r"widen has a file already: mine/strategies/widen\.yaml"):
        new_files("strategy", "widen", (*knowledge_folders(), overlay))


def test_a_new_architecture_has_its_limits_and_its_pipes_and_passes_the_checks(
    tmp_path: Path,
) -> None:
    made = new_files("arch", "sm_99", knowledge_folders())
    assert sorted(map(str, made)) == ["architectures/sm_99.yaml", "pipes/sm_99.yaml"]
    overlay = write_folder(tmp_path / "mine", {str(path): text for path, text in made.items()})
    folders = [folder.path for folder in (*knowledge_folders(), overlay)]
    found = load_architecture("sm_99", folders)
    assert found is not None and found.name == "sm_99"
    pipes = load_pipes("sm_99", folders)
    assert pipes is not None and pipes.arch == "sm_99"
    assert check((*knowledge_folders(), overlay)) == []
