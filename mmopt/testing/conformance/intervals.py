"""The interval that a solution claims its optimum to lie in, and what two such intervals say together."""

from __future__ import annotations

from dataclasses import dataclass

from mmopt.compiler import bind
from mmopt.driver.judge.assemble import value_of
from mmopt.language import Program
from mmopt.results import Solution
from mmopt.workloads import Workload

__all__ = ["ROUNDING", "Interval", "interval"]

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


def interval(solution: Solution, program: Program, workload: Workload) -> Interval:
    """From the bound to the objective (the other way round when the program maximizes)."""
    instance = bind(program, workload)

    def value(end: float) -> float:
        return value_of(instance, instance.env, end)

    ends = [value(solution.objective)]
    ends += [float("-inf")] if solution.bound is None else [value(solution.bound)]
    return Interval(min(ends), max(ends))
