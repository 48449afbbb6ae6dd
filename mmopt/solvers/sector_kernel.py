"""The kernel for queries of few of many attributes: measures of the cells, and weights of sets.

**Measures** are found by ``sectors.design_search``. A design is the best measure so far, with its bound t²,
and the best strategy. The largest column of a strategy is only searched for here: the program's evaluation
proves it, ``diag(X)`` by ``RowSpace.largest`` and the certificate by ``sectors.total_error_bounds``. Programs
with a target for each query, and that of the largest variance, also search for shares of the queries.

**Sets.** Strategies by sets of attributes are in closed form. With the rows of each set S fixed, x_S its
share of the squared sensitivity and E_S its error at share 1, Σ_S E_S / x_S at Σ x_S = 1 is least at x_S ∝
√E_S. For the largest of the queries' Σ_S v_S / x_S relative to their targets E is that of weights of the
queries, which are multiplied again and again by a power of their variances. Measure and weights of the bound
are those that gave the rows (``strategies.set_strategy_and_cells``).
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmopt.limits import Stop, hard_limit, time_left
from mmopt.numerics import Array, Level, Measure, Spanned, Split
from mmopt.sectors.design_search import Design, designs, target_designs
from mmopt.sectors.error_bounds_of_measures import QueryShares, with_root
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space_cells_and_targets import RowSpaceCells
from mmopt.sectors.total_error_bounds import best_measure_bound, products_that_fit
from mmopt.solvers.options_points_and_clock import Clock, KernelStep, Options, Pace, Point
from mmopt.strategies.component_strategies import definite_parts
from mmopt.strategies.set_strategy_and_cells import SetCells

LEAST_SHARE = 1e-9  # of a set: one whose error is negligible next to the others is measured too
STEPS, PATIENCE = 1000, 50  # of the weights of queries, and those in which the largest has to fall
# The least fall of the largest that counts, relatively; the power of the variances in a step.
FALL, POWER = 1e-4, 0.5


def least_total(cells: SetCells, root: Split) -> Design:
    """The best weights of the sets for the queries' total error."""
    shares, total = _shares(np.array([float(part[0, 0]) ** 2 for part in root.parts]))
    products = products_that_fit(cells.products, cells.unit.sizes)
    return _design(best_measure_bound(products, cells.measures, cells.gram_rounding)[1], shares, total)


def least_largest(cells: SetCells, queries: QueryShares) -> Design:
    """Weights of the sets at which the largest variance relative to its target is small.

    The sum of all variances times ``queries.constant`` is added to the largest.
    """
    targets, constant = queries.targets, queries.constant
    squares = [np.square(part[:, 0]) for part in queries.rows]
    weights = cells.weights if len(cells.weights) else np.full(len(targets), 1.0 / len(targets))
    best, first, since = (np.inf, np.ones(0)), weights, 0
    for _ in range(STEPS):
        y = weights / targets + constant
        errors = np.array(
            [float(square @ y[label]) for square, label in zip(squares, queries.orbits, strict=True)]
        )
        shares, _ = _shares(errors)
        variances = np.zeros(len(targets))
        for square, label, share in zip(squares, queries.orbits, shares, strict=True):
            variances[label] += square / share
        ratios = variances / targets
        largest = float(ratios.max()) + constant * float(variances.sum())
        since = 0 if largest < best[0] * (1.0 - FALL) else since + 1
        if largest < best[0]:
            best = largest, shares
        if since > PATIENCE or time_left() <= 0:
            break
        weights = weights * (ratios / float(weights @ ratios)) ** POWER
        weights = weights / weights.sum()
    return _design(cells.measures, best[1], best[0], first)


def _shares(errors: Array) -> tuple[Array, float]:
    """The best x (K,) of sum 1 for Σ E_S / x_S, and its value."""
    roots = np.sqrt(errors)
    roots = np.maximum(roots, LEAST_SHARE * roots.sum())
    return roots / roots.sum(), float(roots.sum()) ** 2


def _design(
    measures: Sequence[Array], shares: Array, value: float, of_queries: Array | None = None
) -> Design:
    """A design by sets; its value stands in for its bound, which comes from the program's own evaluation.

    of_queries : the weights of the queries that the bound is at; None for total error.
    """
    measure = Mixture(np.ones(1), tuple(each[None] for each in measures))
    return Design(measure, value, tuple(shares.reshape(-1, 1, 1)), value, value, of_queries)


# Programs of alpha + beta, twice the root of the product at the best scale, and multipliers of ratios.
RELATIVE = ("fitness_penalty", "fitness_hybrid")

