"""The checks of one solution. Each is given what was asked and what came back, and says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmopt.language import Program
from mmopt.proof import verify
from mmopt.results import Solution
from mmopt.testing.conformance.intervals import Interval, interval
from mmopt.testing.figures import Figure, meets
from mmopt.workloads import Workload

__all__ = ["CLOSE", "Asked", "Wrong", "closeness", "of_bound", "of_file", "of_gap", "of_known"]

# What is wrong, what was expected, what was found.
Wrong = tuple[str, str, str]

# Two results of a procedure agree to this, relatively: each step stops at its own gap, and no bound of its
# own tells how good the result is.
CLOSE = 1e-3


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
        """Where the solution claims the optimum to be."""
        return interval(solution, self.program, self.workload)


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
    elif program.klass == "procedure" and abs(other.high - one.high) > CLOSE * abs(one.high):
        yield "result", f"{one.high:.10g}", f"{other.high:.10g}"


def _shown(figure: float | str | None) -> str:
    return f"{figure:.10g}" if isinstance(figure, float) else str(figure)
