"""The workloads, and the figures that others reach on them.

The others' figures were measured on these workloads with the noise and the units of the row: HDMM and
ResidualPlanner as their authors publish them, jax_privacy's dense factorization (at 1,024 cells its Toeplitz
one, as the dense one did not end), in November 2026. They are values of errors, which do not depend on the
machine; HDMM's are the best of its starts. QuerySmasher's are those of its authors' program (arXiv
2604.00868), with numpy in place of torch; its search ends up to 1e-4 above the optimum of what it looks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mmopt import OptionError, Workload
from mmopt.errors import suggest
from mmopt.testing.census_workloads import census, marginals, products_on
from mmopt.workloads.blocks import factor_blocks as f


@dataclass(frozen=True)
class Row:
    """One workload, and what solves it.

    group, name : as the command line takes and shows them.
    program : that solves it, or ``templates`` for the best of ``mmopt.driver.templates`` under Laplace noise.
    peers : what is compared, as others reach it; lower is better.
    figure : what that is, ``objective`` or ``rmse``.
    baselines : those of the peers that are baselines of ``mmopt.strategies.baselines``, by its names.
    """

    group: str
    name: str
    program: str
    build: Callable[[], Workload]
    peers: Mapping[str, float]
    figure: str = "objective"
    baselines: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The best of the peers."""
        return min(self.peers, key=self.peers.__getitem__)


def line(kind: str, n: int, target: float = math.inf) -> Workload:
    """Prefix sums or all ranges of one attribute."""
    return products_on((n,), [(0,)], {"prefix": f.prefix, "all ranges": f.all_range}[kind], target)


def prefixes(size: int, attributes: int) -> Workload:
    """All prefixes of one attribute and of two, of equal attributes."""
    chosen = range(attributes)
    sets = [own for ways in (1, 2) for own in itertools.combinations(chosen, ways)]
    return products_on((size,) * attributes, sets, f.prefix)


TOTAL_ERROR = {
    ("prefix", 64): 282.2014,
    ("prefix", 256): 1631.403,
    ("prefix", 512): 3842.165,
    ("prefix", 1024): 8944.331,
    ("all ranges", 64): 11024.38,
    ("all ranges", 256): 276929.3,
    ("all ranges", 1024): 6484329.2,
}
LARGEST_ERROR = {64: 4.78127, 1024: 10.7096}
ADULT = (2, 5, 16, 20, 75)
WAYS = {"2-way": (2,), "≤2-way": (0, 1, 2), "≤3-way": (0, 1, 2, 3), "all": (0, 1, 2, 3, 4, 5)}
MARGINALS = {  # HDMM, ResidualPlanner
    "2-way": (21302.88, 20682.04),
    "≤2-way": (23623.0, 23560.71),
    "≤3-way": (312078.0, 311984.60),
    "all": (1801075.0, 1800173.09),
}
SUMS = {10: 10888529.55, 20: 839859903.0, 50: 2.26899e11}
LARGEST = {5: 17.262209, 10: 105.030804, 20: 768.94140}
SMASHED = {(10, 2): 818.93, (6, 3): 1015.82, (10, 10): 440290.0, (10, 20): 6205606.0}
LAPLACE = {
    ("prefix", 64): 3.7641,
    ("prefix", 128): 4.4524,
    ("prefix", 256): 5.2245,
    ("prefix", 512): 5.9835,
    ("prefix", 1024): 6.7888,
    ("all ranges", 64): 3.9278,
    ("all ranges", 128): 4.7526,
    ("all ranges", 256): 5.7111,
    ("all ranges", 1024): 7.8359,
}
LAPLACE_MARGINALS = {"2-way": 6.3456, "≤3-way": 6.8454, "all": 3.9246}
CENSUS = "SF1-like, 500,480 cells"

LONG = "slides-large"
"""The group that only runs by name: it takes half an hour."""

# "Error on Prefix workload" of the slides: the errors of these over HDMM's, by number of cells.
SLIDES = {
    "Identity": "identity",
    "H2": "hierarchical(branching=2)",
    "Privelet": "wavelet",
    "HB": "hierarchical",
    "GreedyH": "greedy_h",
}
RATIOS = {
    128: (1.80, 1.79, 1.78, 1.80, 1.20),
    256: (2.18, 1.79, 1.78, 1.22, 1.24),
    512: (2.68, 1.80, 1.79, 1.28, 1.41),
    1024: (3.34, 1.80, 1.80, 1.34, 1.49),
    2048: (4.18, 1.80, 1.79, 1.42, 1.71),
    4096: (5.25, 1.78, 1.78, 1.22, 1.84),
    8192: (6.40, 1.71, 1.70, 1.20, 2.09),
}
MINUTES = 4096  # cells from which on a row takes minutes