# The program of the largest weighted variance: every query has the target 1.
MINIMAX = "minimax_variance"

PROGRAMS = ("l2_strategy", MINIMAX, "fitness_for_use", "fitness_budget", *RELATIVE)

# The default gap: a largest entry is proved, not only searched for.
TOLERANCE = 1e-2

DESIGNS_TO_FALL = 60  # designs in which the gap has to fall by a tenth
ARRAYS = 24  # of the size of the components that are held
UNIFORM_SHARES = (0.0, 1e-9, 1e-7, 1e-5)  # of the uniform measure, that are tried in turn
SHARE_OF_PROOF = 0.3  # of a time limit
LOOKS_OF_PROOF = 5.0  # of the first look: components up to 647 and up to 1,939 took 6 and 4, to the result
# Seconds of any search, and per d³ of a component: fitted to l2_strategy on one core at ``TOLERANCE``.
SECONDS_AT_LEAST, SECONDS_OF_CUBES = 3.0, 1.8e-8


def takes(givens: Mapping[str, Any]) -> bool:
    """Whether the givens are over cells that are not listed."""
    return any(isinstance(v, Split) and isinstance(v.columns, Spanned) for v in givens.values())


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes, without those of any solve, and seconds; the latter to a factor of ten: a search decides.

    Measured at a gap of ``TOLERANCE``, all prefixes of one and two attributes, CPU seconds: five of
    10 values 11, (3, 4, 5, 6, 30) 3, (2, 3, 5, 8, 12, 20, 30) 152; 12 of 2 to 30, every other by
    value alone, 10.5. Other programs were not fitted.
    """
    dims = np.array(_cells(env).dims, dtype=float)
    if isinstance(_cells(env), SetCells):
        return 8.0 * ARRAYS * dims.sum(), SECONDS_AT_LEAST
    memory = 8.0 * ARRAYS * float(np.square(dims).sum())
    return memory, SECONDS_AT_LEAST + SECONDS_OF_CUBES * float(np.power(dims, 3).sum())


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points with its givens in ``env``: the first at the gap asked for, then closer.

    By its own count: its longest column is a search's, which the program's evaluation proves or corrects.
    """
    clock.handed_over = clock.elapsed
    yield from Pace.of(options, clock, 0.99, 0.5, most=1000).points(_steps(program, env, _Reserve(clock)))


def _steps(program: str, env: Mapping[str, Any], reserve: "_Reserve") -> Iterator[KernelStep]:
    """Designs, until the gap no longer falls, or the time that is left is needed for the proof."""
    gaps: list[float] = []
    for count, design in enumerate(_designs(program, env, reserve), 1):
        gaps.append(design.gap)
        has_stalled = isinstance(_cells(env), SetCells) or (  # sets are in closed form
            count > DESIGNS_TO_FALL and gaps[-1] > 0.9 * gaps[-1 - DESIGNS_TO_FALL]
        )
        step = KernelStep(
            count,
            design.gap,
            _estimate(program, env, design),
            partial(_point, program, env, design, count),
            done=has_stalled,
            stop=Stop.STOPPED if reserve.is_reached() else None,
        )
        yield step
    yield step._replace(done=True)


@dataclass
class _Reserve:
    """The time that is left to prove a point.

    It is a share of the limit, and no less than ``LOOKS_OF_PROOF`` times the first look at the cells, which
    decomposes each component as the proof does several times.

    first : seconds of that look, set when the reserve is first used.
    """

    clock: Clock
    first: float = 0.0

    @property
    def proof(self) -> float:
        """Seconds, to the result."""
        self.first = self.first or self.clock.elapsed - self.clock.handed_over
        return LOOKS_OF_PROOF * self.first

    @property
    def limit(self) -> float:
        """Seconds of the clock when the time is over."""
        return self.clock.elapsed + self.clock.left

    def is_reached(self) -> bool:
        """Whether the proof needs all the time that is left."""
        return self.clock.left < max(SHARE_OF_PROOF * self.limit, self.proof)

    def is_short(self) -> bool:
        """Whether the time would be too short even if the proof went on until all is given up."""
        return hard_limit(self.limit) - self.clock.elapsed < self.proof


