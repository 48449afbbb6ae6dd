"""A product of factors is the Kronecker product of its matrices, with its labels, weight and target."""

import functools
import math

import numpy as np
import pytest
from random_workloads import domain_of, random_factor

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.workloads import Attribute, Bins, Domain, Product, Wish, Workload, factors_and_products as f
from mmopt.workloads.factors_and_products import wishes, with_shared_factors


def dense(product: Product) -> np.ndarray:
    return functools.reduce(np.kron, [factor.matrix() for factor in product.factors])


@pytest.mark.draws(3)
def test_products_agree_with_the_dense_kronecker_product(rng):
    sizes = [int(s) for s in rng.integers(1, 5, size=int(rng.integers(1, 4)))]
    product = Product(tuple(random_factor(rng, size) for size in sizes))
    matrix = dense(product)
    assert (product.m, product.n) == matrix.shape
    np.testing.assert_array_equal(product.rows(0, product.m), matrix)
    gram = matrix.T @ matrix
    np.testing.assert_allclose(product.gram(), gram, rtol=1e-12, atol=1e-11)
    root = product.root()
    assert root.shape[0] <= min(matrix.shape)
    np.testing.assert_allclose(root.T @ root, gram, rtol=1e-12, atol=1e-10)
    cells = rng.integers(0, product.n, size=4)
    np.testing.assert_allclose(product.root(cells), root[:, cells])
    x = rng.normal(size=product.n)
    np.testing.assert_allclose(product.implicit().apply(x), matrix @ x, atol=1e-10)
    X = rng.normal(size=(product.n, 3))
    np.testing.assert_allclose(product.implicit().apply(X.T), (matrix @ X).T, atol=1e-10)
    np.testing.assert_allclose(product.squared_norms(), np.square(matrix).sum(axis=1))
    start, stop = sorted(int(i) for i in rng.integers(0, product.m + 1, size=2))
    np.testing.assert_array_equal(product.rows(start, stop), matrix[start:stop])
    # Merging is sound: cells of one class have equal columns; complete for entries 0 and 1.
    classes = product.classes()
    for c in set(classes.tolist()):
        columns = matrix[:, classes == c]
        assert (columns == columns[:, :1]).all()
        assert (c == -1) == (not columns.any())
    labels = product.labels(domain_of(*sizes))
    assert len(labels) == product.m


def test_a_product_needs_a_factor():
    with pytest.raises(WorkloadError, match=r"^a product needs at least one factor, found none$"):
        Product(())


def test_labels_follow_the_rows():
    domain = Domain(
        (
            Attribute("sex", ("Female", "Male")),
            Attribute("age", ("[0, 18)", "[18, 25)"), encoding=Bins((0, 18, 25))),
        )
    )
    product = Product((f.union(f.total(2), f.identity(2)), f.union(f.identity(2), f.total(2))))
    assert product.labels(domain) == [
        "age in [0, 18)",
        "age in [18, 25)",
        "everyone",
        "sex=Female, age in [0, 18)",
        "sex=Female, age in [18, 25)",
        "sex=Female",
        "sex=Male, age in [0, 18)",
        "sex=Male, age in [18, 25)",
        "sex=Male",
    ]
    # A row's label names the cells that it counts.
    cells = [domain.cell(i) for i in np.flatnonzero(product.rows(0, product.m)[4])]
    assert cells == [("Female", "[18, 25)")]


def test_titles():
    domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))))
    assert Product((f.identity(2), f.identity(2))).title(domain) == "a, b"
    assert Product((f.total(2), f.prefix(2))).title(domain) == "b prefix"
    assert Product((f.total(2), f.total(2))).title(domain) == "total"
    assert Product((f.total(2), f.total(2)), name="all").title(domain) == "all"


def test_weight_and_target():
    product = Product((f.prefix(3),), weight=2, target=5)
    np.testing.assert_array_equal(product.weights, [2, 2, 2])
    np.testing.assert_array_equal(product.targets, [5, 5, 5])
    np.testing.assert_array_equal(product.weighted_gram(), 2 * product.gram())


