"""Loosening lengthens the stalls it is asked to, changes nothing else, and is reproducible."""

import importlib.util
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loosen_script", HERE / "loosen.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = load_script()
RECIPES: list[dict[str, Any]] = list(script.recipes())


def words(cubin: bytes, kernel: str) -> list[tuple[int, int]]:
    offset, size = script.section(cubin, f".text.{kernel}")
    return [struct.unpack_from("<QQ", cubin, offset + at) for at in range(0, size, 16)]


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe["id"] for recipe in RECIPES])
def test_the_committed_cubin_is_what_the_script_writes(recipe: dict[str, Any]) -> None:
    assert (HERE / recipe["cubin"]).read_bytes() == script.apply(recipe)


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe["id"] for recipe in RECIPES])
def test_only_control_bits_differ_and_no_stall_gets_shorter(recipe: dict[str, Any]) -> None:
    base = (HERE / recipe["from"]).read_bytes()
    loose = (HERE / recipe["cubin"]).read_bytes()
    assert len(base) == len(loose)
    offset, size = script.section(base, f".text.{recipe['kernel']}")
    assert base[:offset] == loose[:offset]
    assert base[offset + size :] == loose[offset + size :]
    stall_and_yield = 0x1F << 41
    for (low, high), (loose_low, loose_high) in zip(
        words(base, recipe["kernel"]), words(loose, recipe["kernel"]), strict=True
    ):
        assert low == loose_low
        assert high & ~stall_and_yield == loose_high & ~stall_and_yield
        assert high >> 41 & 0xF <= loose_high >> 41 & 0xF


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe["id"] for recipe in RECIPES])
def test_every_named_instruction_in_the_range_has_the_stall(recipe: dict[str, Any]) -> None:
    loose = words((HERE / recipe["cubin"]).read_bytes(), recipe["kernel"])
    for change in (script.Change(**change) for change in recipe["changes"]):
        stalls = {
            high >> 41 & 0xF
            for index, (low, high) in enumerate(loose)
            if low & 0x1FF == script.OPERATIONS[change.opcode]
            and change.first <= index * 16 <= change.last
        }
        assert stalls == {change.stall}


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="text.nothing"):
        script.loosen((HERE / RECIPES[0]["from"]).read_bytes(), "nothing", [])
