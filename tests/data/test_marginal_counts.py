"""Counts by few attributes: those of the data vector, and over domains that have none.

Guards counts.py, counted_rows.py.
"""

import itertools
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pytest

from mmopt.data import data_vector, marginal_counts
from mmopt.data.counts import counted_sets, joined
from mmopt.errors import DataError, TooLargeError
from mmopt.privacy.rounding.norms_and_measured_integers import CountedTables, WholeTable, maximal_sets
from mmopt.workloads import Domain, Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total


def drawn(rng: np.random.Generator, weights: bool) -> tuple[dict[str, list[object]], Workload]:
    """A table with rows beside the domain, and products over random sets of its attributes."""
    k = int(rng.integers(1, 6))
    sizes = rng.integers(1, 5, size=k)
    rows = int(rng.integers(0, 60))
    table: dict[str, list[object]] = {}
    attributes = {}
    for i, size in enumerate(sizes):
        outside, missing = rng.choice(["drop", "0"], size=2)
        column: list[object] = [int(v) for v in rng.integers(0, size + 1, size=rows)]
        table[f"a{i}"] = [None if rng.random() < 0.05 else v for v in column]
        attributes[f"a{i}"] = {"values": list(range(size)), "outside": str(outside), "missing": str(missing)}
    if weights:
        # The last line stands for no row, and its values are in no cell.
        table = {name: [*column, 9] for name, column in table.items()}
        table["n"] = [*(int(v) for v in rng.integers(0, 5, size=rows)), 0]
    domain = Workload.of(domain=attributes, workload=[{"product": {}}]).domain
    products = []
    for _ in range(int(rng.integers(1, 5))):
        asked = rng.random(k) < 0.5
        blocks = [rng.choice([identity, prefix]) if is_asked else total for is_asked in asked]
        products.append(Product(tuple(b(n) for b, n in zip(blocks, domain.shape, strict=True))))
    return table, Workload.from_products(domain, products)


@pytest.mark.draws(2)
@pytest.mark.parametrize("weight", [None, "n"])
def test_tables_are_the_sums_of_the_data_vector(rng: np.random.Generator, weight: str | None) -> None:
    table, workload = drawn(rng, weight is not None)
    vector = data_vector(table, workload.domain, workload=workload, weight=weight)
    found = marginal_counts(table, workload, weight=weight)
    whole = WholeTable(vector.counts, workload.domain.shape)
    assert isinstance(found, CountedTables)
    assert (found.rows, dict(found.dropped)) == (vector.rows, dict(vector.dropped))
    for product in workload.products or ():
        for r in range(len(product.looked_at) + 1):
            for own in itertools.combinations(product.looked_at, r):
                np.testing.assert_array_equal(found.of(own), whole.of(own))
                assert found.of(own).dtype == np.int64


def test_lines_for_no_row_have_no_cell(subtests: pytest.Subtests) -> None:
    """Whatever the rule of their values is; the index of a cell that is none may be far below the first."""
    table = {"a": ["x", "zz"], "b": ["u", "zz"], "n": [3, 0]}
    for rule in ("drop", "refuse"):
        with subtests.test(rule):
            a, b = ({"values": values, "outside": rule} for values in (["x"], ["u", "v"]))
            counts = marginal_counts(table, Domain.of(a=a, b=b).marginal("a", "b"), weight="n")
            assert counts.of((0, 1)).tolist() == [[3, 0]]


def test_other_sets_than_the_products_are_counted() -> None:
    workload = Domain.of(a=[1, 2], b=[1, 2], c=[1, 2]).product(a="identity")
    rows = {"a": [1, 2, 2], "b": [1, 1, 2], "c": [2, 2, 2]}
    found = marginal_counts(rows, workload, sets=[(1, 0)])
    # Nothing asks for b, whose column is not read: all rows count in its first cell.
    assert found.of((0, 1)).tolist() == [[1, 0], [2, 0]]
    assert repr(found) == "MarginalCounts(1 tables of counts, 3 rows)"