def test_errors(subtests):
    for arguments, text in [
        ({"weight": 0}, "the weight is 0, expected a positive number, not infinite"),
        ({"weight": math.inf}, "the weight is inf, expected a positive number, not infinite"),
        ({"weight": "2"}, "the weight is '2', expected a positive number, not infinite"),
        ({"weight": True}, "the weight is True, expected a positive number, not infinite"),
        ({"weight": 1e-200}, "the weight is 1e-200, expected between 1e-100 and 1e+100"),
        ({"target": -1.0}, "the target variance is -1, expected a positive number"),
        ({"target": math.nan}, "the target variance is nan, expected a positive number"),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                Product((f.total(2),), **arguments)
            assert str(caught.value) == text


def test_lists_that_are_too_long_are_refused(subtests):
    for ask, what in [
        (lambda p: p.weights, "weights"),
        (lambda p: p.targets, "targets"),
        (lambda p: p.squared_norms(), "squared norms"),
        (lambda p: p.classes(), "classes of the cells"),
    ]:
        with subtests.test(what):
            product = Product((f.all_range(2010), f.all_range(1000), f.prefix(2000)))
            with pytest.raises(TooLargeError) as caught:
                ask(product)
            count = product.n if what.startswith("classes") else product.m
            assert caught.value.message.startswith(
                f"the list of the {what} of {product!r} has {count:,} entries, "
            )


def test_equal_factors_become_one_object():
    made = [[f.identity(3), f.predicates([[1.0, 0.0]])], [f.identity(3), f.predicates([[1.0, 0.0]])]]
    one, two = (Product(tuple(own), weight=2.0, target=5.0) for own in made)
    first, second = with_shared_factors([one, two])
    assert first is one, "nothing of it changes"
    assert second == two and second.factors[0] is one.factors[0] and second.factors[1] is one.factors[1]
    workload = Workload.from_products(
        Domain((Attribute("a", ("x", "y", "z")), Attribute("b", ("p", "q")))), [one, two]
    )
    assert workload.products == (one, two)
    assert all(a is b for a, b in zip(*(p.factors for p in workload.products), strict=True))


WISH = Wish(50.0)


@pytest.mark.quick
def test_a_wish_is_a_variance_of_normal_noise():
    assert WISH.variance == pytest.approx((50 / 1.959963984540054) ** 2, rel=1e-12)
    assert Wish(1.0, 0.5).variance == pytest.approx((1 / 0.6744897501960817) ** 2, rel=1e-12)
    assert math.isfinite(Wish(1.0, 1e-8).variance) and Wish(1.0, 1 - 1e-8).variance > 0


@pytest.mark.quick
def test_a_wish_is_a_target_of_a_product():
    """The stricter one; the hash is that of the target, and does not see the wish beyond it."""
    factors = (f.identity(2),)
    assert Product(factors, within=WISH).target == WISH.variance
    assert Product(factors, within=WISH, target=9.0).target == 9.0
    assert Product(factors, within=WISH, target=1e9).target == WISH.variance
    wished, targeted, looser = (
        Workload.from_products(domain_of(2), [product])
        for product in (
            Product(factors, within=WISH),
            Product(factors, target=WISH.variance),
            Product(factors, within=WISH, target=1e9),
        )
    )
    assert wished.hash == targeted.hash == looser.hash
    assert wished.hash != Workload.from_products(domain_of(2), [Product(factors)]).hash
    np.testing.assert_array_equal(wished.targets, [WISH.variance] * 2)
    assert with_shared_factors([Product(factors, within=WISH)])[0].within == WISH


@pytest.mark.quick
def test_wishes_come_with_the_numbers_of_their_queries():
    products = [
        Product((f.identity(3),)),
        Product((f.prefix(3),), within=WISH),
        Product((f.total(3),), target=1.0),
        Product((f.total(3),), within=Wish(2.0, 0.5)),
    ]
    assert wishes(products) == [(slice(3, 6), WISH), (slice(7, 8), Wish(2.0, 0.5))]


def test_wishes_that_are_none(subtests):
    for arguments, text in [
        ((0.0,), "the half width is 0, expected a positive number, not infinite"),
        ((math.inf,), "the half width is inf, expected a positive number, not infinite"),
        (("50",), "the half width is '50', expected a positive number, not infinite"),
        ((1e200,), "the half width is 1e+200, expected between 1e-100 and 1e+100"),
        ((1e99,), "the variance of noise within 1e+99 is 2.60318e+197, expected between 1e-100 and 1e+100"),
        ((5.0, 1.0), "the confidence is 1.0, expected 1e-08 to 1 - 1e-08\n  for example 0.95"),
        ((5.0, 1e-17), "the confidence is 1e-17, expected 1e-08 to 1 - 1e-08\n  for example 0.95"),
        ((5.0, math.nan), "the confidence is nan, expected a positive number, not infinite"),
        ((5.0, "0.9"), "the confidence is '0.9', expected a positive number, not infinite"),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                Wish(*arguments)
            assert str(caught.value) == text
