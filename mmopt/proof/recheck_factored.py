"""The figures of a template's strategy, recomputed from its factors."""

from __future__ import annotations

from mmopt.driver.templates import form_of, template_bound
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.proof.recheck import CLOSE, Rows, close
from mmopt.results import Check, FactoredSolution
from mmopt.workloads import Workload

__all__ = ["recheck_factored"]

SEARCHED = 2e-6  # relative: what a bound that is searched for anew may be below the one stated


def recheck_factored(s: FactoredSolution, workload: Workload, expected: Program | None) -> list[Check]:
    """The checks of a strategy in factors; the bound on every strategy's error is computed anew.

    Raises
    ------
    OptionError : a program is expected, and there is none.
    """
    if expected is not None:
        raise OptionError(f"'{s.program}' is a strategy in factors, which is of no program")
    rows, sensitivity = Rows(), s.strategy.sensitivity
    fits = type(s.strategy) is form_of(s.template)
    rows.add("template", s.template, repr(s.strategy), fits)
    is_same = rows.add("workload", s.workload_hash, workload.hash, s.workload_hash == workload.hash)
    rows.add("sensitivity", 1.0, sensitivity, sensitivity <= 1.0 + CLOSE)
    if not is_same:
        return rows.found
    error, rmse = s.strategy.total_error(workload), s.strategy.rmse(workload)
    rows.add("total error", s.error, error, close(s.error, error), "error")
    rows.add("rmse", s.rmse, rmse, close(s.rmse, rmse), "rmse")
    bound, source = template_bound(workload)
    # Two searches do not end at the same bound to the last digit; a smaller one holds all the same.
    holds = 0.0 <= s.error_bound <= bound * (1 + SEARCHED) and s.error_bound <= error * (1 + CLOSE)
    rows.add("error bound", s.error_bound, bound, holds, "error_bound")
    rows.add("bound by", s.bound_from, source, s.bound_from == source)
    return rows.found
