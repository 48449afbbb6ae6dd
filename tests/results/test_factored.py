"""Strategies in factors as files: they come back equal, and what is no such file is refused."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from mmopt.driver.templates import templates
from mmopt.errors import ResultError, WorkloadError
from mmopt.proof import verify
from mmopt.results import FactoredSolution, Solution, load_saved, npz_file
from mmopt.results.saved_fields import pack
from mmopt.strategies import Strategy
from mmopt.strategies.marginals import MarginalStrategy
from mmopt.strategies.product import ProductStrategy
from mmopt.strategies.union import UnionStrategy
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks.factor import identity, prefix, total

DOMAIN = Domain(tuple(Attribute(name, tuple(map(str, range(n)))) for name, n in (("a", 3), ("b", 4))))
W = Workload.from_products(
    DOMAIN, [Product((identity(3), total(4)), "a"), Product((total(3), prefix(4)), "b", weight=2.0)]
)
NAMES = ("identity", "product", "union", "marginals")


@pytest.fixture(scope="module", params=[(name, norm) for name in NAMES for norm in (1, 2)], ids=str)
def solution(request: pytest.FixtureRequest) -> FactoredSolution:
    name, norm = request.param
    return templates(W, norm, [name]).solution(W)


def test_saved_and_loaded_equal(solution, tmp_path):
    path = solution.save(tmp_path / "one")
    assert path.name == "one.npz"
    found = FactoredSolution.load(path)
    assert found == solution == load_saved(path)
    assert type(found.strategy) is type(solution.strategy) and found.strategy.norm == solution.strategy.norm
    assert found.strategy.sensitivity == solution.strategy.sensitivity
    np.testing.assert_array_equal(found.strategy.variances(W), solution.strategy.variances(W))
    assert found != dataclasses.replace(solution, error=2.0) and found != 1


def test_verified(solution):
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
    changed = dataclasses.replace(solution, error=solution.error * 0.99, error_bound=solution.error * 0.99)
    failures = [row.what for row in verify(changed, W).failures]
    assert failures == ["total error", "error bound"]
    forged = dataclasses.replace(solution, error_bound=solution.error, bound_from="Gauss")
    assert [row.what for row in verify(forged, W).failures] == ["error bound", "bound by"]
    assert dataclasses.replace(solution, error_bound=solution.error * (1 + 1e-10)).error_gap == 0.0
    other = Workload.from_products(DOMAIN, W.products[:1])
    assert [row.what for row in verify(solution, other).failures] == ["workload"]


def test_a_strategy_of_other_attributes_is_refused():
    """What a factor too many, or two in another order, makes of the figures is none of this workload's."""
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


def test_texts():
    found = templates(W, 1, ["product"]).solution(W)
    assert [name for name, _ in found.rows()] == [
        "template",
        "strategy",
        "total error",
        "error bound",
        "error gap",
        "rmse",
    ]
    assert repr(found).startswith("FactoredSolution(product: error ") and "product" in str(found)
    assert found.summary()["error"] == found.error and found.error_gap == found.error / found.error_bound - 1


def test_refused(tmp_path):
    found = templates(W, 2, ["union"]).solution(W)
    record, arrays = pack(found.fields())
    hint = "save one with 'mmopt templates --out' or FactoredSolution.save"
    record["strategy"]["mapping"]["form"] = "tree"
    path = npz_file.write(record, arrays, tmp_path / "tree.npz")
    with pytest.raises(ResultError) as caught:
        FactoredSolution.load(path)
    assert str(caught.value) == (
        f"'{path}' is not a saved strategy: its strategy has the form 'tree', expected product, union or "
        f"marginals\n  {hint}"
    )
    for name, value, words in (
        ("error", "low", "its field 'error' is a str, expected float"),
        ("template", 3, "its field 'template' is a int, expected str"),
    ):
        path = npz_file.write({**pack(found.fields())[0], name: value}, arrays, tmp_path / "wrong.npz")
        with pytest.raises(ResultError) as caught:
            FactoredSolution.load(path)
        assert str(caught.value) == f"'{path}' is not a saved strategy: {words}\n  {hint}"
    path = npz_file.write({"kind": "strategy in factors"}, {}, tmp_path / "empty.npz")
    with pytest.raises(ResultError):
        FactoredSolution.load(path)
    path = found.save(tmp_path / "factored.npz")
    with pytest.raises(ResultError) as caught:
        Solution.load(path)
    assert str(caught.value) == (
        f"'{path}' holds a strategy in factors, not the solution of a program\n"
        "  'mmopt release --strategy' and 'mmopt verify' take it"
    )
