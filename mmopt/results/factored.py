"""A saved strategy that is kept in factors: what it is, for which workload, and how good."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmopt.errors import ResultError
from mmopt.numerics.outward import rounded
from mmopt.results import npz_file
from mmopt.results.saved_fields import Saved, build
from mmopt.results.solution import Solution
from mmopt.results.status import Grade
from mmopt.results.verification import Check, Verification
from mmopt.strategies import MarginalStrategy, ProductStrategy, StrategyForm, UnionStrategy
from mmopt.workloads import Workload

__all__ = ["FactoredSolution", "load_saved"]

KIND = "strategy in factors"
FORMS = {
    "identity": ProductStrategy,
    "product": ProductStrategy,
    "union": UnionStrategy,
    "marginals": MarginalStrategy,
}
CLOSE = 1e-9  # relative: what a recomputed figure may be off by
SEARCHED = 2e-6  # the same, of a bound that is searched for anew


@dataclass(frozen=True, eq=False, repr=False)
class FactoredSolution(Saved):
    """A template's strategy; ``save`` and ``load`` give it back equal.

    template : its name. error : total squared error, weighted, at unit noise per unit of sensitivity.
    rmse : √(mean unweighted variance) likewise. bound : on the error of every strategy; bound_from : by what.
    """

    WHAT = "strategy"
    HINT = "save one with 'mmopt templates --out' or FactoredSolution.save"

    template: str
    strategy: StrategyForm
    error: float
    rmse: float
    bound: float
    bound_from: str
    seconds: float
    workload_hash: str

    def __post_init__(self) -> None:
        # The strategy's own error is above the best one's: a bound that is not is so by rounding, or false.
        object.__setattr__(self, "bound", min(self.bound, self.error))

    @property
    def bound_grade(self) -> Grade:
        """What the bound rests on: a shipped certificate, or singular values without an error bound."""
        return "proved" if self.bound_from == "l2_strategy" else "estimated"

    @property
    def gap(self) -> float:
        """error / bound - 1."""
        return self.error / self.bound - 1.0

    def rows(self) -> list[tuple[str, str]]:
        """What a reader wants to see first, as (name, text)."""
        return [
            ("template", self.template),
            ("strategy", repr(self.strategy)),
            (
                "total error",
                f"{rounded(self.error, 10, up=True)}   (estimated; at unit noise and sensitivity 1)",
            ),
            (
                "error bound",
                f"{rounded(self.bound, 10, up=False)}   "
                f"({self.bound_grade}; over all strategies, by {self.bound_from})",
            ),
            ("error gap", f"{rounded(self.gap, 3, up=True, layout='e')}   (estimated)"),
            ("rmse", f"{rounded(self.rmse, 6, up=True)}   (per query, unweighted)"),
        ]

    def summary(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "template": self.template,
            "strategy": repr(self.strategy),
            "norm": self.strategy.norm,
            "error": self.error,
            "error_grade": "estimated",
            "error_bound": self.bound,
            "error_bound_grade": self.bound_grade,
            "bound_from": self.bound_from,
            "rmse": self.rmse,
            "seconds": self.seconds,
        }

    def verify(self, workload: Workload, bound: Callable[[Workload], tuple[float, str]]) -> Verification:
        """Recompute the figures from the factors.

        ``bound`` computes the bound on every strategy's error anew, and says from what (``template_bound``).
        """
        sensitivity, form = self.strategy.sensitivity, FORMS.get(self.template, ())
        rows = [
            Check("template", self.template, repr(self.strategy), isinstance(self.strategy, form)),
            Check("workload", self.workload_hash, workload.hash, workload.hash == self.workload_hash),
            Check("sensitivity", 1.0, sensitivity, sensitivity <= 1.0 + CLOSE),
        ]
        if rows[1].holds:
            error = self.strategy.total_error(workload)
            rmse = self.strategy.rmse(workload)
            rows += [
                Check("total error", self.error, error, math.isclose(error, self.error, rel_tol=CLOSE)),
                Check("rmse", self.rmse, rmse, math.isclose(rmse, self.rmse, rel_tol=CLOSE)),
            ]
            found, source = bound(workload)
            # Two searches do not end at the same bound to the last digit; a smaller one holds all the same.
            holds = 0.0 <= self.bound <= found * (1 + SEARCHED) and self.bound <= error * (1 + CLOSE)
            rows += [
                Check("error bound", self.bound, found, holds),
                Check("bound by", self.bound_from, source, self.bound_from == source),
            ]
        return Verification(f"template {self.template}", tuple(rows), ("seconds",))

    def fields(self) -> dict[str, Any]:
        return {"kind": KIND, **super().fields()}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> FactoredSolution:
        return build(cls, {name: value for name, value in fields.items() if name != "kind"})

    @staticmethod
    def load(path: str | Path) -> FactoredSolution:
        """Read a saved strategy; :class:`~mmopt.errors.ResultError` when it cannot be read."""
        found = load_saved(path)
        if isinstance(found, Solution):
            raise ResultError(f"'{path}' is a solution of '{found.program}', no strategy in factors")
        return found

    def __repr__(self) -> str:
        gap = rounded(self.gap, 2, up=True, layout="e")
        return f"FactoredSolution({self.template}: error {rounded(self.error, 8, up=True)}, gap {gap})"


def load_saved(path: str | Path) -> Solution | FactoredSolution:
    """A saved solution, or a saved strategy in factors; ResultError when it cannot be read."""
    record, arrays = npz_file.read(Path(path))
    if record.get("kind") != KIND:
        return Solution.load(path)
    return FactoredSolution.unpacked(path, record, arrays)
