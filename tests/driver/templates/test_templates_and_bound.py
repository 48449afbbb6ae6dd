"""All templates beside each other, and their tuning (template_tuning).

Guards templates_and_bound.py.
"""

from pathlib import Path

import numpy as np
import pytest
from named_workloads import census

from mmopt import Workload, solve
from mmopt.driver.templates import TEMPLATES, templates, tune_templates
from mmopt.errors import OptionError, UnsuitableError, WorkloadError
from mmopt.request import load_request
from mmopt.testing.problem_registry import Figure, domain_of, holds, marginals
from mmopt.workloads import Product, factors_and_products as f


def test_the_best_first_and_none_below_the_bound(subtests: pytest.Subtests) -> None:
    products = [Product((f.prefix(5), f.total(3))), Product((f.total(5), f.identity(3)), weight=2.0)]
    workload = Workload.from_products(domain_of(5, 3), products)
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            said: list[str] = []
            found = templates(workload, norm, report=said.append)
            known = [name for name, template in TEMPLATES.items() if norm in template.norms]
            assert said == [*known, "bound"]
            errors = [c.error for c in found.candidates]
            assert errors == sorted(errors) and found.best.error == errors[0]
            assert {c.template for c in found.candidates} == set(known)
            assert found.bound_from == "l2_strategy" and found.gap >= 0
            for c in found.candidates:
                assert c.strategy.norm == norm
                assert c.strategy.sensitivity <= 1 + 1e-12
                rmse = c.strategy.sensitivity * np.sqrt(c.strategy.mean_variance(workload))
                assert c.rmse == pytest.approx(rmse)
            by_name = {c.template: c.error for c in found.candidates}
            assert by_name["product"] <= by_name["identity"]
            assert by_name["union"] <= by_name["product"] * 1.0001


def test_where_nothing_splits_the_bound_is_by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,600 cells in components that are too large: no solve over them is tried."""
    monkeypatch.setattr("mmopt.driver.templates.templates_and_bound.LARGEST_SOLVED", 10)
    workload = Workload.from_products(domain_of(40, 40), [Product((f.prefix(40), f.all_range(40)))])
    found = templates(workload, 2, ["product"])
    assert found.bound_from == "multipliers that are products"
    assert 0 <= found.gap < 1e-5


def test_marginals_of_too_many_attributes_have_a_reason() -> None:
    found = templates(marginals((2,) * 17, (1,)), 2, ["marginals", "identity"])
    first, last = found.candidates
    assert (first.template, last.template) == ("identity", "marginals")
    assert last.strategy is None and last.error == np.inf and "17 attributes" in last.reason


@pytest.mark.slow
def test_the_census_workload() -> None:
    """HDMM's product has 2.3214."""
    found = templates(census(), 2, ["product"])
    assert found.best.rmse <= 2.3214
    assert found.bound == pytest.approx(15050.845, rel=1e-3) and found.bound_from == "l2_strategy"


@pytest.mark.nightly
def test_the_census_workload_with_laplace_noise() -> None:
    """HDMM has 5.1695, the best of three."""
    found = templates(census(), 1, ["product"])
    assert found.best.rmse <= 5.1695
    assert found.bound <= solve(census(), "l2_strategy").objective


def test_refused() -> None:
    workload = marginals((2, 2), (1,))
    with pytest.raises(OptionError, match=r"^the norm is 3, expected 1 \(Laplace\) or 2 \(Gaussian\)"):
        templates(workload, 3)
    with pytest.raises(
        OptionError, match=r"^there is no template 'products', expected one of identity, "
    ) as e:
        templates(workload, 2, ["products"])
    assert e.value.hint == "did you mean 'product'?"
    with pytest.raises(UnsuitableError, match=r"^the workload is a matrix"):
        templates(Workload.from_matrix(np.eye(2)))


FILE = Path(__file__).parents[3] / "examples" / "sf1-like" / "workload.yaml"


@pytest.mark.some(1)
@pytest.mark.parametrize("norm", [1, 2])
def test_more_weight_is_less_error(norm: int) -> None:
    workload = Workload.from_products(
        domain_of(5, 4),
        [Product((f.prefix(5), f.total(4)), subworkload="prefixes"), Product((f.identity(5), f.identity(4)))],
    )
    said: list[str] = []
    alone, rest, plain, more = tune_templates(workload, "prefixes", (1.0, 100.0), norm, report=said.append)
    assert said == ["prefixes alone", "the rest alone", "everything", "prefixes × 100"]
    assert alone.rmse["prefixes"] < more.rmse["prefixes"] < plain.rmse["prefixes"]
    assert rest.rmse["the rest"] <= plain.rmse["the rest"] < more.rmse["the rest"]
    for row in (alone, rest, plain, more):
        assert 0 < row.bound <= row.error


def test_tuning_that_is_refused() -> None:
    workload = marginals((2, 2), (1,))
    with pytest.raises(OptionError, match=r"^there is no sub-workload 'x': the workload has none"):
        tune_templates(workload, "x", [1.0])
    domain = domain_of(*(2,) * 17)
    large = Workload.from_products(domain, [Product(tuple(f.total(2) for _ in range(17)), subworkload="all")])
    with pytest.raises(WorkloadError, match=r"^no template has a strategy: weights for all marginals of 17"):
        list(tune_templates(large, "all", [1.0], names=["marginals"]))


@pytest.mark.nightly
def test_the_table_of_the_slides() -> None:
    """Tuning workload error: per query at ε = 1 (the noise has standard deviation √2), for SF1 and PL94.

    The slides' own strategies are HDMM's of that day; ours are of the same kind, so they are near, no more.
    """
    workload = load_request(FILE).workload
    alone, _, everything = tune_templates(workload, "PL94", [1.0])
    scale = 2**0.5
    for printed, found in (
        (3.91, alone.rmse["PL94"]),
        (7.28, everything.rmse["everything"]),
        (16.45, everything.rmse["PL94"]),
        (6.07, everything.rmse["the rest"]),
    ):
        assert holds(Figure("slides on HDMM, tuning workload error", "exact", printed, 0.03), scale * found)
