"""Bounds that are proved here: derived from the lines of a program, and on the total error of every strategy.

**Derived bounds** need no certificate: they follow from multipliers and slopes of any origin. The Lagrangian
is at least c + Σ <R, x> (``duality.lagrangian``). Here each term is bounded by the range of x: nothing is
lost where R is in the dual cone (psd for a psd variable, >= 0 for a nonnegative one); otherwise R is charged
with the range of the variable, which follows from the lines and from the level up to which points count
(``duality.ranges``).

**The bound on total error** is shown next to the error of each strategy. It is ``l2_strategy``'s certificate
at good multipliers. They come from the strategy itself (at the optimum inv(X) G inv(X) is diagonal and holds
them), from a solver's duals and from uniform ones (the singular value bound of PODS 2010), improved by the
fixed point d <- diag(V S Vᵀ), K = R diag(d)^(1/2) = U S Vᵀ, which raises the certificate; any d >= 0 gives a
valid bound. For a workload over very many cells it is evaluated by component, at multipliers from a few
iterations of the nuclear-norm kernel.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.compiler.duality.lagrangian import (
    AffineBound,
    Multipliers,
    Nodes,
    Slopes,
    inside,
    nodes_of,
    read,
)
from mmopt.compiler.duality.ranges import Range, ranges_by_cuts, ranges_of
from mmopt.compiler.reductions import by_components
from mmopt.compiler.reductions.split_symmetric import by_sectors, by_sets
from mmopt.compiler.same_program import is_shipped
from mmopt.driver.judge.score_point import bound_of, for_the_queries, names_with_errors, rests_on_rounded
from mmopt.errors import ResultError, UnsuitableError
from mmopt.language import shipped
from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.numerics import ball_functions, balls
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import Ball
from mmopt.numerics.matrix_functions import eigh
from mmopt.results import Grade
from mmopt.solvers import Clock, Options, nuclear, sector_kernel
from mmopt.solvers.nuclear.programs_and_points import TYPICAL_ITERATIONS, needs
from mmopt.strategies import (
    ADD_REMOVE,
    AnyStrategy,
    ComponentStrategy,
    Neighbours,
    SetStrategy,
    Strategy,
)
from mmopt.workloads import Workload

# The level is this far above the objective of the feasible point, relatively: the bound is below that anyhow.
ABOVE = 1e-3
MARGIN = 1e-9  # relative: the rounding of sums of charges
LEVEL, LINE, SLOPE = "level", "line", "slope"  # words of ``Derived.kept``, before a name or places


@dataclass(frozen=True)
class Derived:
    """A bound, None where there is none, and its grade.

    kept : the level, and the multipliers and slopes, from which ``recomputed`` makes the bound again.
    why : in words, why there is none, or why it is an estimate.
    """

    bound: float | None
    grade: Grade | None = None
    kept: Mapping[str, Array] = field(default_factory=dict)
    why: str = ""

    @property
    def multipliers(self) -> dict[str, Array]:
        """The kept multipliers, by line."""
        return {key.removeprefix(f"{LINE} "): y for key, y in self.kept.items() if key.startswith(f"{LINE} ")}


@dataclass(frozen=True)
class Reader:
    """An instance with the nodes of its lines at a point, and the ranges of its variables up to a level.

    is_charged : whether bounds are charged for the rounding of the queries, as those of shipped programs are.
    """

    nodes: Nodes
    level: float
    ranges: Mapping[str, Range]
    grade: Grade
    is_charged: bool
    why: str = ""  # the bound is an estimate, where there is more to say

    @np.errstate(all="ignore")
    def derived(self, multipliers: Multipliers, slopes: Slopes) -> Derived:
        """The bound at multipliers and slopes: at most a least optimum, at least a largest one.

        Those of another shape than their line or argument are left out.
        """
        instance, shapes = self.nodes.instance, self.nodes.shapes_of_multipliers()
        multipliers = {name: y for name, y in multipliers.items() if np.shape(y) == shapes.get(name)}
        slopes = {at: s for at, s in slopes.items() if np.shape(s) == self.nodes.shape_of_argument(*at)}
        proper = inside(self.nodes, multipliers)
        affine = read(self.nodes, proper, slopes)
        missing = [
            name for name in affine.residuals if not np.isfinite(self.least(affine, name, self.ranges))
        ]
        more = missing and ranges_by_cuts(self.nodes, proper, missing, self.level, self.all_but)
        value = replace(self, ranges={**self.ranges, **(more or {})}).all_but(affine, ())
        if missing and not more:
            return Derived(None, why=_unlimited(self.nodes.chosen, missing))
        if not np.isfinite(value):
            return Derived(None, why="the multipliers of the solver prove nothing")
        value = min(value, self.level)
        bound = value if instance.program.sense == "minimize" else -value
        bound = for_the_queries(instance, bound) if self.is_charged else bound
        kept = {LEVEL: np.asarray(self.level)}
        kept |= {f"{LINE} {name}": np.asarray(y) for name, y in multipliers.items()}
        kept |= {f"{SLOPE} {place} {number}": s for (place, number), s in slopes.items()}
        return Derived(bound, self.grade, kept, self.why)

    def least(self, affine: AffineBound, name: str, ranges: Mapping[str, Range]) -> float:
        """The least term of a variable in an affine bound; -inf where that is not bounded."""
        return _least_product(self.nodes.chosen[name], affine.residuals[name], ranges[name])

    def all_but(self, affine: AffineBound, names: Sequence[str]) -> float:
        """An affine bound with all but some variables at their least."""
        each = [self.least(affine, name, self.ranges) for name in affine.residuals if name not in names]
        value = float(affine.constant.lower) + sum(each)
        return value - EPS * (4 + len(each)) * (abs(float(affine.constant.mid)) + sum(map(abs, each)))


def _unlimited(chosen: Mapping[str, Declaration], missing: Sequence[str]) -> str:
    first, *_ = names = sorted(missing)
    size = f"trace({first})" if chosen[first].kind == "psd" else f"abs({first})"
    words = " and ".join(f"'{name}'" for name in names)
    return f"nothing says how large {words} can be: a line such as 'limit_{first}: {size} <= …' would"


def _least_product(d: Declaration, residual: Ball, span: Range) -> float:
    """At most <R, x> for every x that the declaration and the range allow; -inf where that is not bounded."""
    if d.kind in ("psd", "symmetric") and residual.mid.ndim == 2:
        mid = (residual.mid + residual.mid.T) / 2
        residual = Ball(mid, ((residual.rad + residual.rad.T) / 2 + np.abs(mid) * EPS) * balls.GROW)
    least = _by_entries(residual, span)
    if d.kind != "psd" or least >= 0.0:
        return least
    eigenvalue = ball_functions.smallest_eigenvalue(residual)
    if eigenvalue >= 0.0:
        return 0.0
    trace = float(np.diagonal(span.high).sum()) * (1.0 + MARGIN)
    return max(least, eigenvalue * trace * (1.0 + MARGIN)) if np.isfinite(eigenvalue) else least


def _by_entries(residual: Ball, span: Range) -> float:
    """The sum of the least products of two intervals, 0 times infinity being 0."""
    with np.errstate(invalid="ignore"):
        ends = [
            np.where(r == 0.0, 0.0, r * x)
            for r in (residual.mid - residual.rad, residual.mid + residual.rad)
            for x in (span.low, span.high)
        ]
        each = np.minimum.reduce(ends)
    if not np.isfinite(each).all():
        return -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        least = float(
            each.sum()
            - MARGIN * np.abs(each).sum()
            - balls.TINY * np.count_nonzero(np.logical_or(residual.mid, residual.rad))
        )
    return least if np.isfinite(least) else -np.inf


def level_above(instance: Instance, objective: float) -> float:
    """The level up to which points count: above a feasible objective, whose sign turns where maximised."""
    sign = 1.0 if instance.program.sense == "minimize" else -1.0
    return sign * objective + ABOVE * max(1.0, abs(objective))


def reader(instance: Instance, point: Mapping[str, Any], level: float) -> Reader:
    """The reader of bounds of an instance near a feasible point; TimeLimitError as ``require_time``."""
    names, is_known = names_with_errors(instance)
    nodes = nodes_of(instance, point, names)
    # The effect of the rounding of a basis is known for shipped programs, which are of squared norms.
    is_charged = not is_known and is_shipped(instance.checked) and not rests_on_rounded(instance)
    doubtful = _not_proved_psd(instance)
    grade: Grade = "proved" if (is_known or is_charged) and not doubtful else "estimated"
    why = f"'{doubtful}' is declared psd, which is not proved of its numbers" if doubtful else ""
    with np.errstate(all="ignore"):
        return Reader(nodes, level, ranges_of(nodes, level), grade, is_charged, why)


def _not_proved_psd(instance: Instance) -> str:
    """A given that is declared psd and may be so up to rounding only, or "": slopes of ``inv`` rest on it."""
    program = instance.program
    parameters = (p.declared for p in program.parameters if p.declared is not None)
    declared = (*program.givens, *parameters)
    # A Gram matrix of the workload is one but for its rounding, which is judged apart.
    passed = [d.name for d in declared if d.kind == "psd" and (d.name in instance.passed or not d.source)]
    proved = (ball_functions.is_semidefinite(balls.exact(instance.env[name])) for name in passed)
    return next((name for name, holds in zip(passed, proved, strict=True) if not holds), "")


def recomputed(instance: Instance, point: Mapping[str, Any], kept: Mapping[str, Array]) -> Derived:
    """The bound at multipliers and slopes of a file, which are not trusted; ResultError for other data."""
    multipliers: dict[str, Array] = {}
    slopes: dict[tuple[int, int], Array] = {}
    level = kept.get(LEVEL)
    is_number = level is not None and np.shape(level) == () and np.asarray(level).dtype.kind in "fiu"
    if level is None or not is_number or not np.isfinite(level):
        raise ResultError("the derived bound has no level")
    lines_reader = reader(instance, point, float(level))
    for key, value in kept.items():
        if np.asarray(value).dtype.kind not in "fiu":
            raise ResultError(f"the derived bound has no numbers for '{key}'")
        word, _, rest = key.partition(" ")
        if word == LINE:
            multipliers[rest] = value
        elif word == SLOPE:
            place, number = (int(part) if part.isdigit() else -1 for part in (*rest.split(), "")[:2])
            slopes[place, number] = value
    return lines_reader.derived(multipliers, slopes)


STEPS_OF_BOUND = 40
# Floating-point operations for choosing and improving multipliers, and those of one decomposition of n cells
# over n³: large workloads get fewer steps. With fewer than ``FEWEST_STEPS`` (from about 800 cells on) nothing
# is improved: the first multipliers are taken, or uniform ones where those are better.
WORK_OF_BOUND, DECOMPOSITION, FEWEST_STEPS = 2e10, 10, 4
# For those workloads a bound so close to the goal is not replaced by a better one.
ENOUGH_OF_BOUND = 1e-3


def _value(root: Array, d: Array) -> tuple[float, Array]:
    """The certificate (plainly) and the next multipliers, from the eigenvectors of K Kᵀ or KᵀK."""
    k = root * np.sqrt(d)
    if k.shape[0] > k.shape[1]:
        _, vectors = eigh(k.T @ k)
        lengths = np.linalg.norm(k @ vectors, axis=0)
        following = np.square(vectors) @ lengths
    else:
        _, vectors = eigh(k @ k.T)
        rows = vectors.T @ k
        lengths = np.linalg.norm(rows, axis=1)
        following = (1.0 / np.where(lengths > 0, lengths, np.inf)) @ np.square(rows)
    return float(lengths.sum() ** 2 / d.sum()), np.asarray(following)


def _uniform(root: Array) -> float:
    """The singular value bound (plainly), from eigenvalues alone."""
    gram = root @ root.T if root.shape[0] <= root.shape[1] else root.T @ root
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0)).sum() ** 2 / root.shape[1])


def _usable(start: Array) -> Array | None:
    """The multipliers, clipped at 0; None where they prove nothing."""
    d = np.maximum(np.asarray(start, dtype=float), 0.0)
    return d if np.isfinite(d).all() and d.any() else None


def for_neighbours(bound: float, d: Array, neighbours: Neighbours) -> float:
    """A bound on total error at sensitivity 1 to a set of neighbours, from the certificate at d (n,).

    That is a bound on Σ d_i ‖a_i‖² / Σ d_i times the squared error of any strategy A; see
    ``Neighbours.share``.
    """
    return bound if neighbours == ADD_REMOVE else bound * neighbours.share(d)


def error_bound(
    workload: Workload,
    strategy: Strategy,
    starts: Sequence[Array] = (),
    *,
    goal: float = np.inf,
    earlier: tuple[float, Array] | None = None,
) -> tuple[float, Array]:
    """A proved lower bound on the total error of every strategy, to the neighbours of this one, and its
    multipliers (n,).

    Parameters
    ----------
    starts : multipliers from a solver's dual of ``sensitivity``.
    goal : a bound that suffices, so that nothing more is tried.
    earlier : such a bound with its multipliers, from elsewhere.

    The strategy's factors are dropped.
    """
    root, neighbours = workload.root, strategy.neighbours
    goal /= 1 if neighbours == ADD_REMOVE else (neighbours.times or 1) ** 2
    steps = int(min(STEPS_OF_BOUND, WORK_OF_BOUND / (DECOMPOSITION * root.size * min(root.shape))))
    is_large = steps < FEWEST_STEPS
    uniform, instance = np.ones(workload.n), bind(shipped("l2_strategy"), workload)

    is_enough = is_large and earlier is not None and earlier[0] * (1.0 + ENOUGH_OF_BOUND) >= goal
    bounds = [] if earlier is None else [earlier]
    if not is_enough:
        first = [d for d in map(_usable, (strategy.prices(workload), *starts, uniform)) if d is not None]
        strategy.drop_factors()  # before the next step needs as much memory
        bounds.append(_at(instance, first[0] if is_large else _improved(root, first, steps, goal)))
    best = max(bound for bound, _ in bounds)
    if is_large and best * (1.0 + ENOUGH_OF_BOUND) < goal and best < _uniform(root):
        bounds.append(_at(instance, uniform))
    return max(((for_neighbours(b, d, neighbours), d) for b, d in bounds), key=lambda pair: pair[0])


def _improved(root: Array, starts: Sequence[Array], steps: int, goal: float) -> Array:
    """The best of the multipliers, improved in the remaining steps."""
    value, following, d = max([(*_value(root, d), d) for d in starts], key=lambda end: end[0])
    for _ in range(steps - len(starts)):
        settled = np.allclose(following / following.sum(), d / d.sum(), rtol=1e-9, atol=0.0)
        if value >= goal or _usable(following) is None or settled:
            return d
        value_before, before = value, d
        value, following, d = *_value(root, following), following
        if value < value_before:  # rounding
            return before
    return d if value >= goal or _usable(following) is None else following


MOST_ITERATIONS, MOST_SECONDS = 25, 60.0  # iterations, and seconds by forecast
GAP_BY_COMPONENT, GAP_BY_SECTORS = 1e-6, 1e-2


def bound_in_form(workload: Workload, form: type[AnyStrategy]) -> tuple[float, Any]:
    """A proved lower bound on the total error of every strategy, and its multipliers, in the space of a form.

    By component they are by orbit of cells. Where the weights of a matrix's rows break the symmetry that its
    targets have, it is the singular value bound, with uniform multipliers (n,). By sets of attributes, and in
    the space of the queries, they are a measure of the cells; errors as ``l2_of_few``.
    """
    if form is ComponentStrategy:
        instance, is_split = l2_by_component(workload)
        if not is_split:
            return _at(instance, np.ones(workload.n))
        each = needs("l2_strategy", instance.env)[1] / TYPICAL_ITERATIONS[False]
        most = max(1, min(MOST_ITERATIONS, int(MOST_SECONDS / each)))
        options = Options(tolerance=GAP_BY_COMPONENT, max_iterations=most)
        # The tolerance is on the kernel's own gap: its first point is as good as its count says.
        points = nuclear.points("l2_strategy", instance.env, options, Clock(math.inf))
    else:
        instance = l2_of_few(workload, form is SetStrategy)
        options = Options(tolerance=GAP_BY_SECTORS, max_iterations=MOST_ITERATIONS)
        points = sector_kernel.points("l2_strategy", instance.env, options, Clock(MOST_SECONDS))
    with closing(points):
        return _at(instance, next(p.multipliers["sensitivity"] for p in points if p.multipliers))


def _at(instance: Instance, multipliers: Any) -> tuple[float, Any]:
    """The certificate of total error at multipliers, and these."""
    bound = bound_of(instance, {"sensitivity": multipliers})
    assert bound is not None
    return bound, multipliers


def l2_by_component(workload: Workload) -> tuple[Instance, bool]:
    """``l2_strategy`` by component where that is possible, and whether it is.

    The symmetries of products and their targets are also those of their Gram matrix, so that only a workload
    from a matrix, whose rows are at hand, is ever taken as it is.
    """
    program = shipped("l2_strategy")
    reduced = by_components(program, workload, {})
    return (bind(program, workload), False) if reduced is None else (reduced[0], True)


def l2_of_few(workload: Workload, is_by_sets: bool, strategy: SetStrategy | None = None) -> Instance:
    """``l2_strategy`` by sets of attributes, those of a strategy or of a good one; or in the queries' space.

    Raises
    ------
    UnsuitableError : a workload without such a form.
    """
    program = shipped("l2_strategy")
    split = by_sets(program, workload, {}, strategy) if is_by_sets else by_sectors(program, workload, {}, 0.0)
    if isinstance(split, str):
        where = "by sets of attributes" if is_by_sets else "in the space of the queries"
        raise UnsuitableError(f"the workload is not solved {where}: {split}")
    return split[0]