def _point(program: str, env: Mapping[str, Any], design: Design, count: int, stop: Stop | None) -> Point:
    """The strategy, or N⁻¹ as the covariance of the basis; measure and shares at the scale of multipliers."""
    cells = _cells(env)
    mass = design.bound if design.shares is None or program == MINIMAX else 1.0
    estimate: tuple[float, float | None] = _estimate(program, env, design)
    if isinstance(cells, SetCells):
        prices, parts = Measure(cells, design.measure.scaled(mass / design.measure.total)), design.parts
        raw, estimate = "weights of sets", (estimate[0], None)
    else:
        prices, parts = _prices(cells, design.measure, mass), definite_parts(cells, design.parts)
        raw = f"gap {design.gap:.1e} as reported by the kernel"
    values: dict[str, Any] = {"X": Split(cells, cells, parts)}
    multipliers: dict[str, Any] = {"sensitivity": prices}
    if design.shares is not None:
        orbits = env["W" if program == MINIMAX else "L"].rows
        of_queries = design.shares / orbits.sizes
        if program == MINIMAX:
            values["t"] = design.value
            multipliers["accuracy"] = Level(orbits, of_queries)
        else:
            values, of_queries = _targeted(program, env, design, parts, of_queries)
            multipliers = {"privacy": prices, "accuracy": Level(orbits, of_queries)}
    return Point(values, multipliers, count, raw, stop, estimate=estimate)


def _targeted(
    program: str, env: Mapping[str, Any], design: Design, parts: Sequence[Array], of_queries: Array
) -> tuple[dict[str, Any], Array]:
    """Values of a program with targets, at the scale of noise that it wants, and weights of the queries."""
    inner, longest = env["B"].rows, design.value / design.total
    if program in RELATIVE:  # both terms the same
        scale = math.sqrt(longest / design.total)
        values: dict[str, Any] = {"alpha": longest / scale, "beta": scale * design.total}
    elif program == "fitness_budget":
        scale = longest / env["budget"]
        values = {"excess": _estimate(program, env, design)[0]}
    else:
        scale = 1.0 / design.total
        values = {"alpha": design.value}
        of_queries = design.bound * of_queries / env["c"].values
    values["Sigma"] = Split(inner, inner, tuple(scale * np.linalg.inv(part) for part in parts))
    return values, of_queries


def _estimate(program: str, env: Mapping[str, Any], design: Design) -> tuple[float, float]:
    """Objective and bound by its own count."""
    if program in RELATIVE:
        return 2.0 * math.sqrt(design.value), 2.0 * math.sqrt(design.bound)
    budget = float(env.get("budget", 1.0))
    return design.value / budget, design.bound / budget


def _designs(program: str, env: Mapping[str, Any], reserve: _Reserve) -> Iterator[Design]:
    """The search for the program; also from the first strategy where there is time to compute it."""
    cells = _cells(env)
    if program == "l2_strategy":
        if isinstance(cells, SetCells):
            return iter([least_total(cells, env["W"])])
        space = with_root(cells.rows, env["W"].parts)
        return designs(space, first=lambda: None if reserve.is_short() else cells.first_strategy)
    shares = _query_shares(program, env)
    if isinstance(cells, SetCells):
        return iter([least_largest(cells, shares)])
    return target_designs(cells.rows, shares)


def _query_shares(program: str, env: Mapping[str, Any]) -> QueryShares:
    """The queries with targets.

    The weight of all variances is ``total / sum(c)`` of ``fitness_hybrid``, 0 for other programs.
    """
    queries = env["W" if program == MINIMAX else "L"]
    sizes = queries.rows.sizes
    targets = np.ones(len(sizes)) if program == MINIMAX else env["c"].values
    constant = float(env.get("total", 0.0)) / float(sizes @ targets)
    return QueryShares(queries.parts, queries.rows.labels, sizes, targets, constant)


def _cells(env: Mapping[str, Any]) -> RowSpaceCells | SetCells:
    """The space of the cells that the givens are over."""
    return env["B" if "B" in env else "W"].columns  # type: ignore[no-any-return]


def _prices(cells: RowSpaceCells, measure: Mixture, mass: float) -> Measure:
    """The measure at a mass, mixed with the least share of the uniform one that rounding allows.

    The moments' rounding is then small next to that share, or to the least one where none is mixed in. The
    bound is concave in the measure: a share of another one costs no more than that share of it.
    """
    uniform = Mixture(np.array([measure.total]), tuple(shares[None] for shares in cells.rows.uniform))
    for share in UNIFORM_SHARES:
        mixed = measure.scaled(1.0 - share).joined(uniform.scaled(share)) if share else measure
        prices = Measure(cells, mixed.scaled(mass / mixed.total))
        if max(prices.moments.offs) <= max(share, UNIFORM_SHARES[1]):
            break
    return prices
