"""Tuning with strategies in factors."""

from pathlib import Path

import pytest

from mmopt import Workload
from mmopt.driver.templates import tune_templates
from mmopt.errors import OptionError, WorkloadError
from mmopt.request import load_request
from mmopt.testing.census_workloads import domain_of, marginals
from mmopt.testing.known_optima import Figure, holds
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f

FILE = Path(__file__).parents[3] / "examples" / "sf1-like" / "workload.yaml"


@pytest.mark.some(1)
@pytest.mark.parametrize("norm", [1, 2])
def test_more_weight_is_less_error(norm: int) -> None:
    workload = Workload.from_products(
        domain_of(5, 4),
        [
            Product((f.prefix(5), f.total(4)), subworkload="prefixes"),
            Product((f.identity(5), f.identity(4))),
        ],
    )
    said: list[str] = []
    alone, rest, plain, more = tune_templates(workload, "prefixes", (1.0, 100.0), norm, report=said.append)
    assert said == ["prefixes alone", "the rest alone", "everything", "prefixes × 100"]
    assert alone.rmse["prefixes"] < more.rmse["prefixes"] < plain.rmse["prefixes"]
    assert rest.rmse["the rest"] <= plain.rmse["the rest"] < more.rmse["the rest"]
    for row in (alone, rest, plain, more):
        assert row.bound is not None and 0 < row.bound <= row.error


def test_refused() -> None:
    workload = marginals((2, 2), (1,))
    with pytest.raises(OptionError, match=r"^there is no sub-workload 'x': the workload has none"):
        tune_templates(workload, "x", [1.0])
    domain = domain_of(*(2,) * 17)
    large = Workload.from_products(domain, [Product(tuple(f.total(2) for _ in range(17)), subworkload="all")])
    with pytest.raises(WorkloadError, match=r"^no template has a strategy: weights for all marginals of 17"):
        list(tune_templates(large, "all", [1.0], names=["marginals"]))


@pytest.mark.slow
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
