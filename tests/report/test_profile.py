"""Cells that pay less than the largest privacy cost, and what that allows.

Guards solution_and_comparison_tables.py.
"""

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt import Attribute, ComponentStrategy, Domain, Workload, solve
from mmopt.numerics.component_arrays import Level
from mmopt.report import slack_table
from mmopt.report.solution_and_comparison_tables import orbit_label
from mmopt.workloads import Product, factors_and_products
from tests.report.printed import printed

# Two blocks that share nothing: prefix sums of three cells, and one cell that may be four times as noisy.
BLOCKS = np.block([[np.tri(3), np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
WORKLOAD = Workload.from_matrix(BLOCKS, targets=[1.0, 1.0, 1.0, 4.0])


def test_slack_is_what_a_count_costs_less_than_the_largest() -> None:
    found = solve(WORKLOAD, "fitness_refined")
    assert found.covariance is not None and found.basis is not None
    by_hand = np.einsum("ki,kl,li->i", found.basis, np.linalg.inv(found.covariance), found.basis)
    assert found.profile == pytest.approx(by_hand, rel=RECOMPUTED)
    # The last cell alone: variance 4 costs 1 / 4.
    assert found.profile[3] == pytest.approx(0.25, rel=1e-4)
    assert np.flatnonzero(found.slack).tolist() == [3]
    assert dict(found.rows())["profile"].startswith("Δ² at 3 of 4 cells, down to ")
    # What could be answered for free.
    row = printed(slack_table(found, WORKLOAD)).splitlines()[2].split()
    assert row[0] == "3"
    # Answering that count too, at that variance, leaves the largest cost where it is.
    variance = 1.0 / found.slack[3]
    assert float(row[-1]) == pytest.approx(variance, rel=1e-3)
    more = np.vstack([found.strategy.matrix, np.eye(4)[3] / np.sqrt(variance)])
    assert (more**2).sum(axis=0).max() == pytest.approx(found.profile.max(), rel=RECOMPUTED)


def test_no_slack_no_table() -> None:
    found = solve(Workload.from_matrix(np.eye(3), targets=1.0), "fitness_for_use")
    assert slack_table(found, Workload.from_matrix(np.eye(3), targets=1.0)) is None
    assert dict(found.rows())["profile"] == "Δ² at 3 of 3 cells"


def test_orbits_of_cells_with_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks of one attribute by component: five cells that are asked for with less noise than two."""
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)
    rows = np.vstack([np.eye(7), np.repeat([[1.0, 0.0]], [5, 2], axis=1)])
    queries = (
        factors_and_products.predicates(rows[:5], list("abcde")),
        factors_and_products.predicates(rows[5:7], list("fg")),
    )
    domain = Domain((Attribute("age", tuple("0123456")), Attribute("sex", ("F", "M"))))
    both = factors_and_products.total(2)
    products = [Product((own, both), target=t) for own, t in zip(queries, (1.0, 4.0), strict=True)]
    workload = Workload.from_products(domain, products)
    found = solve(workload, "fitness_for_use")
    assert isinstance(found.strategy, ComponentStrategy)
    row = dict(found.rows())["profile"]
    assert row.startswith("Δ² at 10 of 14 cells, down to 0.") and row.endswith("(cells with slack: 4)")
    line = printed(slack_table(found, workload), 100).splitlines()[2]
    assert line.split()[:6] == ["5", "or", "6,", "any", "sex", "(4"]
    assert isinstance(found.slack, Level)
    assert float(line.split()[-1]) == pytest.approx(1.0 / found.slack.values[1], rel=1e-3)
    labels = [orbit_label(found.strategy.cells, domain, o) for o in range(2)]
    assert labels == ["0 or 1 or 3 more, any sex (10 cells)", "5 or 6, any sex (4 cells)"]
