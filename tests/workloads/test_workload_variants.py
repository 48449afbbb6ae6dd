"""Workloads made of another: with bases and eigenvectors of one's own, of sub-workloads by their names.

Guards workload.py.
"""

import numpy as np
import pytest
from named_workloads import NAMED, named

from mmopt.errors import OptionError, WorkloadError
from mmopt.workloads import Attribute, Domain, Product, Workload, factors_and_products as f, with_bases
from mmopt.workloads.workload import only, rest_of, subworkloads, weighted


def test_a_turned_basis_serves_as_well(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for name in NAMED:
        with subtests.test(name):
            w = named(name)
            turn, _ = np.linalg.qr(rng.normal(size=(w.rank, w.rank)))
            other = with_bases(w, {"basis": turn @ w.basis})
            assert other == w and other.rank == w.rank
            if w.rank == w.n:  # L is W, so B is the identity whatever is passed
                assert np.array_equal(other.basis, np.eye(w.n))
            else:
                assert other.basis == pytest.approx(turn @ w.basis, abs=1e-13)
                assert other.representation @ other.basis == pytest.approx(
                    w.queries, abs=1e-12 * np.abs(w.queries).max()
                )


def test_a_scaled_basis_changes_no_query() -> None:
    """By less than what is refused; L B would be off by twice that."""
    w = Workload.from_matrix([[1, 1, 0], [0, 1, 1]])
    other = with_bases(w, {"basis": w.basis * (1 + 0.49e-8)})
    assert other.representation @ other.basis == pytest.approx(w.queries, abs=1e-14)
    with pytest.raises(WorkloadError, match="it is off by 9"):
        with_bases(w, {"eigenqueries": w.eigenqueries * (1 + 0.49e-8)})


def test_eigenvectors_with_other_signs() -> None:
    w = named("prefix")
    other = with_bases(w, {"eigenqueries": -w.eigenqueries})
    assert np.array_equal(other.eigenqueries, -w.eigenqueries)
    assert np.array_equal(other.eigenvalues, w.eigenvalues)
    with pytest.raises(WorkloadError):  # another order
        with_bases(w, {"eigenqueries": w.eigenqueries[::-1]})


def test_other_rows_are_refused(subtests: pytest.Subtests) -> None:
    for kind in ["basis", "eigenqueries"]:
        for factor in [2.0, np.nan, np.inf]:
            with subtests.test(f"{kind} {factor}"):
                w = Workload.from_matrix([[1, 1, 0], [0, 1, 1]])
                with pytest.raises(WorkloadError, match=f"'{kind}' of shape .2, 3. is not an orthonormal "):
                    with_bases(w, {kind: factor * getattr(w, kind)})
                with pytest.raises(WorkloadError, match="it is off by"):
                    with_bases(w, {kind: np.eye(3)[:2]})
                with pytest.raises(WorkloadError, match="it is off by inf"):
                    with_bases(w, {kind: np.eye(3)})


def test_unknown_rows() -> None:
    with pytest.raises(WorkloadError) as error:
        with_bases(named("prefix"), {"bases": np.eye(8)})
    assert str(error.value) == "a workload has no rows 'bases' to replace\n  did you mean 'basis'?"


@pytest.fixture
def workload() -> Workload:
    domain = Domain((Attribute("sex", ("F", "M")), Attribute("age", ("young", "old", "older"))))
    return Workload.from_products(
        domain,
        [
            Product((f.total(2), f.prefix(3)), weight=2.0),
            Product((f.identity(2), f.total(3)), subworkload="sexes"),
            Product((f.identity(2), f.identity(3)), subworkload="cells", weight=0.5),
            Product((f.total(2), f.total(3)), subworkload="sexes"),
        ],
    )


def test_parts_are_rows_of_the_whole(workload: Workload) -> None:
    assert subworkloads(workload) == ("sexes", "cells")
    np.testing.assert_array_equal(only(workload, "sexes").matrix, workload.matrix[[3, 4, 11]])
    np.testing.assert_array_equal(only(workload, "cells").matrix, workload.matrix[5:11])
    rest = rest_of(workload, "sexes")
    assert rest is not None
    np.testing.assert_array_equal(rest.matrix, workload.matrix[[0, 1, 2, *range(5, 11)]])
    assert rest_of(only(workload, "sexes"), "sexes") is None


def test_weights_are_multiplied(workload: Workload) -> None:
    factors = np.ones(12)
    factors[[3, 4, 11]], factors[5:11] = 3.0, 4.0
    found = weighted(workload, {"sexes": 3.0, "cells": 4.0})
    np.testing.assert_array_equal(found.weights, factors * workload.weights)
    np.testing.assert_array_equal(found.queries, workload.queries)
    assert weighted(workload, {}) is workload
    # The name of a part is no fact about the queries.
    assert weighted(workload, {"sexes": 1.0}) == workload
    assert found != workload


def test_a_sub_workload_that_is_not_there_is_refused(workload: Workload) -> None:
    message = r"^there is no sub-workload 'sex', the workload has sexes, cells\n"
    for ask in (only, rest_of, lambda w, name: weighted(w, {name: 2.0})):
        with pytest.raises(OptionError, match=message) as raised:
            ask(workload, "sex")
        assert raised.value.hint == "did you mean 'sexes'?"
    with pytest.raises(OptionError, match=r"^there is no sub-workload 'sex': the workload has none\n"):
        only(Workload.from_matrix(np.eye(2)), "sex")
    with pytest.raises(WorkloadError, match=r"^the factor of the sub-workload 'cells' is -1"):
        weighted(workload, {"cells": -1.0})
