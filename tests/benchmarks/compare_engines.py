"""Compare durable_rules with the evaluator on random knowledge bases: `compare_engines.py [N]`.

Each knowledge base is run on five fact sets. A difference ends the script with its seed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.engine.random_knowledge import facts, knowledge  # noqa: E402

from kneck.engine.infer import infer  # noqa: E402
from kneck.engine.rete import EngineError  # noqa: E402
from kneck.parsers.errors import KneckError  # noqa: E402


def main(count: int) -> None:
    runs = fired = undecided = 0
    start = time.perf_counter()
    for seed in range(count):
        random = Random(seed)
        rules = knowledge(random)
        for _ in range(5):
            try:
                inference = infer(facts(random), rules)
            except (EngineError, KneckError) as error:
                raise SystemExit(f"seed {seed}: {error!r}") from error
            runs += 1
            states = [outcome.state for outcome in inference.outcomes.values()]
            fired += states.count("fired")
            undecided += states.count("undecided")
    seconds = time.perf_counter() - start
    print(f"{count} knowledge bases, {runs} inferences, {fired} firings, {undecided} undecided")
    print(f"0 differences, {seconds:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
