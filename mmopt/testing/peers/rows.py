"""The workloads, and the figures that others reach on them.

The others' figures were measured on these workloads with the noise and the units of the row: HDMM and
ResidualPlanner as their authors publish them, jax_privacy's dense factorization (at 1,024 cells its Toeplitz
one, as the dense one did not end), in November 2026. They are values of errors, which do not depend on the
machine; HDMM's are the best of its starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from mmopt.errors import OptionError, suggest
from mmopt.testing.census import census, domain_of, marginals
from mmopt.workloads import Factor, Product, Workload
from mmopt.workloads.blocks import factor as f

__all__ = ["FIGURES", "ROWS", "Row", "rows_named"]

ADULT = (2, 5, 16, 20, 75)


@dataclass(frozen=True)
class Row:
    """One workload, and what solves it.

    group, name : as the command line takes and shows them.
    program : that solves it, or ``templates`` for the best of ``mmopt.driver.templates`` under Laplace noise.
    figure : what is compared, ``objective`` or ``rmse``.
    peers : that figure as others reach it; lower is better.
    baselines : those of the peers that are baselines of ``mmopt.strategies.baselines``, by its names.
    """

    group: str
    name: str
    program: str
    build: Callable[[], Workload]
    figure: str
    peers: Mapping[str, float]
    baselines: Mapping[str, str] = field(default_factory=dict)


def _line(block: Callable[[int], Factor], n: int, target: float = float("inf")) -> Workload:
    return Workload.from_products(domain_of(n), [Product((block(n),), target=target)])


def _total_error() -> list[Row]:
    hdmm = {
        ("prefix", 64): 282.2014,
        ("prefix", 256): 1631.403,
        ("prefix", 512): 3842.165,
        ("prefix", 1024): 8944.331,
        ("all ranges", 64): 11024.38,
        ("all ranges", 256): 276929.3,
        ("all ranges", 1024): 6484329.2,
    }
    blocks = {"prefix": f.prefix, "all ranges": f.all_range}
    return [
        Row(
            "total error",
            f"{kind} {n}",
            "l2_strategy",
            partial(_line, blocks[kind], n),
            "objective",
            {"HDMM": value},
        )
        for (kind, n), value in hdmm.items()
    ]


def _largest_error() -> list[Row]:
    build = partial(_line, f.prefix)
    return [
        Row(
            "largest error",
            f"prefix {n}",
            "fitness_for_use",
            partial(build, n, 1.0),
            "objective",
            {"jax_privacy": value},
        )
        for n, value in ((64, 4.78127), (1024, 10.7096))
    ]


def _marginals() -> list[Row]:
    adult = [
        ("2-way", (2,), 21302.88, 20682.04),
        ("≤2-way", (0, 1, 2), 23623.0, 23560.71),
        ("≤3-way", (0, 1, 2, 3), 312078.0, 311984.60),
        ("all", (0, 1, 2, 3, 4, 5), 1801075.0, 1800173.09),
    ]
    sums = {10: 10888529.55, 20: 839859903.0, 50: 2.26899e11}
    largest = {5: 17.262209, 10: 105.030804, 20: 768.94140}
    tens = partial(marginals, ways=(0, 1, 2, 3))
    return [
        *(
            Row(
                "marginals",
                f"{name} on 2x5x16x20x75",
                "l2_strategy",
                partial(marginals, ADULT, ways),
                "objective",
                {"HDMM": hdmm, "ResidualPlanner": planner},
            )
            for name, ways, hdmm, planner in adult
        ),
        *(
            Row(
                "marginals",
                f"≤3-way on 10^{d}",
                "l2_strategy",
                partial(tens, (10,) * d),
                "objective",
                {"ResidualPlanner": value},
            )
            for d, value in sums.items()
        ),
        *(
            Row(
                "marginals",
                f"≤3-way on 10^{d}, largest",
                "fitness_for_use",
                partial(tens, (10,) * d, target=1.0),
                "objective",
                {"ResidualPlanner": value},
            )
            for d, value in largest.items()
        ),
    ]


def _laplace() -> list[Row]:
    hdmm = {
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
    blocks = {"prefix": f.prefix, "all ranges": f.all_range}
    marginal = {(2,): 6.3456, (0, 1, 2, 3): 6.8454, (0, 1, 2, 3, 4, 5): 3.9246}
    names = {(2,): "2-way", (0, 1, 2, 3): "≤3-way", (0, 1, 2, 3, 4, 5): "all"}
    return [
        *(
            Row(
                "laplace",
                f"{kind} {n}",
                "p_identity",
                partial(_line, blocks[kind], n),
                "rmse",
                {"HDMM": value},
            )
            for (kind, n), value in hdmm.items()
        ),
        *(
            Row(
                "laplace",
                f"{names[ways]} on 2x5x16x20x75",
                "templates",
                partial(marginals, ADULT, ways),
                "rmse",
                {"HDMM": value},
            )
            for ways, value in marginal.items()
        ),
        Row("laplace", "SF1-like, 500,480 cells", "templates", census, "rmse", {"HDMM": 5.1695}),
    ]


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


def _slides() -> list[Row]:
    """The errors that the ratios stand for: the identity's on prefix sums is √((n + 1) / 2) per query."""
    found = []
    for n, ratios in RATIOS.items():
        hdmm = ((n + 1) / 2) ** 0.5 / ratios[0]
        others = {name: ratio * hdmm for name, ratio in zip(SLIDES, ratios, strict=True)}
        build = partial(_line, f.prefix, n)
        peers = {"HDMM": hdmm, **others}
        group = "slides" if n < MINUTES else LONG
        found.append(Row(group, f"prefix {n}", "p_identity", build, "rmse", peers, SLIDES))
    return found


FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "total error": "total squared error, Gaussian noise",
        "largest error": "privacy cost when every variance is 1, Gaussian noise",
        "marginals": "total squared error, or privacy cost where it says largest; Gaussian noise",
        "census": "root mean square error per query, Gaussian noise",
        "laplace": "root mean square error per query, Laplace noise",
        "slides": "the same, as two-digit ratios of the slides on HDMM imply it",
        LONG: "the same for 4096 and 8192 cells",
    }
)
"""What is compared in each group, in words; for unit noise per unit of sensitivity."""

ROWS: tuple[Row, ...] = (
    *_total_error(),
    *_largest_error(),
    *_marginals(),
    Row("census", "SF1-like, 500,480 cells", "l2_strategy", census, "rmse", {"HDMM": 2.3214}),
    *_laplace(),
    *_slides(),
)


def rows_named(groups: Sequence[str] | None) -> tuple[Row, ...]:
    """The rows of these groups, by default all but ``LONG``; OptionError for a group that there is not."""
    known = list(dict.fromkeys(row.group for row in ROWS))
    for group in groups or ():
        if group not in known:
            raise OptionError(
                f"there is no group '{group}', expected one of {', '.join(known)}", hint=suggest(group, known)
            )
    return tuple(row for row in ROWS if (row.group != LONG if groups is None else row.group in groups))
