"""Write a made-up population with skewed incomes: ``python population.py ROWS FILE.csv``."""

from __future__ import annotations

import csv
import sys

import numpy as np

WORK = ("none", "private", "public", "self", "family", "farm", "student", "retired")


def people(rows: int, seed: int = 0) -> list[tuple[int, int, str]]:
    """Age in years, income in thousands and kind of work of each person; few are rich, most earn wages."""
    rng = np.random.default_rng(seed)
    ages = np.clip(rng.normal(38, 19, rows), 0, 79).astype(int)
    working = (ages >= 18) & (ages < 65)
    incomes = np.where(working, rng.lognormal(3.3, 0.7, rows), rng.exponential(6.0, rows))
    kinds = np.where(
        ages < 18,
        rng.choice([0, 6], rows, p=[0.4, 0.6]),
        np.where(
            working,
            rng.choice(8, rows, p=[0.12, 0.6, 0.14, 0.09, 0.01, 0.01, 0.02, 0.01]),
            rng.choice([0, 1, 3, 7], rows, p=[0.05, 0.04, 0.03, 0.88]),
        ),
    )
    return [
        (int(age), int(min(income, 159)), WORK[kind])
        for age, income, kind in zip(ages, incomes, kinds, strict=True)
    ]


def main() -> None:
    rows, path = int(sys.argv[1]), sys.argv[2]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("age", "income", "work"))
        writer.writerows(people(rows))


if __name__ == "__main__":
    main()
