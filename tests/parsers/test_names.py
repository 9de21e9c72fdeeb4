"""Readable names, and what a user may type for a kernel."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.parsers.names import demangle, find_name


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [
        ("_Z5saxpyifPKfPf", "saxpy(int, float, float const*, float*)"),
        (
            "_Z4workIdLi512EEvPKT_PS0_il",
            "void work<double, 512>(double const*, double*, int, long)",
        ),
        (
            "_ZN1a3lamIZ4mainEUlfE_EEvT_Pf",
            "void a::lam<main::{lambda(float)#1}>(main::{lambda(float)#1}, float*)",
        ),
        ("_ZN1a2enILNS_1EE1EXadL_ZNS_1gEEEEEvRA4_f", "void a::en<(a::E)1, &a::g>(float (&) [4])"),
        ("_ZN12_GLOBAL__N_14stepEPf", "(anonymous namespace)::step(float*)"),
        ("saxpy", "saxpy"),
        ("_QMsolverPstep_kernel", "_QMsolverPstep_kernel"),
        ("_Z", "_Z"),
        ("_Z9nonsense", "_Z9nonsense"),
    ],
)
def test_names_are_made_readable_or_stay_as_they_are(mangled: str, readable: str) -> None:
    assert demangle(mangled) == readable


def test_without_the_package_the_mangled_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "demangle", None)
    demangle.cache_clear()
    assert demangle("_Z5saxpyifPKfPf") == "_Z5saxpyifPKfPf"
    demangle.cache_clear()


@given(st.text(max_size=60).map(lambda tail: "_Z" + tail))
def test_any_name_ends_in_a_name(name: str) -> None:
    assert isinstance(demangle(name), str)


@given(st.text(alphabet="SIJEPKR_0123456789NStvifZT", max_size=200).map(lambda tail: "_Z1f" + tail))
def test_names_made_to_explode_do_not(name: str) -> None:
    assert len(demangle(name)) <= max(len(name), 1 << 16)


NAMES = [
    "_ZN2ns4workIfEEvPT_",
    "_ZN2ns4workIdEEvPT_",
    "_ZN2ns9work_tailIfEEvPT_",
    "_ZN12_GLOBAL__N_14stepEPf",
    "plain",
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("plain", ["plain"]),
        ("_ZN2ns4workIfEEvPT_", ["_ZN2ns4workIfEEvPT_"]),
        ("void ns::work<float>(float*)", ["_ZN2ns4workIfEEvPT_"]),
        ("ns::work<float>", ["_ZN2ns4workIfEEvPT_"]),
        ("work<float>", ["_ZN2ns4workIfEEvPT_"]),
        ("work", ["_ZN2ns4workIfEEvPT_", "_ZN2ns4workIdEEvPT_"]),
        ("work_tail", ["_ZN2ns9work_tailIfEEvPT_"]),
        ("tail", ["_ZN2ns9work_tailIfEEvPT_"]),
        ("(anonymous namespace)::step", ["_ZN12_GLOBAL__N_14stepEPf"]),
        ("step", ["_ZN12_GLOBAL__N_14stepEPf"]),
        ("<double>", ["_ZN2ns4workIdEEvPT_"]),
        ("nothing", []),
    ],
)
def test_the_best_kind_of_match_wins(wanted: str, found: list[str]) -> None:
    assert find_name(wanted, NAMES) == found
