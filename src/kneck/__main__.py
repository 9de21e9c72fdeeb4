"""`python -m kneck` is the command `kneck`."""

import sys

from kneck.engine.cli import main

sys.exit(main())
