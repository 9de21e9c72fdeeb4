"""Print one of the two fenced commands of the README's section Start: `readme_commands.py 1`."""

import re
import sys
from pathlib import Path

readme = Path(__file__).parent.parent / "README.md"
section = re.search(r"^## Start\n(.*?)(?=^## |\Z)", readme.read_text(), re.M | re.S)
commands = re.findall(r"^```sh\n(.*?)^```", section.group(1) if section else "", re.M | re.S)
if len(commands) != 2:
    sys.exit(f"{readme}: section Start has {len(commands)} fenced commands, not two")
print(commands[int(sys.argv[1]) - 1], end="")
