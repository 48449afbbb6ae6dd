"""Every mistake in a query matrix or a list of products, with the whole message."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from mmopt.errors import Error, WorkloadError
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks import factor_blocks as f

NAN, INF = float("nan"), float("inf")
ZERO = "query 1 is all zero\n  leave it out: its answer is 0"


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([1, 0], "the query matrix has 1 dimension, expected 2\n  one query is a matrix of one row"),
        (np.ones((2, 2, 2)), "the query matrix has 3 dimensions, expected 2"),
        (np.ones((0, 3)), "the query matrix is 0 × 3, expected at least one query and one cell"),
        (np.ones((3, 0)), "the query matrix is 3 × 0, expected at least one query and one cell"),
        ([[1, NAN]], "query 0 has the entry nan at cell 1, expected finite numbers"),
        ([[1, 0], [-INF, 0]], "query 1 has the entry -inf at cell 0, expected finite numbers"),
        ([[1, 0], [0, 0]], ZERO),
        ([["a", "b"]], "the query matrix holds str32 values, expected real numbers"),
        ([[1j, 0]], "the query matrix holds complex128 values, expected real numbers"),
        (
            [[1, 0], [1e-200, 0]],
            "query 1 has entries of magnitude 1e-200, expected between 1e-100 and 1e+100\n  scale the query",
        ),
        (
            scipy.sparse.csr_array((0, 3)),
            "the query matrix has the shape (0, 3), expected at least one query and one cell",
        ),
        (
            scipy.sparse.csr_array([[1.0, 0], [0, NAN]]),
            "query 1 has the entry nan at cell 1, expected finite numbers",
        ),
    ],
)
def test_matrices(matrix, text):
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(matrix)
    assert str(caught.value) == text
    assert isinstance(caught.value, Error)


def test_a_ragged_matrix():
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix([[1, 2], [3]])
    assert str(caught.value).startswith("the query matrix is not rectangular: ")  # then numpy's words


@pytest.mark.parametrize(
    ("rows", "text"),
    [([[1.0, 0], [0, 0]], ZERO), ([[1j]], "the query matrix holds complex128 values, expected real numbers")],
)
def test_sparse_matrices(rows, text):
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(scipy.sparse.csr_array(rows))
    assert str(caught.value) == text


def test_a_stored_zero_does_not_count_as_a_query():
    stored = scipy.sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 1, 2])))
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(stored)
    assert str(caught.value) == ZERO


def test_columns_of_zeros_and_booleans_are_fine():
    w = Workload.from_matrix(np.array([[True, False]]))
    np.testing.assert_array_equal(w.queries, [[1, 0]])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"targets": [1]}, "the workload has 2 queries but 1 targets were given"),
        ({"targets": [1, 0]}, "the target of query 1 is 0, expected a positive number"),
        ({"targets": [-2, 1]}, "the target of query 0 is -2, expected a positive number"),
        ({"targets": [INF, NAN]}, "the target of query 1 is nan, expected a positive number"),
        (
            {"targets": [1, 1e-120]},
            "the target of query 1 is 1e-120, expected between 1e-100 and 1e+100",
        ),
        ({"weights": [1, 2, 3]}, "the workload has 2 queries but 3 weights were given"),
        (
            {"weights": np.ones((2, 1))},
            "the workload has 2 queries but an array of shape (2, 1) weights were given",
        ),
        ({"weights": [1, 0]}, "the weight of query 1 is 0, expected a positive number, not infinite"),
        ({"weights": [INF, 1]}, "the weight of query 0 is inf, expected a positive number, not infinite"),
        ({"weights": [NAN, 1]}, "the weight of query 0 is nan, expected a positive number, not infinite"),
        ({"weights": ["1", "2"]}, "the weights hold str32 values, expected real numbers"),
    ],
)
def test_weights_and_targets(options, text):
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(np.eye(2), **options)
    assert str(caught.value) == text


DOMAIN = Domain((Attribute("sex", ("F", "M")), Attribute("age", ("0", "1", "2"))))
GOOD = Product((f.total(2), f.prefix(3)), name="ages")


@pytest.mark.parametrize(
    ("products", "text"),
    [
        ([], "the workload has no queries, expected at least one product"),
        ([Product((f.total(2),))], "product 0 has 1 factors, the domain has 2 attributes"),
        (
            [GOOD, Product((f.total(2), f.prefix(4)), name="wrong")],
            "product 'wrong': the factor of attribute 'age' has 4 cells, the attribute has 3",
        ),
        ([GOOD, GOOD], "two products have the name 'ages'"),
    ],
)
def test_products(products, text):
    with pytest.raises(WorkloadError) as caught:
        Workload.from_products(DOMAIN, products)
    assert str(caught.value) == text


def test_data_of_another_size():
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(np.eye(2)).answers([1, 2, 3])
    assert str(caught.value) == "the workload has 2 cells, found data of shape (3,)"
