"""The checks of one solution and of the functions that kernels climb, and the report of all.

The report lists failures one by one and skips by their reason, and counts the checks that hold. The checks of
a solution compare it with its program and workload. A solution claims that its optimum lies in an interval;
two intervals of one optimum have a point in common. The functions that kernels climb are mostly dual ones;
their derivatives are compared with finite differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.driver.judge.assemble_solution import value_of
from mmopt.language import Program
from mmopt.numerics.arrays import Array
from mmopt.proof import verify
from mmopt.results import Solution
from mmopt.solvers import Claim, claims
from mmopt.solvers.banded_strategy import Banded
from mmopt.solvers.nuclear.ascent import curvature, many_exponentials
from mmopt.solvers.nuclear.nuclear_kernel import FORMS
from mmopt.solvers.nuclear.nuclear_problem import Iterate, iterate
from mmopt.solvers.weighting import SHIPPED
from mmopt.testing.problem_registry import Figure, meets
from mmopt.workloads import Workload

PLACES_SHOWN = 6  # places that are listed beside the reason of a skip
NOTES_SHOWN = 20  # notes that are listed


@dataclass(frozen=True)
class Failure:
    """A check that failed: its place, what was checked, the expected and the actual value."""

    program: str
    problem: str
    check: str
    what: str
    expected: str
    actual: str

    def __str__(self) -> str:
        place = f"{self.program} on {self.problem}, {self.check}"
        return f"{place}: {self.what}: expected {self.expected}, found {self.actual}"


@dataclass(frozen=True)
class Skip:
    """A check that was not made, and why; ``check`` is "solved" when the problem was not even solved."""

    program: str
    problem: str
    check: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The results of a conformance check.

    subject : name of the solver, or of the function, that was checked. seed : that of the random workloads.
    solves : number of solves.
    passed : number of checks that hold, by name.
    notes : gaps that were not reached, by the status of the solution itself.
    """

    subject: str
    seed: int
    solves: int
    passed: Mapping[str, int]
    failures: tuple[Failure, ...]
    skips: tuple[Skip, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether something was checked and nothing failed."""
        return bool(self.passed) and not self.failures

    def __str__(self) -> str:
        count = sum(self.passed.values())
        if self.failures:
            head = f"'{self.subject}' does not conform: failures {len(self.failures)}, {count} checks hold"
        elif self.passed:
            head = f"'{self.subject}' conforms: {count} checks hold"
        else:
            head = f"'{self.subject}' was not checked: everything was skipped"
        lines = [f"{head} ({self.solves} solves, {len(self.skips)} skips, seed {self.seed})"]
        lines += [f"  {name}: {number}" for name, number in self.passed.items()]
        lines += _section("failures", [str(failure) for failure in self.failures])
        lines += _section("skipped", _by_reason(self.skips))
        lines += _section("gap not reached, and said so", self.notes, NOTES_SHOWN)
        return "\n".join(lines)


def _section(title: str, lines: Sequence[str], most: int | None = None) -> list[str]:
    shown = [f"  {line}" for line in lines[:most]] + ["  …"] * (most is not None and len(lines) > most)
    return [f"{title} ({len(lines)})", *shown] if lines else []


def _by_reason(skips: Sequence[Skip]) -> list[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for skip in skips:
        place = f"{skip.program} on {skip.problem}" if skip.problem else skip.program
        places.setdefault((skip.check, skip.reason), []).append(place)
    return [
        f"{check}, {len(where)}: {reason} "
        f"({', '.join(where[:PLACES_SHOWN])}{', …' * (len(where) > PLACES_SHOWN)})"
        for (check, reason), where in places.items()
    ]


DIFFERENCE_STEP = 1e-3  # relative to each entry of the point, so that no entry changes its sign
DIRECTIONS = 4
SAME_DERIVATIVE = (
    1e-6  # of the derivative along a direction, relative to the lengths of derivative and direction
)


@dataclass(frozen=True)
class Dual:
    """A function that a kernel maximizes or minimizes, as it computes it, and a point inside its domain.

    value : from a point (k,) to a number.
    gradient : from a point to the derivative (k,).
    at : (k,) the point where it is tried, in the coordinates of the kernel.
    hessian : from a point to the second derivative (k, k); None when the kernel has none.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    at: Array
    hessian: Callable[[Array], Array] | None = None


def check_dual(dual: Dual, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """The derivatives along random directions that finite differences contradict: name, expected, computed.

    They are central differences with two steps, extrapolated (Richardson), so right to about 1e-9 where the
    function is smooth within a thousandth of the point.
    """
    gradient = np.asarray(dual.gradient(dual.at))
    wrong = list(_contradicted("derivative", dual.value, gradient, dual.at, rng))
    if dual.hessian is not None:
        hessian = np.asarray(dual.hessian(dual.at))
        uneven = float(np.abs(hessian - hessian.T).max())
        if not uneven <= SAME_DERIVATIVE * float(np.abs(hessian).max()):
            wrong.append(("largest difference between the second derivative and its transpose", 0.0, uneven))
        wrong += _contradicted("second derivative", dual.gradient, hessian, dual.at, rng)
    return wrong


def _contradicted(
    what: str, function: Callable[[Array], Any], derivative: Array, at: Array, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    # A difference of two values cannot be better than the rounding of the values.
    rounding = 1e-6 * float(np.linalg.norm(function(at)))
    for number, direction in enumerate(_directions(at, rng)):
        expected = np.atleast_1d(_difference(function, at, direction))
        computed = np.atleast_1d(derivative @ direction)
        size = float(np.linalg.norm(derivative) * np.linalg.norm(direction))
        if not float(np.linalg.norm(computed - expected)) <= SAME_DERIVATIVE * (size + rounding):
            worst = int(np.argmax(np.abs(computed - expected)))
            entry = f", entry {worst}" if derivative.ndim == 2 else ""
            yield f"{what} along direction {number}{entry}", float(expected[worst]), float(computed[worst])


def _directions(at: Array, rng: np.random.Generator) -> Iterator[Array]:
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=at.shape)
        yield np.where(at == 0, 1.0, np.abs(at)) * direction / np.abs(direction).max()


def _difference(function: Callable[[Array], Any], at: Array, direction: Array) -> Array:
    def central(h: float) -> Any:
        return (np.asarray(function(at + h * direction)) - np.asarray(function(at - h * direction))) / (2 * h)

    return np.asarray((4.0 * central(DIFFERENCE_STEP / 2) - central(DIFFERENCE_STEP)) / 3.0)


# -- functions of our kernels, as they compute them

Duals = Callable[[Workload, Program], Dual | None]

WEIGHT_SPREAD = 0.5  # of the logarithms of weights around equal ones


def kernel_duals(solver: object) -> Duals | None:
    """The function that a kernel climbs or descends for its claims, by its name; None for other solvers."""
    if not isinstance(solver, str) or solver not in DUALS:
        return None

    def duals(workload: Workload, program: Program) -> Dual | None:
        instance = bind(program, workload)
        claim = next((c for c in claims(instance) if c.name == solver), None)
        return None if claim is None else DUALS[solver](claim, claim.givens(instance))

    return duals


def _nuclear(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """2 N by the logarithms of the shares, those of queries before those of cells."""
    problem = FORMS[claim.program].problem(givens)
    ranks = [problem.parts[number].rank for number in problem.others]
    t = 0 if problem.targets is None else len(problem.targets)

    def at(x: Array) -> Iterate:
        return iterate(problem, ranks, np.exp(x[t:]), np.exp(x[:t]) if t else None)

    def gradient(x: Array) -> Array:
        point = at(x)
        parts = [point.cost] if point.variance is None else [point.variance, point.cost]
        return point.norm * np.concatenate(parts)

    def hessian(x: Array) -> Array:
        point = at(x)
        q = curvature(problem, point, np.arange(len(x)), many_exponentials).dense()
        return np.asarray(np.diag(gradient(x)) - point.norm * q)

    return Dual(lambda x: 2.0 * at(x).norm, gradient, _logs(t + len(problem.cells)), hessian)


def _weighting(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """The concave sum of the first part, by the prices."""
    problem = SHIPPED[claim.program].parts(givens, FREE_SHARE)[0].problem()

    def gradient(mu: Array) -> Array:
        load = problem.matrix.T @ problem.best_response(problem.matrix @ mu)
        return np.asarray(problem.power / (1.0 + problem.power) * load)

    def value(mu: Array) -> float:
        return problem.value(problem.matrix @ mu)

    return Dual(value, gradient, np.exp(_logs(problem.matrix.shape[1])))


def _banded(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """No dual: the error itself, by the entries of a factor below its diagonal and the shares."""
    near, queries, cover = (np.asarray(givens[name], dtype=float) for name in ("near", "W", "C"))
    problem = Banded(queries, cover, int(near[0].sum()))
    below = int(problem.places.sum())
    at = np.concatenate([np.linspace(-0.5, 0.5, below), np.exp(_logs(len(problem.cover)))])
    return Dual(lambda x: problem.value(x)[0], lambda x: problem.value(x)[1], at)


def _logs(size: int) -> Array:
    """Logarithms of weights that are all different, of sum near 1."""
    return np.asarray(np.linspace(-WEIGHT_SPREAD, WEIGHT_SPREAD, size) - np.log(size))


FREE_SHARE = 1e-3  # of the sensitivity, for weights without error
DUALS: Mapping[str, Callable[[Claim, Mapping[str, Any]], Dual]] = MappingProxyType(
    {"nuclear": _nuclear, "weighting": _weighting, "banded": _banded}
)


# What is wrong, the expected value, the value found.
Wrong = tuple[str, str, str]

# Relative: two results of a procedure agree so far. Each step stops at a different gap, and no bound shows
# how good the result is.
SAME_RESULT = 1e-3

ROUNDING = 1e-9  # the same workload written in another way rounds in another way


@dataclass(frozen=True)
class Interval:
    """An optimum's interval, on the scale that a program's formulations share; ``low`` may be -infinity."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{self.low:.10g}, {self.high:.10g}]"

    def times(self, factor: float) -> Interval:
        """The interval of a problem whose optimum is so many times this one's."""
        return Interval(factor * self.low, factor * self.high)

    def meets(self, other: Interval) -> bool:
        """Whether an optimum may lie in both, up to rounding."""
        slack = ROUNDING * max(abs(self.high), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack


@dataclass(frozen=True)
class Trial:
    """A program on a workload: that of a problem, or the same one written in another way, the ``case``."""

    program: Program
    workload: Workload
    problem: str
    case: str = ""

    @property
    def place(self) -> str:
        """Problem and case."""
        return f"{self.problem}, {self.case}" if self.case else self.problem

    def interval(self, solution: Solution) -> Interval:
        """From the bound to the objective (the other way round when the program maximizes)."""
        instance = bind(self.program, self.workload)
        ends = (solution.objective, -math.inf if solution.bound is None else solution.bound)
        values = [value_of(instance, instance.env, end) if math.isfinite(end) else end for end in ends]
        return Interval(min(values), max(values))


def of_file(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether the point is feasible, and every figure is that of the program file at it."""
    if not solution.status.feasible:
        yield "the point", "feasible", "not feasible, by its own status"
    for row in verify(solution, trial.workload, trial.program).failures:
        yield row.what, f"{_shown(row.recomputed)} (recomputed)", f"{_shown(row.stated)} (stated)"


def of_bound(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether there is a bound where the program has one, and it is on its side of the objective."""
    if solution.bound is None:
        if trial.program.certificate is not None or trial.program.bound:
            yield "bound", "a number: the program has a certificate", "none"
        return
    low, high = solution.bound, solution.objective
    if solution.sense == "maximize":
        low, high = high, low
    if not low <= high:
        yield "bound and objective", "not to cross", f"{solution.bound:.17g} and {solution.objective:.17g}"


def of_gap(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether the status is "gap reached" if and only if the gap is at most the tolerance."""
    for part in (solution, *solution.steps.values()):
        tolerance = part.options.get("tolerance")
        if part.gap is None or not isinstance(tolerance, float) or part.steps:
            continue
        is_stated, reached = part.status.stop == "gap reached", part.gap <= tolerance
        if is_stated != reached:
            words = f"gap {part.gap:.1e} at tolerance {tolerance:.1e}, '{part.status.stop}'"
            yield f"gap of {part.program}", "'gap reached' if and only if it is", words


def of_known(interval: Interval, figures: Sequence[Figure]) -> Iterator[Wrong]:
    """Whether the known figures of the optimum agree with the interval."""
    for figure in figures:
        if not meets(figure, interval.low, interval.high):
            what = {"exact": "to hold", "upper": "to reach down to", "lower": "to reach up to"}[figure.kind]
            yield figure.source, f"{what} {figure.value:.10g}", str(interval)


def closeness(program: Program, one: Interval, other: Interval) -> Iterator[Wrong]:
    """Whether intervals of one optimum have a common point; results of a procedure are close, too."""
    if not one.meets(other):
        yield "optimum", f"in {one}", f"in {other}"
    elif program.problem_class == "procedure" and abs(other.high - one.high) > SAME_RESULT * abs(one.high):
        yield "result", f"{one.high:.10g}", f"{other.high:.10g}"


def _shown(figure: float | str | None) -> str:
    return f"{figure:.10g}" if isinstance(figure, float) else str(figure)
