"""The checks of one solution: from what was asked and what came back, what is wrong.

A solution claims its optimum to lie in an interval; two intervals of one optimum have a point in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmopt.compiler import bind
from mmopt.driver.judge.assemble_solution import value_of
from mmopt.language import Program
from mmopt.proof import verify
from mmopt.results import Solution
from mmopt.testing.known_optima import Figure, meets
from mmopt.workloads import Workload

__all__ = [
    "SAME_RESULT",
    "Asked",
    "Interval",
    "Wrong",
    "closeness",
    "of_bound",
    "of_file",
    "of_gap",
    "of_known",
]

# What is wrong, what was expected, what was found.
Wrong = tuple[str, str, str]

# Two results of a procedure agree to this, relatively: each step stops at its own gap, and no bound of its
# own tells how good the result is.
SAME_RESULT = 1e-3

ROUNDING = 1e-9  # the same workload written in another way rounds in another way


@dataclass(frozen=True)
class Interval:
    """On the scale that the formulations of a program share; ``low`` is minus infinity without a bound."""

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
class Asked:
    """A program on a workload: that of a problem, or the same written in another way, the ``case``."""

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


def of_file(asked: Asked, solution: Solution) -> Iterator[Wrong]:
    """Feasible, and every figure as the program file has it at the point and the multipliers."""
    if not solution.status.feasible:
        yield "the point", "feasible", "not feasible, by its own status"
    for row in verify(solution, asked.workload, asked.program).failures:
        yield row.what, f"{_shown(row.recomputed)} (recomputed)", f"{_shown(row.stated)} (stated)"


def of_bound(asked: Asked, solution: Solution) -> Iterator[Wrong]:
    """There is a bound where the program has one, and it is on its side of the objective."""
    if solution.bound is None:
        if asked.program.certificate is not None or asked.program.bound:
            yield "bound", "a number: the program has a certificate", "none"
        return
    low, high = solution.bound, solution.objective
    if solution.sense == "maximize":
        low, high = high, low
    if not low <= high:
        yield "bound and objective", "not to cross", f"{solution.bound:.17g} and {solution.objective:.17g}"


def of_gap(asked: Asked, solution: Solution) -> Iterator[Wrong]:
    """ "gap reached" is said exactly when the gap is at most the tolerance."""
    for part in (solution, *solution.steps.values()):
        tolerance = part.options.get("tolerance")
        if part.gap is None or not isinstance(tolerance, float) or part.steps:
            continue
        said, reached = part.status.stop == "gap reached", part.gap <= tolerance
        if said != reached:
            words = f"gap {part.gap:.1e} at tolerance {tolerance:.1e}, '{part.status.stop}'"
            yield f"gap of {part.program}", "'gap reached' if and only if it is", words


def of_known(found: Interval, figures: Sequence[Figure]) -> Iterator[Wrong]:
    """What is known of the optimum does not contradict the interval."""
    for figure in figures:
        if not meets(figure, found.low, found.high):
            what = {"exact": "to hold", "upper": "to reach down to", "lower": "to reach up to"}[figure.kind]
            yield figure.source, f"{what} {figure.value:.10g}", str(found)


def closeness(program: Program, one: Interval, other: Interval) -> Iterator[Wrong]:
    """Two intervals of one optimum have a point in common; of a procedure, the results are close too."""
    if not one.meets(other):
        yield "optimum", f"in {one}", f"in {other}"
    elif program.klass == "procedure" and abs(other.high - one.high) > SAME_RESULT * abs(one.high):
        yield "result", f"{one.high:.10g}", f"{other.high:.10g}"


def _shown(figure: float | str | None) -> str:
    return f"{figure:.10g}" if isinstance(figure, float) else str(figure)
