"""`kb/scan.yaml`: every name in it is a fact or a rule, and the page describes every finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.engine.knowledge import load_setting
from kneck.engine.scan import settings
from kneck.engine.scan.settings import Measure, scan_settings
from kneck.facts.request import Request
from kneck.parsers.errors import KnowledgeError
from kneck.rules.overlay import KnowledgeFolder, shipped_folder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scan.md"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  - loads.narrow\n", "  - loads.narow\n", 'unknown fact "loads.narow"'),
        ("when: scan.smem_to_cliff < 0", "when: scan.smem_to_clif < 0", "scan.smem_to_clif"),
        ("  avoid-fp64:", "  avoid-fp65:", 'there is no rule "avoid-fp65"'),
        ("worse: higher", "worse: larger", "worse"),
        ("level: note", "level: nit", "level"),
    ],
)
def test_a_fault_in_the_file_is_named_with_its_place(
    old: str, new: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (shipped_folder().path / settings.FILE).read_text("utf-8")
    assert old in text
    (tmp_path / settings.FILE).write_text(text.replace(old, new, 1), "utf-8")
    knowledge = load_setting(Request(target="")).knowledge
    monkeypatch.setattr(settings, "shipped_folder", lambda: KnowledgeFolder("kb", str(tmp_path)))
    with pytest.raises(KnowledgeError, match=told.replace(".", r"\.")) as raised:
        scan_settings(knowledge)
    assert raised.value.place is not None and raised.value.place.line > 0


def test_the_page_describes_every_finding() -> None:
    page = PAGE.read_text("utf-8")
    for finding in scan_settings(load_setting(Request(target="")).knowledge).findings:
        assert f"`{finding.id}`" in page


def test_what_is_unknown_on_one_side_is_no_regression() -> None:
    registers, ratio = Measure("registers", True), Measure("ratio", False)
    assert registers.is_worse(40, 41) and not registers.is_worse(41, 40)
    assert ratio.is_worse(8.0, 4.0) and not ratio.is_worse(4.0, 8.0)
    assert not registers.is_worse(None, 41) and not registers.is_worse(40, None)
