"""The registry of problems: query matrices by name, and their known optima.

The registry has problems by name, for conformance checks and for benchmarks. A problem is a workload of about
a given number of cells, a query a row, or a small one that is hard in one way. All queries have targets, and
most programs apply to every problem. Besides them, marginals over attributes of given sizes, for benchmarks.

Known figures about the optimum of a program on a problem are published and long computed numbers by problem
and size, and two bounds in closed form that hold for any workload. All are on the scale that the formulations
of a program share (``Solution.value``).
"""

import functools
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import scipy.linalg

from mmopt.errors import OptionError, suggest
from mmopt.language import Program
from mmopt.numerics.arrays import Array
from mmopt.workloads import Attribute, Domain, Factor, Product, Workload, factors_and_products as factors

# Figure 1 (b) of PVLDB 2012: students by gender and grade.
EXAMPLE_4: tuple[tuple[int, ...], ...] = (
    (1, 1, 1, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 0, 0, 0, 0),
    (0, 0, 0, 0, 1, 1, 1, 1),
    (1, 1, 0, 0, 1, 1, 0, 0),
    (0, 0, 1, 1, 0, 0, 1, 1),
    (0, 0, 0, 0, 0, 0, 1, 1),
    (1, 1, 0, 0, 0, 0, 0, 0),
    (1, 1, 1, 1, -1, -1, -1, -1),
)

# Which of three attributes each marginal keeps.
ONE_AND_TWO_WAY = tuple(kind for kind in itertools.product((0, 1), repeat=3) if 0 < sum(kind) < 3)


def marginal_rows(sizes: Sequence[int], kinds: Sequence[Sequence[int]]) -> Array:
    """The marginals over a product of attributes, each kind a 1 for every attribute that is kept."""
    products = (
        [np.eye(size) if kept else np.ones((1, size)) for size, kept in zip(sizes, kind, strict=True)]
        for kind in kinds
    )
    return np.vstack([functools.reduce(np.kron, blocks) for blocks in products])  # type: ignore[arg-type]


def domain_of(*sizes: int) -> Domain:
    """Attributes a0, a1, … of these sizes, each with values v0, v1, …."""
    return Domain(
        tuple(Attribute(f"a{i}", tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes))
    )


def marginals(sizes: Sequence[int], ways: Sequence[int], target: float = math.inf) -> Workload:
    """All marginals over sets whose numbers of attributes are in ``ways``."""
    sets = (itertools.combinations(range(len(sizes)), way) for way in ways)
    return products_on(sizes, itertools.chain.from_iterable(sets), target=target)


def products_on(
    sizes: Sequence[int],
    sets: Iterable[Sequence[int]],
    block: Callable[[int], Factor] = factors.identity,
    target: float = math.inf,
) -> Workload:
    """A product for each set of attributes: ``block`` on those, totals on the others."""
    each_set = (
        [block(n) if i in chosen else factors.total(n) for i, n in enumerate(sizes)] for chosen in sets
    )
    return Workload.from_products(
        domain_of(*sizes), [Product(tuple(each), target=target) for each in each_set]
    )


def windows(n: int, width: int) -> Array:
    """Every range of ``width`` neighbouring cells, (n - width + 1, n): rank deficient for width > 1."""
    first = np.arange(n - width + 1)[:, None]
    cells = np.arange(n)
    return ((first <= cells) & (cells < first + width)).astype(float)


def random_ranges(n: int, m: int, rng: np.random.Generator) -> Array:
    """m ranges between two uniform ends, (m, n)."""
    low, high = np.sort(rng.integers(0, n, size=(m, 2)), axis=1).T
    cells = np.arange(n)
    return np.asarray((low[:, None] <= cells) & (cells <= high[:, None]), dtype=float)


def rectangles(side: int, m: int, rng: np.random.Generator) -> Array:
    """m products of two random ranges over a square grid, (m, side²), the second axis varying fastest."""
    one, other = (random_ranges(side, m, rng) for _ in range(2))
    return (one[:, :, None] * other[:, None, :]).reshape(m, side * side)


def low_rank() -> Array:
    """Three rows of a rank-two matrix and their sums: rank 3 over 7 cells, 8 queries."""
    rows = np.array(
        [[1, 1, 0, 0, 1, 0, 2], [0, 1, 1, 0, 0, 1, -1], [1, 0, 0, 1, 1, 1, 0]],
        dtype=float,
    )
    mix = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, -1, 0], [1, 1, 1]])
    return np.asarray(mix @ rows)


