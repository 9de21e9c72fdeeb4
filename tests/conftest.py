"""Every test run has a cache, a home of settings and a knowledge path of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

# A test says what is true; how long one example takes is the machine's business.
settings.register_profile("kneck", deadline=None)
settings.load_profile("kneck")


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache, overlays and environment out of the tests.

    The workers of one run share the cache, so that each cubin is disassembled once.
    """
    base = tmp_path_factory.getbasetemp()
    run = base.parent if base.name.startswith("popen-") else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNECK_CACHE_DIR", str(run / "kneck-cache"))
        patch.setenv("XDG_CONFIG_HOME", str(run / "kneck-settings"))
        patch.delenv("KNECK_KB", raising=False)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU on a machine that has none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (reason := _no_gpu()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _no_gpu() -> str:
    from kneck.facts.gpu import Gpu
    from kneck.parsers.errors import KneckError

    try:
        with Gpu():
            return ""
    except KneckError as error:
        return error.what
