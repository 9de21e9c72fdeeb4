"""The rooms install under kneck and nowhere else."""

import subprocess
import sys

import pytest

ROOMS = ["facts", "rules", "engine", "parsers", "kb"]


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_found_under_kneck_only(room: str) -> None:
    probe = f"""
from importlib.util import find_spec
assert find_spec("kneck.{room}")
assert not find_spec("{room}")
"""
    subprocess.run([sys.executable, "-P", "-c", probe], cwd="/", check=True)
