"""A release over more cells than there are numbers of 64 bits, from a table of rows.

Guards private_release.py.
"""

import numpy as np
import pytest

import mmopt
from mmopt.answers import private_release
from mmopt.data import DataVector, MarginalCounts


def test_marginals_over_1e20_cells_are_released(rng: np.random.Generator) -> None:
    names = [f"a{i}" for i in range(20)]
    domain = mmopt.Domain.of(**{name: range(10) for name in names})
    workload = domain.marginals([0, 1, 2], of=names[:6])
    rows = {name: rng.integers(0, 10, size=200) for name in names}
    seed = 5
    found = mmopt.release(rows, workload, {"rho": 1e3}, simulate=seed)
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


def test_few_cells_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    domain = mmopt.Domain.of(**{name: range(5) for name in "abcdef"})
    rows = {name: rng.integers(0, 5, size=30) for name in domain.names}
    planned = mmopt.accuracy(domain.marginals(2), {"rho": 1.0}).plan
    one_by_one = private_release.counted_data(rows, planned)
    assert isinstance(one_by_one, DataVector)
    monkeypatch.setattr(private_release, "MOST_CELLS_COUNTED", 0)
    tables = private_release.counted_data(rows, planned)
    assert isinstance(tables, MarginalCounts)
    cube = one_by_one.counts.reshape(domain.shape)
    assert cube.sum() == 30
    np.testing.assert_array_equal(tables.of((0, 1)), cube.sum(axis=(2, 3, 4, 5)))
    np.testing.assert_array_equal(tables.of((1, 5)), cube.sum(axis=(0, 2, 3, 4)))


@pytest.mark.parametrize(("part", "rows", "kept"), [(None, 6, 5), (("region", "north"), 4, 3)])
def test_many_cells_are_counted_of_the_part_and_k_rows_a_person(
    part: tuple[str, str] | None, rows: int, kept: int
) -> None:
    names = [f"a{i}" for i in range(20)]
    workload = mmopt.Domain.of(**{name: range(10) for name in names}).marginals([1, 2], of=names[:3])
    plan = mmopt.accuracy(workload, {"rho": 1.0}, unit={"column": "person", "rows": 2}).plan
    table: dict[str, list[object]] = {name: [0, 0, 0, 1, 2, 2] for name in names}
    table |= {"person": list("aaabcc"), "region": ["north"] * 4 + ["south"] * 2}
    counts = private_release.counted_data(table, plan, part=part)
    assert isinstance(counts, MarginalCounts)
    assert counts.of((0,))[:3].tolist() == [2, 1, 0 if part else 2]
    assert (counts.rows, counts.beyond, counts.of(()).sum()) == (rows, 1, kept)
    assert private_release.confidential_words(counts, plan, part) == (
        f"confidential, do not publish: {kept} of {rows} rows in the {'part' if part else 'table'} are "
        "counted, none dropped, 1 beyond 2 of each person"
    )