def slide(n: int) -> Row:
    """The errors that the ratios stand for: the identity's on prefix sums is √((n + 1) / 2) per query."""
    ratios = dict(zip(("HDMM", *SLIDES), (1.0, *RATIOS[n]), strict=True))
    hdmm = ((n + 1) / 2) ** 0.5 / ratios["Identity"]
    peers = {name: ratio * hdmm for name, ratio in ratios.items()}
    group = "slides" if n < MINUTES else LONG
    return Row(group, f"prefix {n}", "p_identity", partial(line, "prefix", n), peers, "rmse", SLIDES)


FIGURES: Mapping[str, str] = {
    "total error": "total squared error, Gaussian noise",
    "largest error": "privacy cost when every variance is 1, Gaussian noise",
    "marginals": "total squared error, or privacy cost where it says largest; Gaussian noise",
    "few attributes": "total squared error, Gaussian noise",
    "census": "root mean square error per query, Gaussian noise",
    "laplace": "root mean square error per query, Laplace noise",
    "slides": "the same, as two-digit ratios of the slides on HDMM imply it",
    LONG: "the same for 4096 and 8192 cells",
}
"""What is compared in each group, in words; for unit noise per unit of sensitivity."""

ROWS: tuple[Row, ...] = (
    *(
        Row("total error", f"{kind} {n}", "l2_strategy", partial(line, kind, n), {"HDMM": error})
        for (kind, n), error in TOTAL_ERROR.items()
    ),
    *(
        Row(
            "largest error",
            f"prefix {n}",
            "fitness_for_use",
            partial(line, "prefix", n, 1.0),
            {"jax_privacy": cost},
        )
        for n, cost in LARGEST_ERROR.items()
    ),
    *(
        Row(
            "marginals",
            f"{name} on 2x5x16x20x75",
            "l2_strategy",
            partial(marginals, ADULT, WAYS[name]),
            {"HDMM": hdmm, "ResidualPlanner": planner},
        )
        for name, (hdmm, planner) in MARGINALS.items()
    ),
    *(
        Row(
            "marginals",
            f"≤3-way on 10^{d}",
            "l2_strategy",
            partial(marginals, (10,) * d, WAYS["≤3-way"]),
            {"ResidualPlanner": error},
        )
        for d, error in SUMS.items()
    ),
    *(
        Row(
            "marginals",
            f"≤3-way on 10^{d}, largest",
            "fitness_for_use",
            partial(marginals, (10,) * d, WAYS["≤3-way"], target=1.0),
            {"ResidualPlanner": cost},
        )
        for d, cost in LARGEST.items()
    ),
    *(
        Row(
            "few attributes",
            f"≤2-way prefixes on {size}^{d}",
            "l2_strategy",
            partial(prefixes, size, d),
            {"QuerySmasher": error},
        )
        for (size, d), error in SMASHED.items()
    ),
    Row("census", CENSUS, "l2_strategy", census, {"HDMM": 2.3214}, "rmse"),
    *(
        Row("laplace", f"{kind} {n}", "p_identity", partial(line, kind, n), {"HDMM": error}, "rmse")
        for (kind, n), error in LAPLACE.items()
    ),
    *(
        Row(
            "laplace",
            f"{name} on 2x5x16x20x75",
            "templates",
            partial(marginals, ADULT, WAYS[name]),
            {"HDMM": error},
            "rmse",
        )
        for name, error in LAPLACE_MARGINALS.items()
    ),
    Row("laplace", CENSUS, "templates", census, {"HDMM": 5.1695}, "rmse"),
    *map(slide, RATIOS),
)


def rows_named(groups: Sequence[str] | None) -> tuple[Row, ...]:
    """The rows of these groups, by default all but ``LONG``; OptionError for a group that there is not."""
    for group in groups or ():
        if group not in FIGURES:
            raise OptionError(
                f"there is no group '{group}', expected one of {', '.join(FIGURES)}",
                hint=suggest(group, FIGURES),
            )
    return tuple(row for row in ROWS if (row.group != LONG if groups is None else row.group in groups))