def signed() -> Array:
    """Differences of neighbours and of halves, over 6 cells."""
    return np.vstack([np.eye(6) - np.eye(6, k=1), [1, 1, 1, -1, -1, -1], [0.5, -2, 0, 3, 0, -1]])


Random = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """A workload for every size, or a fixed one.

    name : as ``--problems`` takes it.
    about : a description in one line.
    build : makes a workload from a number of cells n >= 2 and random numbers; it has about n cells (a square
        or a cube has a whole side), and ``size`` cells when the problem is fixed.
    size : the number of cells at which conic solvers take about a second: that of conformance checks.
    tags : its special properties ("1-D", "rank deficient", …).
    fixed : whether there is one size only.
    """

    name: str
    about: str
    build: Callable[[int, Random], Workload]
    size: int
    tags: frozenset[str]
    fixed: bool = False

    def workload(self, n: int | None = None, seed: int = 0) -> Workload:
        """The workload of about n cells (of ``size`` by default); the same seed gives the same one.

        Raises
        ------
        OptionError : fewer than two cells.
        """
        n = self.size if n is None else n
        if n < 2 and not self.fixed:
            raise OptionError(f"problem '{self.name}' has at least 2 cells, not {n}")
        return self.build(n, np.random.default_rng([seed, n]))


def problem(name: str) -> Problem:
    """The problem of this name; OptionError for another."""
    if (row := next((p for p in PROBLEMS if p.name == name), None)) is None:
        raise OptionError(f"there is no problem '{name}'", hint=suggest(name, [p.name for p in PROBLEMS]))
    return row


def problems_named(names: Sequence[str] | None) -> tuple[Problem, ...]:
    """The problems of these names, all by default."""
    return PROBLEMS if names is None else tuple(problem(name) for name in names)


def varied_targets(rows: np.typing.ArrayLike) -> Workload:
    """The rows with targets that differ: 1, 2, 3, 1, 2, 3, … times their squared norms."""
    matrix = np.asarray(rows, dtype=float)
    return Workload.from_matrix(matrix, targets=(1.0 + np.arange(len(matrix)) % 3) * (matrix**2).sum(axis=1))


def _products(*products: Sequence[Factor]) -> Workload:
    """Products over attributes a, b, …, every target 1."""
    attributes = [Attribute("abcdefgh"[i], tuple(map(str, range(f.size)))) for i, f in enumerate(products[0])]
    return Workload.from_products(
        Domain(tuple(attributes)), [Product(tuple(each), target=1.0) for each in products]
    )


def _side(n: int, power: int) -> int:
    """The side of a square or cube of about n cells, at least 2."""
    side: float = n ** (1 / power)
    return max(2, round(side))


def _cube(n: int, rng: Random) -> Workload:
    """All one- and two-way marginals of a cube."""
    side, make = _side(n, 3), (factors.total, factors.identity)
    return _products(*([make[kept](side) for kept in kind] for kind in ONE_AND_TWO_WAY))


def _random_targets(rows: Array, rng: Random) -> Workload:
    """Targets uniform in [1, 10], as in the experiments of PVLDB 2021."""
    return Workload.from_matrix(rows, targets=rng.uniform(1, 10, size=len(rows)))


def _predicates(n: int, rng: Random) -> Workload:
    """Random subsets of the cells, none empty, with random targets."""
    rows = (rng.random((n, n)) < 0.5).astype(float)
    rows[~rows.any(axis=1), 0] = 1.0
    return _random_targets(rows, rng)


def _rectangles(n: int, rng: Random) -> Workload:
    """Random rectangles with random targets, two for each cell."""
    side = _side(n, 2)
    return _random_targets(rectangles(side, 2 * side**2, rng), rng)


def _problem(
    name: str, about: str, size: int, tags: str, build: Callable[[int, Random], Workload]
) -> Problem:
    """A problem for every size; ``tags`` separated by commas."""
    return Problem(name, about, build, size, frozenset(tags.split(", ")))


def _small(name: str, about: str, tags: str, rows: Callable[[], np.typing.ArrayLike]) -> Problem:
    """A fixed problem: these rows, with varied targets."""
    size = int(np.shape(rows())[1])
    return replace(_problem(name, about, size, tags, lambda n, rng: varied_targets(rows())), fixed=True)


LINE, RANDOM = "1-D, structured, equal targets", "random, targets"  # tags

