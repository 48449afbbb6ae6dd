"""A template's strategy rechecked: every figure again from its factors, and the bound searched anew.

Guards recheck.py.
"""

import dataclasses
import re

import numpy as np
import pytest
import tolerances

from mmopt.driver.templates import TEMPLATES, templates
from mmopt.errors import OptionError, WorkloadError
from mmopt.proof import verify
from mmopt.strategies import Neighbours, Strategy, normalise
from mmopt.strategies.factor_strategies import MarginalStrategy, ProductStrategy, UnionStrategy
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total

DOMAIN = Domain(tuple(Attribute(name, tuple(map(str, range(n)))) for name, n in (("a", 3), ("b", 4))))
W = Workload.from_products(
    DOMAIN, [Product((identity(3), total(4)), "a"), Product((total(3), prefix(4)), "b", weight=2.0)]
)
MADE = [(name, norm) for name, template in TEMPLATES.items() for norm in template.norms]


def test_another_template_or_one_that_there_is_not_is_found_and_a_program_is_refused():
    solution = templates(W, 2, ["product"]).solution(W)
    for name in ("marginals", "tree"):
        found = verify(dataclasses.replace(solution, template=name), W)
        assert [row.what for row in found.failures] == ["template"]
    with pytest.raises(OptionError) as caught:
        verify(solution, W, "l2_strategy")
    assert str(caught.value) == "'template product' is a strategy in factors, which is of no program"


@pytest.mark.some(3)
@pytest.mark.parametrize(("name", "norm"), MADE)
def test_verified(name, norm, tmp_path):
    solution = templates(W, norm, [name]).solution(W)
    assert verify(solution.save(tmp_path / "one.npz"), W) == verify(solution, W)
    found = verify(solution, W)
    assert found.holds and [row.what for row in found.rows] == [
        "template",
        "workload",
        "sensitivity",
        "total error",
        "rmse",
        "error bound",
        "bound by",
    ]
    more = solution.error * 1.01
    changed = dataclasses.replace(solution, error=more, error_bound=more)
    failures = [row.what for row in verify(changed, W).failures]
    assert failures == ["total error", "error bound"]
    forged = dataclasses.replace(solution, error_bound=solution.error, bound_from="Gauss")
    is_above = solution.error_gap > tolerances.GAP  # of a strategy at the optimum the error is a bound
    expected = ["error bound", "bound by"] if is_above else ["bound by"]
    assert [row.what for row in verify(forged, W).failures] == expected
    assert dataclasses.replace(solution, error_bound=solution.error * (1 + 1e-10)).error_gap == 0.0
    other = Workload.from_products(DOMAIN, W.products[:1])
    assert [row.what for row in verify(solution, other).failures] == ["workload"]


def test_a_strategy_for_other_neighbours_is_refused():
    """The bound is on strategies of sensitivity 1 to add-remove: to others a strategy may have less error."""
    own = templates(W, 2, ["product"]).solution(W)
    replaced = Neighbours.of("replace-one").over(W)
    few = Strategy(np.vstack([np.full((1, W.n), 5.0), np.eye(W.n)]), 2, replaced)
    strategy = normalise(few)
    error = strategy.total_error(W)
    figures = {"error": error, "rmse": strategy.rmse(W), "error_bound": min(own.error_bound, error)}
    changed = dataclasses.replace(own, template="p_identity for targets", strategy=strategy, **figures)
    assert [row.what for row in verify(changed, W).failures] == ["neighbours"]


def test_a_strategy_of_other_attributes_is_refused():
    """Figures with a factor too many, or two in another order, are not those of this workload."""
    own = templates(W, 2, ["product"]).solution(W)
    factors, shape = own.strategy.factors, DOMAIN.shape
    few = ProductStrategy(factors[:-1])
    more = ProductStrategy((*factors, Strategy(np.eye(4))))
    turned = MarginalStrategy(shape[::-1], np.ones(2 ** len(shape)) / 4)
    for strategy in (few, more, UnionStrategy((more,), (1.0,)), turned):
        forged = dataclasses.replace(own, strategy=strategy)
        with pytest.raises(WorkloadError, match=re.escape(f", the workload {shape}")):
            verify(forged, W)
        for ask in (strategy.supports, strategy.variances, strategy.total_error):
            with pytest.raises(WorkloadError):
                ask(W)
