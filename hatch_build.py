"""The build's own step: the knowledge base is checked, and what was read of it goes along as JSON.

With it the first `kneck infer` after an installation need not read 250 YAML files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = "kb/checked"
READ_ALL = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "src"))
import kneck

kneck.__path__.append(sys.argv[1])  # the rooms stand beside src
from kneck.rules.bundle import load_hardware
from kneck.rules.cache import load_knowledge
from kneck.rules.overlay import shipped_folder

folders = (shipped_folder(),)
load_knowledge(folders)
hardware = load_hardware(folders)
hardware.devices, hardware.instructions, hardware.operands, hardware.problems
for name in hardware.architectures:
    hardware.pipes(name)
"""


class CheckedKnowledge(BuildHookInterface[Any]):
    """Write kb/checked before a wheel or an editable installation is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill the folder anew; a fault of the knowledge base ends the build with its message."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        target = root / TARGET
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "KNECK_CACHE_DIR": cache}
            command = [sys.executable, "-c", READ_ALL, str(root)]
            subprocess.run(command, env=environment, check=True)
            target.mkdir()
            for path in Path(cache).glob("*.json"):
                shutil.copyfile(path, target / path.name)
        build_data["artifacts"].append(f"{TARGET}/*.json")
