"""What is said of an objective beside its value: what misses are charged to it, and why it is estimated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.same_program import is_shipped
from mmopt.driver.judge.score_point import upper_value
from mmopt.driver.judge.violations import Violation, violations
from mmopt.language import evaluate
from mmopt.language.evaluate.evaluate_constraint import excess_with_errors
from mmopt.language.evaluate.split_values import splits
from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import plain
from mmopt.results import Solution

__all__ = ["objective_remarks"]

TOLD = 1e-13  # relative: a smaller miss is the rounding of a sum
MOST_NAMED = 3  # lines


def objective_remarks(instance: Instance, solution: Solution) -> list[str]:
    """Of a convex program of the user's own: what its objective is charged, and why it is no more than
    estimated; nothing of a shipped program, whose repair keeps its lines.
    """
    if is_shipped(instance.checked) or splits(instance.env) or instance.program.klass != "convex":
        return []
    env = {**instance.env, **plain(solution.variables)}
    return [*_charge(instance, env, solution)] or [*_why_estimated(instance, env, solution)]


@np.errstate(all="ignore")
def _charge(instance: Instance, env: dict[str, Any], solution: Solution) -> Iterator[str]:
    missed: list[Violation] = [v for v in violations(instance, env) if v.amount > 0]
    value = float(evaluate(instance.program.objective, env))
    charge = abs(solution.objective - value)
    line = by = ""
    if missed:
        line, by = missed[0].text(instance), rounded(missed[0].amount, 2, up=True, layout="e")
    if charge > float(solution.options.get("tolerance") or 1e-6) * max(1.0, abs(value)):
        misses = f"misses of {line} (by {by}, relatively, times its multiplier)"
        what = misses if missed else "the rounding of its value or of a line"
        most = rounded(charge, 3, up=True)
        yield f"the objective is {value:.6g} at the point, and charged {most} for {what}"
    elif not missed or missed[0].amount <= TOLD:
        return
    elif solution.solver == "given" and not solution.multipliers:
        yield (
            f"the point misses {line} by {by}, relatively, which is taken for rounding: without multipliers "
            "nothing is charged for it, and the objective may be better than the optimum"
        )


def _why_estimated(instance: Instance, env: dict[str, Any], solution: Solution) -> Iterator[str]:
    # A strategy is judged by its total error, which has a grade of its own.
    if solution.has_strategy or solution.objective_grade != "estimated":
        return
    unsure = [c for c in instance.program.constraints if excess_with_errors(c, env) > 0.0]
    equations = [c.name for c in unsure if c.relation.op == "=="]
    others = [c.name for c in unsure if c.relation.op != "=="]
    if equations:
        yield (
            f"the objective is estimated, as {_named(equations)} holds up to rounding only; where '<=' or "
            "'>=' means the same, it could be proved"
        )
    elif others:
        yield f"the objective is estimated: that {_named(others)} holds is known up to rounding only"
    elif not upper_value(instance.program.objective, env)[1]:
        yield "the objective is estimated: no error bound is known of its evaluation"


def _named(lines: list[str]) -> str:
    rest = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in lines[:MOST_NAMED]) + rest