def test_over_more_cells_than_numbers_of_64_bits(tmp_path: Path) -> None:
    names = [f"a{i}" for i in range(40)]
    file = tmp_path / "t.csv"
    file.write_text(",".join(names) + "\n" + ",".join("3" * 40) + "\n" + ",".join("4" * 40) + "\n")
    domain = Domain.of(**{name: range(10) for name in names})
    found = marginal_counts(file, domain.marginals(2, of=names[:4]))
    assert domain.size == 10**40
    assert found.of((0, 3))[3, 3] == found.of((0, 3))[4, 4] == 1 and found.of((0, 3)).sum() == 2
    assert found.of((2,)).tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]


def test_rows_are_refused_as_for_the_data_vector() -> None:
    domain = Domain.of(a=[1, 2], b=[1, 2])
    workload = domain.marginals(1)
    rows = {"a": [1, 7], "b": [1, None], "n": [2, 3]}
    messages = []
    for count in (data_vector, marginal_counts):
        with pytest.raises(DataError) as raised:
            count(rows, workload, weight="n")
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert "column 'a' (attribute 'a'): 3 outside the declared domain\n" in messages[0]
    assert "column 'b' (attribute 'b'): 3 missing (NULL, empty, NaN or listed under null)\n" in messages[0]


def test_refused() -> None:
    domain = Domain.of(a=[1, 2], b=[1, 2])
    with pytest.raises(DataError) as raised:
        marginal_counts({"a": [1]}, Workload.from_matrix(np.eye(2)))
    assert str(raised.value) == (
        "the workload is a matrix, and counts by few attributes need products\n"
        "  count its cells with mmopt.data.counts"
    )
    with pytest.raises(DataError) as raised:
        marginal_counts({"a": [1], "b": [2]}, domain.marginals(2), sets=[(0, 2)])
    assert str(raised.value) == "the sets to count by have places beyond the 2 attributes of the domain"
    found = marginal_counts({"a": [1], "b": [2]}, domain.marginals(1))
    with pytest.raises(DataError) as raised:
        found.of((0, 1))
    assert str(raised.value) == (
        "the rows were not counted by 'a', 'b' together\n  count them by these attributes, too"
    )
    wide = Domain.of(**{name: range(2000) for name in "abc"})
    with pytest.raises(TooLargeError) as raised:
        marginal_counts({name: [1] for name in "abc"}, wide.marginals(3))
    assert str(raised.value) == (
        "the counts by 1 sets of attributes has 8,000,000,000 entries, 59.6 GiB; the limit is 4 GiB"
    )


def test_a_read_only_database_and_an_ibis_table(tmp_path: Path) -> None:
    file = tmp_path / "t.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 2), (2, 2), (2, 1)) AS v(a, b)")
    workload = Domain.of(a=[1, 2], b=[1, 2]).marginals(2)
    for data in (file, ibis.memtable({"a": [1, 2, 2], "b": [2, 2, 1]})):
        found = marginal_counts(data, workload)
        assert found.of((0, 1)).tolist() == [[0, 1], [1, 1]]


@pytest.mark.draws(2)
def test_every_set_is_in_what_is_counted(rng: np.random.Generator) -> None:
    sizes = [int(n) for n in rng.integers(1, 3000, size=12)]
    count = int(rng.integers(1, 30))
    sets = [tuple(np.flatnonzero(rng.random(12) < 0.3).tolist()) for _ in range(count)]
    outer = maximal_sets(sets)
    assert all(any(set(own) <= set(one) for one in outer) for own in sets)
    assert not any(set(one) < set(other) for one in outer for other in outer)
    held = counted_sets(sets, sizes)
    assert set(outer) <= set(held) <= set(sets)
    together = joined(held, sizes)
    assert sorted(own for group in together.values() for own in group) == sorted(held)
    assert all(set(own) <= set(union) for union, group in together.items() for own in group)
    # Pairs of small attributes are counted together.
    sets = list(itertools.combinations(range(20), 2))
    assert len(joined(sets, [10] * 20)) == 45
    assert len(joined(sets, [1000] * 20)) == 190
