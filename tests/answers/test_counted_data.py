"""A release over more cells than there are numbers of 64 bits, from a table of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.answers import counted_data
from mmopt.data import DataVector, MarginalCounts
from mmopt.mechanism import Plan


@pytest.mark.quick
def test_marginals_over_1e20_cells_are_released(rng: np.random.Generator) -> None:
    names = [f"a{i}" for i in range(20)]
    domain = mmopt.Domain.of(**{name: range(10) for name in names})
    workload = domain.marginals([0, 1, 2], of=names[:6])
    rows = {name: rng.integers(0, 10, size=200) for name in names}
    seed = 5
    found = mmopt.release(rows, workload, {"rho": 1e3}, simulate_seed=seed)
    assert found.plan is not None and found.plan.workload.n == 10**20
    table = np.array([rows[name] for name in names])
    exact = [200.0]
    for i in range(6):
        exact += np.bincount(table[i], minlength=10).tolist()
    for i in range(6):
        for j in range(i + 1, 6):
            exact += np.bincount(10 * table[i] + table[j], minlength=100).tolist()
    errors = found.plan.standard_errors
    assert errors.max() < 0.3
    assert (np.abs(np.array(found.answers["estimate"]) - exact) <= 7 * errors).all()


def test_few_cells_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = mmopt.Domain.of(a=range(3), b=range(4), c=range(2))
    rows = {"a": [0, 1], "b": [3, 3], "c": [1, 0]}
    planned = mmopt.accuracy(domain.marginals(2), {"rho": 1.0}).plan
    assert isinstance(counted_data.counted_data(rows, planned), DataVector)
    monkeypatch.setattr(counted_data, "MOST_CELLS", 0)
    counts = counted_data.counted_data(rows, planned)
    assert isinstance(counts, DataVector)  # the strategy is measured on all of the cells


MANY = {f"a{i}": range(10) for i in range(20)}


def planned_over_many(**options: Any) -> Plan:
    domain = mmopt.Domain.of(**MANY)
    return mmopt.accuracy(domain.marginals(1, of=["a0", "a1"]), {"rho": 1.0}, **options).plan


@pytest.mark.quick
def test_of_a_person_k_rows_are_counted_over_many_cells() -> None:
    rows = {name: [3] * 50 + [4] for name in MANY} | {"person": ["ann"] * 50 + ["bob"]}
    counts = counted_data.counted_data(rows, planned_over_many(unit={"column": "person", "rows": 2}))
    assert isinstance(counts, MarginalCounts)
    assert [own.sum() for own in counts.tables.values()] == [3] * len(counts.tables)
    assert counts.beyond == 48


def test_of_a_part_its_rows_are_counted_over_many_cells() -> None:
    rows = {name: [3] * 50 + [4] for name in MANY} | {"state": ["CA"] * 50 + ["NY"]}
    counts = counted_data.counted_data(rows, planned_over_many(), part=("state", "NY"))
    assert isinstance(counts, MarginalCounts)
    assert counts.rows == 1 and [own.sum() for own in counts.tables.values()] == [1] * len(counts.tables)
