"""A sum of workloads has the queries of both; what has no sum is named.

Guards factors_and_products.py, workload.py.
"""

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from random_workloads import random_workload

import mmopt
from mmopt.errors import WorkloadError
from mmopt.workloads import Attribute, Domain, Values, Workload

D = Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})


@pytest.mark.draws(2)
def test_a_sum_has_the_queries_of_both(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    assert w.products is not None
    parts = [replace(w, blocks=(product,)) for product in w.products]
    total = sum(parts)
    assert total == w
    both = w + w.unweighted
    np.testing.assert_array_equal(both.queries, np.vstack([w.queries, w.queries]))
    np.testing.assert_array_equal(both.weights, np.concatenate([w.weights, np.ones(w.m)]))
    np.testing.assert_array_equal(both.targets, np.concatenate([w.targets, w.targets]))
    assert both.labels() == w.labels() * 2
    assert w.normalised() + w.normalised() == (w + w).normalised()


def test_matrices_add_up_to_one(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for make in [np.asarray, scipy.sparse.csr_array]:
        for other in [np.asarray, scipy.sparse.csr_array]:
            with subtests.test(f"{make.__name__} {other.__name__}"):
                first, second = rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
                one = Workload.from_matrix(make(first), targets=[1, np.inf], weights=[1, 2])
                two = Workload.from_matrix(other(second), weights=3)
                assert one + two == Workload.from_matrix(
                    np.vstack([first, second]), targets=[1, *[np.inf] * 4], weights=[1, 2, 3, 3, 3]
                )
                assert len((one + two + one).blocks) == 1


def test_names_of_queries_are_kept() -> None:
    frame = pd.DataFrame(np.tri(2), index=["a", "b"])
    named, unnamed = Workload.from_matrix(frame), Workload.from_matrix(np.eye(2))
    assert (named + named).labels() == ["a", "b", "a", "b"]
    assert (named + unnamed).labels() == ["a", "b", "query 0", "query 1"]
    assert (unnamed + unnamed).labels() == ["query 0", "query 1", "query 2", "query 3"]


def test_a_matrix_and_products_over_one_domain(rng: np.random.Generator) -> None:
    domain = Domain.of(age=["child", "adult", "senior"])
    rows = rng.standard_normal((2, 3))
    frame = pd.DataFrame(rows, columns=pd.Index(domain.attributes[0].labels, name="age"))
    products = domain.product(age="prefix", weight=2.0)
    for total, matrix in (
        (Workload.from_matrix(frame) + products, np.vstack([rows, np.tri(3)])),
        (products + Workload.from_matrix(frame) + products, np.vstack([np.tri(3), rows, np.tri(3)])),
    ):
        weights = np.where((matrix == 0) | (matrix == 1), 2.0, 1.0).min(axis=1)
        same = Workload.from_matrix(matrix, weights=weights)
        np.testing.assert_array_equal(total.queries, same.queries)
        np.testing.assert_allclose(total.gram, same.gram)
        np.testing.assert_allclose(total.root.T @ total.root, same.gram)
        assert total.targets.tolist() == same.targets.tolist() and total.products is None
        assert total.labels()[-1] == "age up to senior"
        assert mmopt.solve(total).objective == pytest.approx(mmopt.solve(same).objective, rel=1e-5)


def over(**changes: object) -> Workload:
    sex, age = D.attributes
    return Domain((sex, replace(age, **changes))).marginal("age")  # type: ignore[arg-type]


OTHER = "workloads over different domains cannot be added: "
HINT = "\n  make both from one Domain"
AGE = D.attributes[1]
W = D.marginal("age")
WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: W + Domain(D.attributes[1:]).marginal("age"),
        f"{OTHER}only the first has the attribute 'sex'{HINT}",
    ),
    (
        lambda: Domain(D.attributes[1:]).marginal("age") + W,
        f"{OTHER}only the second has the attribute 'sex'{HINT}",
    ),
    (
        lambda: W + Domain(D.attributes[::-1]).marginal("age"),
        f"{OTHER}their attributes stand as sex, age and as age, sex{HINT}",
    ),
    (
        lambda: W + Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65]}).marginal("age"),
        f"{OTHER}attribute 'age' has 3 cells in the first and 2 in the second{HINT}",
    ),
    (
        lambda: W + Domain.of(sex=["Female", "Male"], age={"bins": [0, 21, 65, 115]}).marginal("age"),
        f"{OTHER}attribute 'age' has '[0, 18)' as cell 0 of the first and '[0, 21)' of the second{HINT}",
    ),
    (
        lambda: W + over(column="age_p"),
        f"{OTHER}attribute 'age' has column 'age' in the first and 'age_p' in the second{HINT}",
    ),
    (
        lambda: W + over(outside="drop"),
        f"{OTHER}attribute 'age' has outside 'refuse' in the first and 'drop' in the second{HINT}",
    ),
    (
        lambda: W + over(missing="[65, 115)"),
        f"{OTHER}attribute 'age' has missing 'refuse' in the first and '[65, 115)' in the second{HINT}",
    ),
    (
        lambda: W + over(encoding=Values(AGE.labels)),
        f"{OTHER}attribute 'age' has other table values in its cells{HINT}",
    ),
    (
        lambda: D.marginal("age", name="x") + D.marginal("sex", name="x"),
        "both workloads have queries of the name 'x'\n"
        "  rename one of them, or leave the name out: unnamed queries may repeat",
    ),
    (
        lambda: W + W.normalised(),
        "the second workload is normalised, the other is not: their weights have different meanings\n"
        "  add first, then normalise: (a + b).normalised()",
    ),
    (
        lambda: W.normalised() + W,
        "the first workload is normalised, the other is not: their weights have different meanings\n"
        "  add first, then normalise: (a + b).normalised()",
    ),
]


@pytest.mark.quick
def test_refused(subtests: pytest.Subtests) -> None:
    for call, text in WRONG:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                call()
            assert str(caught.value) == text


def test_what_is_no_workload_is_refused_on_either_side() -> None:
    for other in (np.eye(6), 1, "w.yaml", None):
        for add in (operator.add, lambda one, two: two + one):
            with pytest.raises(WorkloadError) as caught:
                add(W, other)
            assert str(caught.value) == (
                f"a {type(other).__name__} cannot be added to a Workload, expected another Workload\n"
                "  write Workload.from_matrix(matrix) for a matrix, request.workload for a request"
            )
    assert sum([W]) is W  # which starts at nothing
    with pytest.raises(WorkloadError, match="a int cannot be added to a Workload"):
        sum([W], start=1)


def test_a_rule_that_is_left_out_is_the_rule_to_refuse() -> None:
    values = Values(("x",))
    one = Domain((Attribute("a", ("x",), encoding=values),))
    other = Domain((Attribute("a", ("x",), encoding=values, outside="refuse", missing="refuse"),))
    assert (one.marginal("a") + other.marginal("a")).m == 2
