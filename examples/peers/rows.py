"""The workloads, and the figures that others reach on them.

The others' figures were measured on these workloads with the noise and the units of the row, in November
2026: HDMM, ResidualPlanner (on twenty attributes its second version), jax_privacy (its dense factorization,
at 1,024 cells its Toeplitz one as the dense one did not end, on streams BandMF) and OptimalDesign's REX as
their authors publish them; QuerySmasher (arXiv 2604.00868) with numpy in place of torch. Errors do not depend
on the machine; HDMM's are the best of its starts. Seconds are CPU seconds of one run on one thread of a
shared machine, good to a factor of two; where several starts gave the figure, of the fastest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from census_queries import census

from mmopt import OptionError, Workload
from mmopt.errors import suggest
from mmopt.testing.problem_registry import domain_of, marginals, products_on
from mmopt.workloads import Factor, Product, factors_and_products as f


@dataclass(frozen=True)
class Row:
    """One workload, and what solves it.

    group, name : as the command line takes and shows them.
    program : that solves it, or ``templates`` for the best of ``mmopt.driver.templates`` under Laplace noise.
    peers : what is compared, as others reach it; lower is better. None where nobody's figure is known.
    seconds : CPU seconds that these take, where known.
    figure : what is compared: ``objective``, ``rmse``, or ``volume``, of the log-determinant of an inverse.
    options : of ``mmopt.solve``.
    baselines : those of the peers that are baselines of ``mmopt.strategies.baselines``, by its names.
    is_small : solved in less than a second.
    """

    group: str
    name: str
    program: str
    build: Callable[[], Workload]
    peers: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    figure: str = "objective"
    options: Mapping[str, Any] = field(default_factory=dict)
    baselines: Mapping[str, str] = field(default_factory=dict)
    is_small: bool = False

    @property
    def best(self) -> str:
        """The best of the peers; "" where there is none."""
        return min(self.peers, key=self.peers.__getitem__, default="")


BLOCKS = {"prefix": f.prefix, "all ranges": f.all_range}


def box(kind: str, *sizes: int, target: float = math.inf) -> Workload:
    """Prefix sums or all ranges of all attributes together."""
    return products_on(sizes, [range(len(sizes))], BLOCKS[kind], target)


def up_to(ways: int, kind: str, sizes: Sequence[int], targets: Sequence[float] = (math.inf,) * 3) -> Workload:
    """Prefixes or ranges of each 1, 2, … ``ways`` attributes, with a target for each number of attributes."""
    products = []
    for way, target in zip(range(1, ways + 1), targets, strict=False):
        for own in itertools.combinations(range(len(sizes)), way):
            factors = ((BLOCKS[kind] if i in own else f.total)(n) for i, n in enumerate(sizes))
            products.append(Product(tuple(factors), target=target))
    return Workload.from_products(domain_of(*sizes), products)


def pairs(text: str) -> Workload:
    """Products of two of six attributes of eight values.

    In words, "aP b1, …": P is prefixes, R all ranges, I all values, 1 the first one.
    """
    kinds: dict[str, Callable[[int], Factor]] = {
        "P": f.prefix,
        "R": f.all_range,
        "I": f.identity,
        "1": lambda n: f.predicates(np.eye(1, n)),
    }
    products = []
    for words in text.split(", "):
        asked = {word[0]: kinds[word[1]] for word in words.split()}
        products.append(Product(tuple(asked.get(name, f.total)(8) for name in "abcdef")))
    return Workload.from_products(domain_of(*(8,) * 6), products)


def points() -> Workload:
    """1,000 random points of ten dimensions, for a design of experiments."""
    return Workload.from_matrix(np.random.default_rng(3).normal(size=(10, 1000)))


def steps(n: int) -> Workload:
    """The prefix sums of a stream."""
    return Workload.from_matrix(np.tri(n))


Known = tuple[float, float | None] | None
"""A figure of somebody else, and the CPU seconds that it takes."""

TOTAL_ERROR: Mapping[tuple[str, tuple[int, ...]], Known] = {  # HDMM
    ("prefix", (64,)): (282.2014, 0.04),
    ("prefix", (256,)): (1631.403, 1.18),
    ("prefix", (512,)): (3842.165, 8.1),
    ("prefix", (1024,)): (8944.331, 71.5),
    ("all ranges", (64,)): (11024.38, 0.02),
    ("all ranges", (256,)): (276929.3, 0.31),
    ("all ranges", (1024,)): (6484329.2, 22.6),
    ("all ranges", (32, 32)): (4594749.616, 0.008),
    ("all ranges", (64, 64)): (121536988.2, 0.022),
    ("all ranges", (128, 128)): (3109985381.0, 0.081),
    ("all ranges", (24, 24, 24)): None,
    ("prefix", (64, 64)): None,
}
LAPLACE: Mapping[tuple[str, int], Known] = {  # HDMM; the first three by 75 starts each
    ("prefix", 8): (2.12132, 0.5),
    ("prefix", 9): (2.19138, 0.5),
    ("prefix", 12): (2.36897, 0.7),
    ("prefix", 64): (3.7641, None),
    ("prefix", 128): (4.4524, None),
    ("prefix", 256): (5.1985, 0.32),
    ("prefix", 512): (5.9835, None),
    ("prefix", 1024): (6.7888, 13.6),
    ("all ranges", 64): (3.9278, None),
    ("all ranges", 128): (4.7526, None),
    ("all ranges", 256): (5.7111, None),
    ("all ranges", 1024): (7.8359, 17.0),
}
LARGEST_ERROR = {64: (4.78127, 14.0), 1024: (10.7096, 9.3)}  # jax_privacy
ADULT = (2, 5, 16, 20, 75)
WAYS = {"2-way": (2,), "≤2-way": (0, 1, 2), "≤3-way": (0, 1, 2, 3), "all": (0, 1, 2, 3, 4, 5)}
MARGINALS = {  # HDMM, ResidualPlanner
    "2-way": (21302.88, 20682.04),
    "≤2-way": (23623.0, 23560.71),
    "≤3-way": (312078.0, 311984.60),
    "all": (1801075.0, 1800173.09),
}
SUMS = {10: (10888529.55, 0.14), 20: (839859903.0, 0.14), 50: (2.26899e11, 24.0)}  # ResidualPlanner
LARGEST = {5: (17.262209, 0.05), 10: (105.030804, 0.16), 20: (768.94140, 1.0)}
MIXED = (2, 3, 5, 8, 12, 20, 30)
MANY = tuple(map(int, np.random.default_rng(3).integers(2, 31, 40)))
FEW: Sequence[tuple[str, int, str, Sequence[int], Known]] = (  # QuerySmasher
    ("10^2", 2, "prefix", (10,) * 2, (818.93, None)),
    ("6^3", 2, "prefix", (6,) * 3, (1015.82, None)),
    ("2x3x5x8x12x20x30", 2, "prefix", MIXED, (106407.0, 1.58)),
    ("10^10", 2, "prefix", (10,) * 10, (440296.0, 1.05)),
    ("10^20", 2, "prefix", (10,) * 20, (6205606.0, 37.0)),
    ("10^40", 2, "prefix", (10,) * 40, (8.901e7, 65.0)),
    ("40 mixed, 2 to 30", 2, "prefix", MANY, None),
    ("100x100x2x5x10", 2, "prefix", (100, 100, 2, 5, 10), None),
    ("4x7x9x13x6x5x11", 2, "all ranges", (4, 7, 9, 13, 6, 5, 11), None),
    ("8^8", 3, "prefix", (8,) * 8, None),
    ("10^10", 3, "prefix", (10,) * 10, None),
)
SEVERAL = {
    "one value by prefixes": ", ".join(
        f"{x}P {y}1" for x, y in itertools.permutations("abcdef", 2) if (ord(x) - ord(y)) % 2
    ),
    "different factors": "a1 bR, aR cI, aI dP, aP eP, aP f1, bR c1, bR dR, b1 eR, bR fR, cR d1, cI e1, "
    "cR fP, dI e1, dR fP, e1 fR",
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
    errors = {name: ratio * hdmm for name, ratio in ratios.items()}
    return Row(
        "slides" if n < MINUTES else LONG,
        f"prefix {n}",
        "p_identity",
        partial(box, "prefix", n),
        errors,
        figure="rmse",
        baselines=SLIDES,
    )


def beside(peer: str, known: Known, row: Row) -> Row:
    """The row with what is known of one peer."""
    if known is None:
        return row
    error, seconds = known
    return replace(row, peers={peer: error}, seconds={} if seconds is None else {peer: seconds})


FIGURES: Mapping[str, str] = {
    "total error": "total squared error, Gaussian noise",
    "largest error": "privacy cost when every variance is 1, Gaussian noise",
    "marginals": "total squared error, or privacy cost where it says largest; Gaussian noise",
    "few attributes": "total squared error, Gaussian noise",
    "targets": "largest variance, or privacy cost at the targets; Gaussian noise; a gap of 10 % is asked for",
    "census": "root mean square error per query, Gaussian noise",
    "streams": "total squared error, Gaussian noise",
    "designs": "determinant of the information to the power of -1/10",
    "laplace": "root mean square error per query, Laplace noise",
    "slides": "the same, as two-digit ratios of the slides on HDMM imply it",
    LONG: "the same for 4096 and 8192 cells",
}
"""What is compared in each group, in words; for unit noise per unit of sensitivity."""

ROWS: tuple[Row, ...] = (
    *(
        beside(
            "HDMM",
            error,
            Row(
                "total error",
                f"{kind} {'x'.join(map(str, sizes))}",
                "l2_strategy",
                partial(box, kind, *sizes),
                is_small=max(sizes) <= 64 and len(sizes) < 3,
            ),
        )
        for (kind, sizes), error in TOTAL_ERROR.items()
    ),
    *(
        beside(
            "jax_privacy",
            cost,
            Row(
                "largest error",
                f"prefix {n}",
                "fitness_for_use",
                partial(box, "prefix", n, target=1.0),
                is_small=n == 64,
            ),
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
            is_small=True,
        )
        for name, (hdmm, planner) in MARGINALS.items()
    ),
    *(
        beside(
            "ResidualPlanner",
            error,
            Row(
                "marginals",
                f"≤3-way on 10^{d}",
                "l2_strategy",
                partial(marginals, (10,) * d, WAYS["≤3-way"]),
            ),
        )
        for d, error in SUMS.items()
    ),
    *(
        beside(
            "ResidualPlanner",
            cost,
            Row(
                "marginals",
                f"≤3-way on 10^{d}, largest",
                "fitness_for_use",
                partial(marginals, (10,) * d, WAYS["≤3-way"], target=1.0),
            ),
        )
        for d, cost in LARGEST.items()
    ),
    *(
        beside(
            "QuerySmasher",
            error,
            Row(
                "few attributes",
                f"≤{ways}-way {'prefixes' if kind == 'prefix' else kind} on {name}",
                "l2_strategy",
                partial(up_to, ways, kind, sizes),
                is_small=math.prod(sizes) <= 6**3,
            ),
        )
        for name, ways, kind, sizes, error in FEW
    ),
    *(Row("few attributes", name, "l2_strategy", partial(pairs, text)) for name, text in SEVERAL.items()),
    *(
        Row(
            "targets",
            f"{asked}, ≤2-way prefixes on {name}",
            program,
            partial(up_to, 2, "prefix", sizes, targets),
            options={"tolerance": 0.1},
        )
        for name, sizes in (("10^10", (10,) * 10), ("2x3x5x8x12x20x30", MIXED))
        for asked, program, targets in (
            ("largest variance", "minimax_variance", (math.inf, math.inf)),
            ("equal targets", "fitness_for_use", (1.0, 1.0)),
            ("targets 1 and 4", "fitness_for_use", (1.0, 4.0)),
        )
    ),
    Row("census", CENSUS, "l2_strategy", census, {"HDMM": 2.3214}, {"HDMM": 0.95}, "rmse"),
    Row(
        "streams",
        "256 steps, 64 apart",
        "banded_strategy",
        partial(steps, 256),
        {"jax_privacy": 7518.4},
        {"jax_privacy": 3.6},
        options={"givens": {"b": 64}},
    ),
    Row(
        "designs",
        "D-optimal, 1,000 points of 10",
        "d_optimal_design",
        points,
        {"OptimalDesign": math.exp(-0.73172052195)},
        {"OptimalDesign": 0.72},
        "volume",
    ),
    *(
        beside(
            "HDMM",
            error,
            Row(
                "laplace",
                f"{kind} {n}",
                "l1_strategy" if n < 64 else "p_identity",
                partial(box, kind, n),
                figure="rmse",
                is_small=n == 64,
            ),
        )
        for (kind, n), error in LAPLACE.items()
    ),
    *(
        Row(
            "laplace",
            f"{name} on 2x5x16x20x75",
            "templates",
            partial(marginals, ADULT, WAYS[name]),
            {"HDMM": error},
            figure="rmse",
        )
        for name, error in LAPLACE_MARGINALS.items()
    ),
    Row("laplace", CENSUS, "templates", census, {"HDMM": 5.1695}, {"HDMM": 2.06}, "rmse"),
    *map(slide, RATIOS),
)


def rows_named(groups: Sequence[str] | None, small: bool = False) -> tuple[Row, ...]:
    """The rows of these groups, by default all but ``LONG``; the small ones alone where that is asked.

    OptionError for a group that there is not.
    """
    for group in groups or ():
        if group not in FIGURES:
            raise OptionError(
                f"there is no group '{group}', expected one of {', '.join(FIGURES)}",
                hint=suggest(group, FIGURES),
            )
    chosen = (row for row in ROWS if (row.group != LONG if groups is None else row.group in groups))
    return tuple(row for row in chosen if row.is_small or not small)