PROBLEMS: tuple[Problem, ...] = (
    _problem("prefix", "prefix sums", 8, LINE, lambda n, rng: _products([factors.prefix(n)])),
    _problem("all-ranges", "every range of cells", 5, LINE, lambda n, rng: _products([factors.all_range(n)])),
    _problem(
        "identity-and-total",
        "cells and total",
        6,
        "structured, equal targets",
        lambda n, rng: _products([factors.identity(n)], [factors.total(n)]),
    ),
    _problem("cube", "its one- and two-way marginals", 8, "marginals, structured, equal targets", _cube),
    _problem(
        "product",
        "prefix sums times all ranges",
        6,
        "2-D, Kronecker, equal targets",
        lambda n, rng: _products([factors.prefix(_side(n, 2)), factors.all_range(max(2, n // _side(n, 2)))]),
    ),
    _problem(
        "windows",
        "ranges of n / 8 cells",
        8,
        "1-D, rank deficient, targets",
        lambda n, rng: varied_targets(windows(n, max(2, n // 8))),
    ),
    _problem("predicates", "n random subsets of the cells", 7, RANDOM, _predicates),
    _problem(
        "random-ranges",
        "2n random ranges",
        6,
        f"1-D, {RANDOM}",
        lambda n, rng: _random_targets(random_ranges(n, 2 * n, rng), rng),
    ),
    _problem(
        "permuted-ranges",
        "the same, cells shuffled",
        6,
        RANDOM,
        lambda n, rng: varied_targets(random_ranges(n, 2 * n, rng)[:, rng.permutation(n)]),
    ),
    _problem("rectangles", "2n random rectangles", 9, f"2-D, {RANDOM}", _rectangles),
    _problem(
        "blocks",
        "two disjoint groups of cells",
        8,
        "blocks, targets",
        lambda n, rng: varied_targets(
            scipy.linalg.block_diag(np.tri(n // 2), windows(n - n // 2, min(2, n - n // 2)))
        ),
    ),
    _problem(
        "repeated-cells",
        "prefix sums, four cells a value",
        16,
        "duplicated cells",
        lambda n, rng: varied_targets(np.tri(max(1, n // 4))[:, np.arange(n) * max(1, n // 4) // n]),
    ),
    _problem(
        "weighted",
        "prefix sums of unequal weight",
        6,
        "1-D, weights, equal targets",
        lambda n, rng: Workload.from_matrix(np.tri(n), targets=1.0, weights=np.geomspace(0.1, 10.0, n)),
    ),
    _problem(
        "large-and-small",
        "prefix sums of unequal size",
        5,
        "badly scaled, targets",
        # rows differ in size by a factor of 100
        lambda n, rng: varied_targets(np.diag(10.0 ** np.linspace(-1, 1, n)) @ np.tri(n)),
    ),
    _small("example-4", "PVLDB 2012, Example 4", "rank deficient", lambda: EXAMPLE_4),
    _small(
        "marginals",
        "margins and cells of a 3 × 3 table",
        "marginals",
        lambda: marginal_rows((3, 3), ((1, 0), (0, 1), (0, 0), (1, 1))),
    ),
    _small("rank-deficient", "rank 3 over 7 cells", "rank deficient", low_rank),
    _small(
        "duplicated-rows",
        "queries asked again",
        "duplicated queries",
        lambda: np.repeat(np.tri(5), [1, 3, 1, 2, 1], axis=0),
    ),
    _small(
        "duplicated-columns",
        "cells written again",
        "duplicated cells",
        lambda: np.repeat(np.tri(5), [1, 3, 1, 1, 2], axis=1),
    ),
    _small("signed", "differences", "signed", signed),
    _small(
        "zero-columns",
        "three cells that no query touches",
        "zero columns",
        lambda: np.tri(5) @ np.eye(8)[[0, 2, 3, 5, 6]],
    ),
    _small("single-total", "one query of 12 cells", "rank deficient", lambda: np.ones((1, 12))),
    _small("single-cell", "one query of one cell", "one cell", lambda: [[3.0]]),
    _small("two-queries-of-one-cell", "rank 1", "one cell, duplicated queries", lambda: [[1.0], [2.0]]),
)


#: A printed figure this far outside the spread of our draws is marked.
NEAR_SPREAD = 0.02


@dataclass(frozen=True)
class Figure:
    """A known number: its source, its kind, its value and a relative tolerance.

    exact: the value itself; upper: our value is at most it; lower: our value is at least it.
    """

    source: str
    kind: str
    value: float
    tolerance: float


def holds(figure: Figure, value: float) -> bool:
    """Whether our value agrees with the figure."""
    return meets(figure, value, value)


def meets(figure: Figure, low: float, high: float) -> bool:
    """Whether some value between ``low`` and ``high`` agrees with the figure."""
    room = figure.tolerance * abs(figure.value)
    above = high >= figure.value - room
    below = low <= figure.value + room
    return {"exact": above and below, "upper": below, "lower": above}[figure.kind]


def starred(draws: Sequence[float], printed: float) -> str:
    """The median of our draws over the printed figure, starred where that is not within or near the draws."""
    is_within = min(draws) * (1 - NEAR_SPREAD) <= printed <= max(draws) * (1 + NEAR_SPREAD)
    return f"{statistics.median(draws) / printed:.3f}{' ' if is_within else '*'}"


Table = Mapping[tuple[str, str], tuple[str, float, Mapping[int, float]]]

OPTIMUM = "PODS 2010, Program 5.2"
FIT = "PVLDB 2021, Table 2"

# (program, problem): source, relative tolerance, value by number of cells.
EXACT: Table = MappingProxyType(
    {
        ("l2_strategy", "prefix"): (
            OPTIMUM,
            1e-6,
            {
                4: 6.874144,
                8: 17.866177,
                16: 45.665357,
                32: 114.559703,
                64: 282.20142,
                256: 1631.40304,
                1024: 8944.32919,
            },
        ),
        ("l2_strategy", "all-ranges"): (
            OPTIMUM,
            1e-6,
            {16: 413.14022, 64: 11024.3815, 256: 276929.308, 1024: 6484329.00},
        ),
        ("l2_strategy", "example-4"): ("PVLDB 2012, Example 4", 1e-6, {8: 15.01802}),
        ("l2_strategy", "cube"): ("PVLDB 2021, Table 10, CA", 1e-6, {8: 36.0}),
        ("weighted_l2", "prefix"): (OPTIMUM, 1e-6, {4: 6.874144, 8: 17.866177, 16: 45.665357}),
        ("query_weighting", "prefix"): ("PVLDB 2012, Program 1", 5e-5, {8: 22.931}),
        ("query_weighting", "example-4"): ("PVLDB 2012, Example 4", 5e-5, {8: 15.808}),
        ("eigen_design", "prefix"): ("PVLDB 2012, Program 2", 5e-5, {8: 20.888}),
        ("eigen_design", "example-4"): ("PVLDB 2012, Example 4", 5e-5, {8: 15.474}),
        ("fitness_for_use", "prefix"): (
            FIT,
            1e-5,
            {2: 4 / 3, 4: 1.75860, 8: 2.28156, 16: 2.90525, 32: 3.63072, 64: 4.45787, 1024: 8.77027},
        ),
        # Table 10 prints the privacy cost itself: its square root.
        ("fitness_for_use", "cube"): (
            "PVLDB 2021, Table 10",
            1e-5,
            {8: 1.47731**2, 64: 1.86330**2, 216: 2.02964**2, 512: 2.12236**2},
        ),
        ("fitness_for_use", "identity-and-total"): (
            "PVLDB 2021, Theorem 7",
            1e-5,
            {d: 2 * d / (1 + d) for d in range(5, 4097)},
        ),
    }
)


def known_figures(program: Program, problem: str, workload: Workload) -> tuple[Figure, ...]:
    """The known figures of the program's ``value`` there, the closed forms last; perhaps none.

    Parameters
    ----------
    program : a formulation counts as the program that it restates.
    problem : the name of the workload's problem; "" for another workload.
    """
    base = program.formulation_of or program.name
    source, tolerance, values = EXACT.get((base, problem), ("", 0.0, {}))
    exact = [Figure(source, "exact", values[n], tolerance) for n in (workload.n,) if n in values]
    if base == "l2_strategy":
        by, low, high = (
            "PVLDB 2012, singular value bound",
            singular_value_bound(workload),
            workload.eigenvalues.sum(),
        )
    elif base == "fitness_for_use" and workload.has_all_targets:
        alone = np.square(workload.queries).max(axis=1) / workload.targets
        by, low, high = (
            "the hardest query alone",
            alone.max(),
            (workload.squared_norms() / workload.targets).max(),
        )
    else:
        return tuple(exact)
    return (
        *exact,
        Figure(by, "lower", float(low), 1e-9),
        Figure("noise on each cell", "upper", float(high), 1e-9),
    )


def singular_value_bound(workload: Workload) -> float:
    """The square of the sum of the singular values, over n, in plain doubles: no total error is less."""
    return float(np.sqrt(workload.eigenvalues).sum() ** 2 / workload.n)
