"""A proved lower bound on the total error of every strategy, shown next to the error of each.

It is ``l2_strategy``'s certificate at good multipliers d. They come from the strategy itself (at the optimum
inv(X) G inv(X) is diagonal and holds them), from a solver's duals and from uniform ones (the singular value
bound of PODS 2010), improved by the fixed point d <- diag(V S Vᵀ), K = R diag(d)^(1/2) = U S Vᵀ, R the root
of the workload, which raises the certificate; any d >= 0 gives a valid bound. For a workload over very many
cells it is evaluated by component, at multipliers from a few iterations of the nuclear-norm kernel.
"""

import math
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind, by_components, by_sectors, by_sets
from mmopt.driver.judge.score_and_meaning import bound_of
from mmopt.errors import UnsuitableError
from mmopt.language import shipped
from mmopt.numerics import Array, eigh
from mmopt.solvers import Clock, Options, nuclear, sector_kernel
from mmopt.strategies import ADD_REMOVE, AnyStrategy, ComponentStrategy, Neighbours, SetStrategy, Strategy
from mmopt.workloads import Workload

STEPS_OF_BOUND = 40
# Floating-point operations for choosing and improving multipliers, and those of one decomposition of n cells
# over n³: large workloads get fewer steps. With fewer than ``FEWEST_STEPS`` (from about 800 cells on) nothing
# is improved: the first multipliers are taken, or uniform ones where those are better.
WORK_OF_BOUND, DECOMPOSITION, FEWEST_STEPS = 2e10, 10, 4
# For those workloads a bound so close to the goal is not replaced by a better one.
ENOUGH_OF_BOUND = 1e-3


def _value_and_next(root: Array, d: Array) -> tuple[float, Array]:
    """The certificate at d (plainly) and the next multipliers, from the eigenvectors of K Kᵀ or KᵀK."""
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


def _singular_value_bound(root: Array) -> float:
    """The singular value bound (plainly), from eigenvalues alone."""
    gram = root @ root.T if root.shape[0] <= root.shape[1] else root.T @ root
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0)).sum() ** 2 / root.shape[1])


def _usable_multipliers(start: Array) -> Array | None:
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
        first = [
            d
            for d in map(_usable_multipliers, (strategy.prices(workload), *starts, uniform))
            if d is not None
        ]
        strategy.drop_factors()  # before the next step needs as much memory
        multipliers = first[0] if is_large else _improved_multipliers(root, first, steps, goal)
        bounds.append(_certificate_at(instance, multipliers))
    best = max(bound for bound, _ in bounds)
    if is_large and best * (1.0 + ENOUGH_OF_BOUND) < goal and best < _singular_value_bound(root):
        bounds.append(_certificate_at(instance, uniform))
    return max(((for_neighbours(b, d, neighbours), d) for b, d in bounds), key=lambda pair: pair[0])


def _improved_multipliers(root: Array, starts: Sequence[Array], steps: int, goal: float) -> Array:
    """The best of the multipliers, improved in the remaining steps."""
    value, following, d = max([(*_value_and_next(root, d), d) for d in starts], key=lambda end: end[0])
    for _ in range(steps - len(starts)):
        settled = np.allclose(following / following.sum(), d / d.sum(), rtol=1e-9, atol=0.0)
        if value >= goal or _usable_multipliers(following) is None or settled:
            return d
        value_before, before = value, d
        value, following, d = *_value_and_next(root, following), following
        if value < value_before:  # rounding
            return before
    return d if value >= goal or _usable_multipliers(following) is None else following


MOST_KERNEL_ITERATIONS, MOST_KERNEL_SECONDS = 25, 60.0  # iterations, and seconds by forecast
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
            return _certificate_at(instance, np.ones(workload.n))
        each = nuclear.needs("l2_strategy", instance.env)[1] / nuclear.TYPICAL_ITERATIONS[False]
        most = max(1, min(MOST_KERNEL_ITERATIONS, int(MOST_KERNEL_SECONDS / each)))
        options = Options(tolerance=GAP_BY_COMPONENT, max_iterations=most)
        # The tolerance is on the kernel's own gap: its first point is as good as its count says.
        points = nuclear.points("l2_strategy", instance.env, options, Clock(math.inf))
    else:
        instance = l2_of_few(workload, form is SetStrategy)
        options = Options(tolerance=GAP_BY_SECTORS, max_iterations=MOST_KERNEL_ITERATIONS)
        points = sector_kernel.points("l2_strategy", instance.env, options, Clock(MOST_KERNEL_SECONDS))
    with closing(points):
        return _certificate_at(instance, next(p.multipliers["sensitivity"] for p in points if p.multipliers))


def _certificate_at(instance: Instance, multipliers: Any) -> tuple[float, Any]:
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
