"""Pure epsilon and both noises over more cells than can be listed: nothing is sought that is then refused."""

from __future__ import annotations

import pytest
from few_attributes import up_to

from mmopt import Privacy, accuracy
from mmopt.answers.default_strategy import default_strategy
from mmopt.driver import solve
from mmopt.errors import TooLargeError
from mmopt.workloads.blocks import factor_blocks as f

NO_LAPLACE = (
    "Laplace noise has no strategy over 10^20 cells of 20 attributes: products of strategies list the cells, "
    "weights of marginals go up to 16 attributes"
)


@pytest.mark.quick
def test_pure_epsilon_over_many_attributes_names_what_to_use() -> None:
    said: list[str] = []
    with pytest.raises(TooLargeError) as caught:
        default_strategy(up_to((10,) * 20, 2), Privacy(epsilon=1.0), say=said.append)
    assert str(caught.value) == (
        f"{NO_LAPLACE}\n"
        "  allow Gaussian noise, which takes queries of few attributes over any number of cells: "
        "'privacy: {epsilon: 1.0, delta: 1e-6}' or 'privacy: {rho: 0.5}'"
    )
    assert said == []


def test_over_cells_that_are_not_listed_only_marginals_are_sought() -> None:
    said: list[str] = []
    choice = default_strategy(up_to((10,) * 8, 2), Privacy(epsilon=1.0), say=said.append)
    assert said == ["template: marginals", "template: bound"]
    assert choice.best.plan.integer.tables is not None  # and so it is measured
    assert len(choice.best.plan.standard_errors) == choice.best.plan.workload.m


def test_both_noises_say_why_there_is_one() -> None:
    """Marginals of 20 attributes: Gaussian noise by l2_strategy in closed form."""
    found = accuracy(up_to((3,) * 40, 1, f.identity), {"epsilon": 1.0, "delta": 1e-6}, solved=solve)
    assert found.words.startswith("l2_strategy with Gaussian noise: rmse ")
    assert "Laplace noise" in found.words.split("; ", 1)[1]
