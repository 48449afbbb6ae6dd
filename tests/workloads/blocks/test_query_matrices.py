"""Sparse predicates ask for the same as dense ones, and are checked in the same way."""

import numpy as np
import pytest
import scipy.sparse
from tolerances import ROUNDING

from mmopt.errors import TooLargeError
from mmopt.workloads import Attribute, Domain, Product, Workload, factors_and_products as f
from tests.workloads.implicit_twins import random_rows

STATE = Attribute("state", ("AK", "AL", "AR"))


def test_the_same_workload(rng):
    for form in (scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array) * 2:
        rows = random_rows(rng, 6)
        dense, sparse = (
            Workload.from_products(Domain.anonymous(6), [Product((block,))])
            for block in (f.predicates(rows), f.sparse_predicates(form(rows)))
        )
        np.testing.assert_array_equal(sparse.queries, dense.queries)
        np.testing.assert_allclose(sparse.gram, dense.gram, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_array_equal(sparse.cell_classes, dense.cell_classes)
        assert sparse.rank == dense.rank
        assert sparse.labels() == dense.labels()


def test_labels_and_comparison():
    rows = scipy.sparse.csr_array([[0, 1, 1], [1, 0, 0]])
    assert f.sparse_predicates(rows).labels(STATE) == ["state in predicate 0", "state in predicate 1"]
    named = f.sparse_predicates(rows, ["south", "north"])
    assert named.labels(STATE) == ["state in south", "state in north"]
    assert named == f.sparse_predicates(rows.tocsc()), "names do not matter"
    assert named != f.sparse_predicates(2 * rows)
    assert repr(named) == "sparse predicates(2 × 3, 3 entries)"
    # Stored zeros and repeated entries do not matter.
    entries = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 0], [1, 1, 2])), shape=(1, 3))
    assert f.sparse_predicates(entries) == f.sparse_predicates(scipy.sparse.csr_array([[0.0, 3.0, 0.0]]))


def test_many_predicates_on_few_cells_have_a_small_root(rng):
    rows = rng.integers(0, 2, size=(500, 6)).astype(float)
    rows[:, 0] = 1
    for block in (f.predicates(rows), f.sparse_predicates(scipy.sparse.csr_array(rows))):
        root = block.root()
        assert root.shape == (6, 6)
        np.testing.assert_allclose(root.T @ root, rows.T @ rows, rtol=ROUNDING * 100)


def test_more_cells_than_labels_fit() -> None:
    with pytest.raises(TooLargeError, match="the list of the labels of the cells has 2,000,000,000 × 16"):
        Workload.from_matrix(scipy.sparse.csr_array(([1.0], ([0], [0])), shape=(1, 2 * 10**9)))
