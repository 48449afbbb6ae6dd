"""A generated survey for workload.yaml: python examples/marginals/population.py [ROWS [FILE]]

One row per person, drawn at random from made-up shares with a fixed seed. Nobody in it exists, and nothing
can be learnt from it; it is there so that a release has something to count.
"""

from __future__ import annotations

import sys

import numpy as np

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


def main(rows: str = str(ROWS), path: str = "survey.csv") -> None:
    """Write so many rows of the table to a CSV file."""
    table = columns(int(rows))
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(table) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in zip(*table.values(), strict=True))
    print(f"{int(rows):,} rows: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
