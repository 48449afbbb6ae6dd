"""A generated survey for workload.yaml: python examples/marginals/population.py [ROWS [FILE]]

One row per person, drawn at random from made-up shares with a fixed seed. Nobody in it exists, and nothing
can be learnt from it; it is there so that a release has something to count.
"""

from __future__ import annotations

import numpy as np

from mmopt.testing.script_commands import write_columns

ROWS = 100_000
RACES = {"White": 0.72, "Black": 0.13, "Asian": 0.06, "Native": 0.01, "Other": 0.08}


def columns(rows: int, seed: int = 2022) -> dict[str, np.ndarray]:
    """Columns of the table, (rows,) each, coded as workload.yaml says."""
    rng = np.random.default_rng(seed)
    education = rng.binomial(15, 0.6, size=rows)
    return {
        "sex": rng.choice(["Female", "Male"], size=rows),
        "race": rng.choice(list(RACES), p=list(RACES.values()), size=rows),
        "education": education,
        "income": np.round(rng.gamma(2.0, 10.0 + 2.0 * education), 1),
        "age": rng.integers(16, 91, size=rows),
    }


if __name__ == "__main__":
    write_columns(columns, ROWS, "survey.csv")
