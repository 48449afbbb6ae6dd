"""A generated population for workload.yaml: python examples/sf1-like/population.py [ROWS [FILE]]

One row per person, drawn at random from made-up shares with a fixed seed. Nobody in it exists, and nothing
can be learnt from it; it is there so that a release has something to count.
"""

from __future__ import annotations

import sys

import numpy as np

ROWS = 1_000_000
ALONE = [1, 2, 4, 8, 16, 32]
SHARES = [0.70, 0.13, 0.01, 0.06, 0.01, 0.06]


def columns(rows: int, seed: int = 2010) -> dict[str, np.ndarray]:
    """Columns of the table, (rows,) each, coded as workload.yaml says."""
    rng = np.random.default_rng(seed)
    race = rng.choice(ALONE, p=[share / sum(SHARES) for share in SHARES], size=rows)
    second = rng.random(rows) < 0.03
    race = np.where(second, race | rng.choice(ALONE, size=rows), race)
    return {
        "sex": rng.choice(["Female", "Male"], size=rows),
        "hispanic": (rng.random(rows) < 0.16).astype(int),
        "race": race,
        "relationship": rng.choice(17, size=rows),
        "age": np.minimum(114, np.abs(rng.normal(0.0, 45.0, size=rows))).astype(int),
    }


def main(rows: str = str(ROWS), path: str = "population.csv") -> None:
    """Write so many rows of the table to a CSV file."""
    table = columns(int(rows))
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(table) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in zip(*table.values(), strict=True))
    print(f"{int(rows):,} rows: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
