"""Figures that PVLDB 2012 prints: Figures 3 and 5 and in Table 2, errors without data, at 2048 cells.

The figures are drawings; of them stands here what the text of section 5 says. Relative errors depend on the
paper's tables of people and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAPER_CELLS = 2048
EPSILON, DELTA = 0.5, 1e-4


@dataclass(frozen=True)
class Printed:
    """A row of Table 2: error over that of the eigen-strategy, and the bound over it.

    best, worst : name and factor of the best and the worst rival.
    """

    best: tuple[str, float]
    worst: tuple[str, float]
    bound: float

    @property
    def factors(self) -> dict[str, float]:
        """By name of the rival."""
        return dict((self.best, self.worst))


TABLE_2: Mapping[str, Printed] = {
    "permuted": Printed(("Wav.", 9.62), ("Hier.", 13.16), 0.99),
    "1-way": Printed(("Cube", 1.30), ("Four.", 7.69), 0.98),
    "2-way": Printed(("Hier.", 1.63), ("Four.", 3.23), 0.95),
    "CDF": Printed(("Wav.", 1.01), ("Hier.", 1.01), 0.80),
    "predicates": Printed(("Wav.", 1.39), ("Four.", 1.94), 1.00),
}

GAINS: Mapping[str, tuple[float, float]] = {"ranges": (1.2, 2.1), "marginals": (1.3, 2.2)}
"""Least and largest factor over the best rival in Figure 3 (a) and (c), section 5.1."""

FROM_BOUND: Mapping[str, float] = {"ranges": 1.3, "marginals": 1.0}
"""The eigen-strategy over the bound in Figure 3, at most (section 5.1)."""

LARGEST: Mapping[str, float] = {"Hier.": 2.7, "Wav.": 2.6, "Four.": 6.2, "Cube": 3.2}
"""Largest factors over each rival, on ranges and on marginals, in the introduction."""

FIGURE_5: Mapping[tuple[str, str], str] = {
    ("ranges", "as is"): "1.2",
    ("ranges", "permuted"): "> 4",
    ("marginals", "as is"): "1",
    ("marginals", "permuted"): "> 1",
}
"""Wavelet and Fourier design queries over eigen-queries, section 5.3."""

FOOTNOTES: Mapping[str, tuple[str, ...]] = {
    "ranges": (
        "How many random ranges there are is not printed; here a quarter as many as cells, with "
        "uniform ends on every attribute. With more of them all factors fall and the eigen-strategy"
        " is nearer to the bound.",
    ),
    "marginals": (
        "Four. (without the coefficients that no query needs) and Cube (with least squares on all "
        "that is measured) are nearer to the optimum than in print. With the whole Fourier basis, "
        "which is noise on the cells, Four. would be column cells: 6.9 for 2-way marginals of 2^11 "
        "cells, 6.2 in the text.",
        "A dash: more unions of marginals than are searched. Which marginals are sampled is not "
        "printed; here as many as attributes, any sets of them.",
    ),
    "2": (
        "1-way, 2-way: ranges on the margins of three attributes. At 2048 cells they are those of "
        "the paper's census data, 16x16x8, and Hier. and the bounds agree. Four. of print lies "
        "between the basis without the coefficients that no query needs (here) and the whole basis "
        "(column cells); no reading of it gives its figures (programs/ERRATA.md). Cube of print is "
        "5 % above least squares from the same marginals (here); with that, Hier. is best in 2-way as "
        "in print.",
        "CDF: the eigen-strategy of print is 1 to 2 % better than the best weights of the eigen-"
        "queries with completed columns; other weights are better once columns are completed "
        "(programs/ERRATA.md).",
        "predicates: Wav. and Four. of print are exchanged (programs/ERRATA.md). Their number is "
        "not printed; here eight for each cell.",
    ),
    "5": (
        "Fourier: the basis of the bits of a cell's number; real Fourier: sines and cosines, which "
        "are not in the paper, and are better than the eigen-queries on ranges. The weights are "
        "those of Program 1.",
    ),
}
"""What explains a figure that is not ours."""
