"""A saved strategy that is kept in factors: what it is, for which workload, and how good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mmopt.notebook import Charted, Reported
from mmopt.numerics.outward import rounded
from mmopt.results import npz_file
from mmopt.results.rows_and_json import error_rows
from mmopt.results.saved_fields import Saved, build
from mmopt.results.solution import Solution, relative_gap
from mmopt.results.solve_status import Grade
from mmopt.strategies import StrategyForm

__all__ = ["FOR_TARGETS", "AnySolution", "FactoredSolution", "load_saved"]

FOR_TARGETS = " for targets"
"""Ends the name of a template whose weights followed the targets of the queries."""


@dataclass(frozen=True, eq=False, repr=False)
class FactoredSolution(Saved, Charted, Reported):
    """A template's strategy; ``save`` and ``load`` give it back equal.

    template : its name. error : total squared error, weighted, at unit noise per unit of sensitivity.
    rmse : √(mean unweighted variance) likewise. error_bound : on the error of every strategy; bound_from : by
    what. What only a program has (targets, a scale of its own, steps) is empty.
    """

    KIND = "strategy in factors"
    WHAT = "strategy"
    HINT = "save one with 'mmopt templates --out' or FactoredSolution.save"
    COMMAND = "templates"

    template: str
    strategy: StrategyForm
    error: float
    rmse: float
    error_bound: float
    bound_from: str
    seconds: float
    workload_hash: str

    sense: ClassVar[str] = "minimize"
    covariance: ClassVar[None] = None
    own_sensitivity: ClassVar[None] = None
    has_strategy: ClassVar[bool] = True
    steps: ClassVar[Mapping[str, Any]] = {}
    # Singular values and sums without error bounds.
    error_grade: ClassVar[Grade] = "estimated"
    error_gap_grade: ClassVar[Grade] = "estimated"

    def __post_init__(self) -> None:
        # The strategy's own error is above the best one's: a bound that is not is so by rounding, or false.
        object.__setattr__(self, "error_bound", min(self.error_bound, self.error))

    @property
    def program(self) -> str:
        """What stands for the name of a program."""
        return f"template {self.template}"

    @property
    def by_targets(self) -> bool:
        """Whether the targets of the queries set the noise of a release."""
        return self.template.endswith(FOR_TARGETS)

    @property
    def words(self) -> str:
        """Where the strategy is from."""
        return self.program

    @property
    def error_gap(self) -> float:
        """error / error_bound - 1."""
        return relative_gap(self.error, self.error_bound)

    @property
    def error_bound_grade(self) -> Grade:
        """What the bound rests on: a shipped certificate, or singular values without an error bound."""
        return "proved" if self.bound_from == "l2_strategy" else "estimated"

    def about_program(self) -> dict[str, Any]:
        """Nothing: there is none."""
        return {}

    def rows(self) -> list[tuple[str, str]]:
        """What a reader wants to see first, as (name, text)."""
        named = [("template", self.template), ("strategy", repr(self.strategy))]
        return named + error_rows(self, by=f", by {self.bound_from}")

    def summary(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "template": self.template,
            "strategy": repr(self.strategy),
            "norm": self.strategy.norm,
            "error": self.error,
            "error_grade": self.error_grade,
            "error_bound": self.error_bound,
            "error_bound_grade": self.error_bound_grade,
            "bound_from": self.bound_from,
            "rmse": self.rmse,
            "seconds": self.seconds,
        }

    def fields(self) -> dict[str, Any]:
        return {"kind": self.KIND, **super().fields()}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> FactoredSolution:
        # Version 0.1.0 called the bound on the error of every strategy 'bound'.
        renamed = {"error_bound" if name == "bound" else name: value for name, value in fields.items()}
        return build(cls, {name: value for name, value in renamed.items() if name != "kind"})

    def __repr__(self) -> str:
        gap = rounded(self.error_gap, 2, up=True, layout="e")
        return f"FactoredSolution({self.template}: error {rounded(self.error, 8, up=True)}, gap {gap})"


# Both have ``Saved`` and, under the same names, the strategy and its figures: who takes one takes the other.
AnySolution = Solution | FactoredSolution


def load_saved(path: str | Path) -> AnySolution:
    """A saved solution, or a saved strategy in factors; ResultError when it cannot be read."""
    record, arrays = npz_file.read(Path(path))
    kind = FactoredSolution if record.get("kind") == FactoredSolution.KIND else Solution
    return kind.unpacked(path, record, arrays)
