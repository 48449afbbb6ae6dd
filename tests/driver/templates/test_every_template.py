"""All templates beside each other, and the command line."""

import numpy as np
import pytest

from mmopt import Workload, solve
from mmopt.driver.templates import TEMPLATES, templates
from mmopt.errors import OptionError, UnsuitableError
from mmopt.testing.census_workloads import census, domain_of, marginals
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f


def test_the_best_first_and_none_below_the_bound(subtests: pytest.Subtests) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            domain = domain_of(6, 4)
            workload = Workload.from_products(
                domain, [Product((f.prefix(6), f.total(4))), Product((f.total(6), f.identity(4)), weight=2.0)]
            )
            said: list[str] = []
            found = templates(workload, norm, report=said.append)
            known = [name for name, template in TEMPLATES.items() if norm in template.norms]
            assert said == [*known, "bound"]
            errors = [c.error for c in found.candidates]
            assert errors == sorted(errors) and found.best.error == errors[0]
            assert {c.template for c in found.candidates} == set(known)
            assert found.bound_from == "l2_strategy" and found.gap >= 0
            for c in found.candidates:
                assert c.strategy is not None and c.strategy.norm == norm
                assert c.strategy.sensitivity <= 1 + 1e-12
                assert c.rmse == pytest.approx(
                    c.strategy.sensitivity * np.sqrt(c.strategy.mean_variance(workload))
                )
            by_name = {c.template: c.error for c in found.candidates}
            assert (
                by_name["product"] <= by_name["identity"] and by_name["union"] <= by_name["product"] * 1.0001
            )


def test_where_nothing_splits_the_bound_is_by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,600 cells in components that are too large: no solve over them is tried."""
    monkeypatch.setattr("mmopt.driver.templates.every_template.LARGEST", 10)
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


@pytest.mark.slow
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
