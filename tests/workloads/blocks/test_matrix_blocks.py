"""Sparse predicates ask for the same as dense ones, and are checked in the same way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from workloads.implicit_twins import random_rows

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks import factor_blocks as f

STATE = Attribute("state", ("AK", "AL", "AR"))


@pytest.mark.draws(6)
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array])
def test_the_same_workload(form, rng):
    rows = random_rows(rng, 6)
    domain = Domain.anonymous(6)
    dense, sparse = (
        Workload.from_products(domain, [Product((block,))])
        for block in (f.predicates(rows), f.sparse_predicates(form(rows)))
    )
    np.testing.assert_array_equal(sparse.queries, dense.queries)
    np.testing.assert_allclose(sparse.gram, dense.gram, rtol=1e-13, atol=1e-13)
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


def test_stored_zeros_and_repeated_entries_do_not_matter():
    entries = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 0], [1, 1, 2])), shape=(1, 3))
    assert f.sparse_predicates(entries) == f.sparse_predicates(scipy.sparse.csr_array([[0.0, 3.0, 0.0]]))


@pytest.mark.parametrize(
    ("rows", "labels", "text"),
    [
        ([[1, 0], [0, 0]], (), "query 1 is all zero\n  leave it out: its answer is 0"),
        ([[1, np.nan]], (), "query 0 has the entry nan at cell 1, expected finite numbers"),
        ([[1j, 0]], (), "the query matrix holds complex128 values, expected real numbers"),
        ([[1, 0]], ("a", "b"), "1 predicates have 2 labels"),
    ],
)
def test_errors(rows, labels, text):
    with pytest.raises(WorkloadError) as caught:
        f.sparse_predicates(scipy.sparse.csr_array(rows), labels)
    assert str(caught.value) == text


def test_many_sparse_predicates_have_a_small_root():
    rng = np.random.default_rng(0)
    rows = scipy.sparse.random_array((400, 7), density=0.5, rng=rng, data_sampler=lambda size: np.ones(size))
    rows = scipy.sparse.csr_array(rows[rows.sum(axis=1) > 0])
    block = f.sparse_predicates(rows)
    assert block.root().shape == (7, 7)
    np.testing.assert_allclose(
        block.root().T @ block.root(), (rows.T @ rows).toarray(), rtol=1e-12, atol=1e-9
    )


def test_more_cells_than_labels_fit() -> None:
    with pytest.raises(TooLargeError, match="the list of the labels of the cells has 2,000,000,000 × 16"):
        Workload.from_matrix(scipy.sparse.csr_array(([1.0], ([0], [0])), shape=(1, 2 * 10**9)))
