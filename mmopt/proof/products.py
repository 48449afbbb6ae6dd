"""A product verified and certified factor by factor, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mmopt.driver.solve_factors import composed
from mmopt.driver.solve_plan import FEW_CELLS, SolvePlan, plan_in_factors
from mmopt.language import Checked, Program
from mmopt.numerics.split_arrays import Kronecker
from mmopt.proof.recheck import Recheck, Rows, feasible_or_not, same_arrays
from mmopt.results import Check, Solution
from mmopt.strategies import ProductStrategy
from mmopt.workloads import Workload

__all__ = ["certified_product", "plan_of_product", "recheck_product"]

FIGURES = {
    "objective": "",
    "bound": "",
    "own_sensitivity": "own sensitivity",
    "value": "",
    "sensitivity": "",
    "error": "total error",
    "error_bound": "error bound",
    "rmse": "",
}
"""What of a product follows from its factors, with the words for it where these are not its name."""


def recheck_product(
    work: Recheck, checked: Checked, checks: Callable[[Solution, Workload, Program, str], list[Check]]
) -> None:
    """Verify the factors by ``checks``, and recompute every figure of the whole from theirs.

    That the whole is the product of its factors is decided anew, from the program's tree and the workload.
    """
    s, rows = work.solution, work.rows
    stated = ", ".join(s.steps)
    plan = rows.tried("factors", stated, lambda: plan_in_factors(checked, work.workload, s.givens))
    known = {} if plan is None else plan.factors
    words = ", ".join(known) or "no product of factors"
    if not rows.add("factors", stated, words, bool(known) and list(s.steps) == list(known)):
        return
    holds = True
    for name, part in known.items():
        step = s.steps[name]
        found = Rows(checks(step, part.instance.workload, checked.written, "the program of the whole"))
        found.same("givens", ", ".join(step.givens), same_arrays(step.givens, s.givens), "those of the whole")
        holds = rows.below(name, found) and holds
    if not holds:
        return
    made = composed(work.workload.hash, s.steps)
    rows.same("values", stated, _values(s) == _values(made), "those of the factors")
    agree = same_arrays(*(one.strategy.fields()["factors"]["0"] for one in (s, made)))
    rows.same("strategy", repr(s.strategy), agree, "that of the factors")
    words = feasible_or_not(made.status.feasible)
    rows.add("feasible", feasible_or_not(s.status.feasible), words, s.status.feasible == made.status.feasible)
    for field, what in FIGURES.items():
        holds = field != "error_bound" or s.error_bound <= s.error
        rows.figure(field, getattr(s, field), partial(getattr, made, field), holds, what)
    work.gap(made.gap)
    work.grades((made.objective_grade, made.bound_grade, made.error_grade, made.error_bound_grade))
    work.status()
    is_same = s.has_strategy == made.has_strategy and s.derived_bound is None and not s.derived_from
    rows.same("has_strategy", str(s.has_strategy), is_same, "as of the factors")


def _values(s: Solution) -> list[tuple[str, tuple[int, ...]]]:
    """Which values of factors the whole's are made of, by their identity."""
    alone = ("error_multipliers", "covariance", "basis")
    named = [*s.variables.items(), *s.multipliers.items(), *((name, getattr(s, name)) for name in alone)]
    return [(name, tuple(map(id, v.parts))) for name, v in named if isinstance(v, Kronecker)]


def plan_of_product(
    checked: Checked,
    workload: Workload,
    given: Any,
    multipliers: Mapping[str, Any],
    givens: Mapping[str, Any],
) -> SolvePlan | None:
    """The plan by which a strategy is certified in factors; None where it, the workload or multipliers of it
    are no product, or its cells few."""
    is_product = isinstance(given, ProductStrategy) and given.sizes == workload.domain.shape
    is_product = is_product and all(isinstance(value, Kronecker) for value in multipliers.values())
    return plan_in_factors(checked, workload, givens) if is_product and workload.n > FEW_CELLS else None


def certified_product(
    plan: SolvePlan,
    given: Any,
    multipliers: Mapping[str, Kronecker],
    certify: Callable[..., Solution],
) -> Solution:
    """What the factors make together, each certified."""
    parts = [{key: v.parts[at] for key, v in multipliers.items()} for at in range(len(plan.parts))]
    factors = {
        name: certify(part.instance.workload, factor, multipliers=parts[at])
        for at, ((name, part), factor) in enumerate(zip(plan.factors.items(), given.factors, strict=True))
    }
    warnings = tuple(f"factor '{name}': {text}" for name, s in factors.items() for text in s.warnings)
    whole = composed(plan.instance.workload.hash, factors)
    return replace(whole, reductions=(plan.split,), warnings=warnings)
