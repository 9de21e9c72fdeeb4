"""One iteration of the K-tile loop counted by emulation, where the code leaves it open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kneck.engine.session import diagnose_with
from kneck.engine.truth.verdicts import ask, request_for
from kneck.facts.model import FactBase

from ..truth.analysis import setting, truth


def facts(name: str) -> FactBase:
    return ask(truth().kernel(name), truth(), setting(), with_arguments=True).facts


def test_a_copy_loop_inside_of_the_tile_loop_is_counted() -> None:
    # 128 threads copy 64 rows of A and 128 of B, 32 halves each: 192 x 64 B = 12,288 B
    found = facts("hgemm_padded")
    assert found.number("tile.load_bytes") == pytest.approx(12_288 / 128)
    assert found.number("tile.load_ops") == pytest.approx(12_288 / 128 / 16)
    assert found.number("tile.load_registers") == pytest.approx(12_288 / 128 / 4)
    assert found.facts["tile.load_ops"].source.kind == "emulated"


def test_a_loop_that_the_code_settles_keeps_its_count() -> None:
    found = facts("sgemm_vector")
    assert found.facts["tile.load_ops"].source.kind == "sass"
    assert found.number("tile.load_ops") == 2


def test_what_follows_from_the_counts_is_known_as_well() -> None:
    found = facts("hgemm_padded")
    assert found.number("tile.ratio") == pytest.approx(32 / 6)
    assert found.number("latency.bytes_in_flight") is not None


def test_without_a_launch_they_stay_unknown() -> None:
    request = request_for(truth().kernel("hgemm_padded"), truth(), with_arguments=False)
    result = diagnose_with(replace(request, grid=None, block=None), setting())
    assert result.facts.number("tile.load_ops") is None
