"""A workload's numbers are those of its dense, weighted matrix, which a large workload never forms;
mistakes in a matrix or a list of products are refused with their whole message.

Guards factors_and_products.py.
"""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from random_workloads import domain_of, random_workload

from mmopt import limits
from mmopt.errors import TooLargeError, WorkloadError
from mmopt.workloads import Attribute, Domain, Product, Workload, factors_and_products as f
from tests.workloads.implicit_twins import check_twin


def check_derived(w: Workload) -> None:
    """Everything that follows from the dense, weighted matrix."""
    W, n = w.matrix, w.n
    scale = np.linalg.norm(W)
    np.testing.assert_allclose(W, np.sqrt(w.weights)[:, None] * w.queries)
    np.testing.assert_allclose(w.gram, W.T @ W, atol=1e-12 * scale**2)
    assert w.root.shape[0] <= min(w.shape)
    np.testing.assert_allclose(w.root.T @ w.root, W.T @ W, atol=1e-12 * scale**2)
    k = np.linalg.matrix_rank(w.queries)
    assert w.rank == k
    assert w.basis.shape == (k, n)
    np.testing.assert_allclose(w.basis @ w.basis.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(w.representation @ w.basis, w.queries, atol=1e-12 * scale)
    assert w.representation.shape == (w.m, k)
    if k == n:
        np.testing.assert_array_equal(w.basis, np.eye(n))
    # Spectrum
    assert w.eigenqueries.shape == (k, n)
    assert (np.diff(w.eigenvalues) <= 0).all()
    np.testing.assert_allclose(w.eigenqueries @ w.eigenqueries.T, np.eye(k), atol=1e-12)
    rebuilt = (w.eigenqueries.T * w.eigenvalues) @ w.eigenqueries
    np.testing.assert_allclose(rebuilt, W.T @ W, atol=1e-12 * scale**2)
    for row in w.eigenqueries:
        assert row[np.flatnonzero(np.abs(row) > (1 - 1e-6) * np.abs(row).max())[0]] > 0
    # Answers and classes
    x = np.arange(1.0, n + 1)
    np.testing.assert_allclose(w.answers(x), w.queries @ x, atol=1e-12 * scale * n)
    np.testing.assert_allclose(w.squared_norms(), np.square(w.queries).sum(axis=1))
    for c in range(-1, int(w.cell_classes.max()) + 1):
        columns = w.queries[:, w.cell_classes == c]
        assert (columns == columns[:, :1]).all()
        assert (c == -1) == (not columns.any())
    # Read-only, computed once
    for name in ("matrix", "queries", "gram", "root", "basis", "eigenqueries", "weights", "targets"):
        array = getattr(w, name)
        assert array is getattr(w, name)
        assert not array.flags.writeable


def check_integer_basis(w: Workload) -> None:
    basis = w.integer_basis
    assert basis is not None
    assert basis.dtype == np.int64
    assert basis.shape == (w.rank, w.n)
    assert np.linalg.matrix_rank(basis) == w.rank
    both = np.vstack([basis, w.queries / np.abs(w.queries).max(axis=1, keepdims=True)])
    assert np.linalg.matrix_rank(both) == w.rank


@pytest.mark.draws(3)
def test_products_agree_with_their_dense_matrix(rng):
    w = random_workload(rng)
    check_derived(w)
    if (w.queries == np.rint(w.queries)).all():
        check_integer_basis(w)
    assert len(w.labels()) == w.m
    assert w.groups()[-1][1].stop == w.m
    check_twin(w.implicit(), np.array(w.matrix), rng)
    check_twin(w.implicit(weighted=False), np.array(w.queries), rng)
    explicit = Workload.from_matrix(w.queries, w.targets, w.weights)
    np.testing.assert_array_equal(w.matrix, explicit.matrix)
    np.testing.assert_allclose(w.gram, explicit.gram, atol=1e-11)
    np.testing.assert_allclose(w.eigenvalues, explicit.eigenvalues, rtol=1e-9)
    np.testing.assert_array_equal(w.targets, explicit.targets)
    assert (w.rank, w.has_all_targets) == (explicit.rank, explicit.has_all_targets)
    # Answers for one data vector (n,) and for several, as columns (n, c).
    x = rng.integers(0, 9, size=(w.n, 4)).astype(float)
    np.testing.assert_allclose(w.answers(x), w.queries @ x, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(w.answers(x[:, 0]), w.queries @ x[:, 0], rtol=1e-12, atol=1e-11)
    assert w.answers(x[:, :0]).shape == (w.m, 0)


@pytest.mark.draws(3)
def test_matrices_of_low_rank_with_repeated_and_zero_columns(rng):
    m, n, k = (int(i) for i in rng.integers(1, 9, size=3))
    queries = rng.integers(-2, 3, size=(m, k)) @ rng.integers(-2, 3, size=(k, n))
    queries = np.hstack([queries, queries[:, :2], np.zeros((m, 1), dtype=int)])
    queries[~queries.any(axis=1), 0] = 1
    w = Workload.from_matrix(queries, weights=rng.uniform(0.1, 3, size=m))
    check_derived(w)
    check_integer_basis(w)
    assert w.cell_classes[-1] == -1


def test_sparse_matrices(rng):
    queries = rng.integers(0, 2, size=(12, 7)) * rng.integers(-1, 3, size=(12, 7))
    queries[:, 5] = queries[:, 2]
    queries[:, 6] = 0
    queries[~queries.any(axis=1), 0] = 1
    for weights in (None, 4.0, rng.uniform(0.5, 2, size=12)):
        dense = Workload.from_matrix(queries, weights=weights)
        check_twin(dense.implicit(), np.array(dense.matrix), rng)
        for form in (scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array):
            sparse = Workload.from_matrix(form(queries.astype(float)), weights=weights)
            assert sparse == dense and sparse.hash == dense.hash
            np.testing.assert_array_equal(sparse.queries, queries)
            np.testing.assert_array_equal(sparse.cell_classes, dense.cell_classes)
        check_derived(sparse)
        check_integer_basis(sparse)
        check_twin(sparse.implicit(), np.array(sparse.matrix), rng)


def test_the_matrix_is_copied():
    queries = np.eye(3)
    w = Workload.from_matrix(queries)
    queries[0, 0] = 5
    assert w.queries[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        w.matrix[0, 0] = 5
    with pytest.raises(AttributeError):
        w.domain = Domain.anonymous(3)


@pytest.mark.draws(2)
def test_scaled_weighted_duplicated_permuted(rng):
    w = random_workload(rng)
    Q, weights = w.queries, w.weights
    rows, cells = rng.permutation(w.m), rng.permutation(w.n)

    def gram(queries, weights):
        return Workload.from_matrix(queries, weights=weights).gram

    tolerance = 1e-11 * max(1.0, np.abs(w.gram).max())
    np.testing.assert_allclose(gram(3 * Q, weights), 9 * w.gram, atol=9 * tolerance)
    np.testing.assert_allclose(gram(Q, 9 * weights), 9 * w.gram, atol=9 * tolerance)
    np.testing.assert_allclose(gram(np.vstack([Q, Q]), np.tile(weights, 2)), 2 * w.gram, atol=2 * tolerance)
    np.testing.assert_allclose(gram(Q[rows], weights[rows]), w.gram, atol=tolerance)
    np.testing.assert_allclose(gram(Q[:, cells], weights), w.gram[np.ix_(cells, cells)], atol=tolerance)


def test_weights_do_not_change_the_rank():
    # √1e-90 is far below machine precision; the query is still asked.
    w = Workload.from_matrix(np.eye(3), weights=[1, 1e-90, 1])
    assert w.rank == 3
    product = Product((f.identity(4),), weight=1e-90)
    w = Workload.from_products(Domain.anonymous(4), [Product((f.total(4),)), product])
    assert w.rank == 4
    scaled = Workload.from_matrix([[1e-60, 0, 0], [0, 1, 1]])
    assert scaled.rank == 2
    assert scaled.eigenqueries.shape == (2, 3)


def test_small_singular_values_keep_their_accuracy():
    # Singular values 1 and 1e-10: the Gram matrix's 1e-20 is below its rounding error.
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.normal(size=(50, 3)))
    right, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    values = np.array([1.0, 1e-5, 1e-10])
    w = Workload.from_matrix(left @ np.diag(values) @ right)
    np.testing.assert_allclose(np.sqrt(w.eigenvalues), values, rtol=1e-5)
    assert w.rank == 3


def test_known_spectrum_of_prefix_sums():
    n = 64
    w = Workload.from_products(Domain.anonymous(n), [Product((f.prefix(n),))])
    exact = 1 / (4 * np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (4 * n + 2)) ** 2)
    np.testing.assert_allclose(w.eigenvalues, exact, rtol=1e-12)


def test_many_rows_are_reduced_in_blocks():
    rng = np.random.default_rng(2)
    queries = rng.normal(size=(9000, 4))
    w = Workload.from_matrix(queries)
    assert w.root.shape == (4, 4)
    np.testing.assert_allclose(w.root.T @ w.root, queries.T @ queries, rtol=1e-10, atol=1e-9)


def test_merged_cells_give_the_basis():
    w = Workload.from_matrix([[1, 1, 0, 0, 0], [1, 1, 2, 2, 0]])
    np.testing.assert_array_equal(w.cell_classes, [0, 0, 1, 1, -1])
    np.testing.assert_array_equal(w.integer_basis, [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(w.basis, [[half, half, 0, 0, 0], [0, 0, half, half, 0]])
    for rows, basis in (
        ([[0.3, 0.3, 0.1], [0.1, 0.1, 0.7]], [[1, 1, 0], [0, 0, 1]]),  # merging alone is enough
        ([[0.1, -0.1, 0, 0.1], [0, 1, 1, 0]], [[1, -1, 0, 1], [0, 1, 1, 0]]),  # multiples of whole numbers
    ):
        np.testing.assert_array_equal(Workload.from_matrix(rows).integer_basis, basis)
    assert Workload.from_matrix([[0.3, 0.1, 0.7]]).integer_basis is None


def test_marginals_have_the_known_rank():
    # One- and two-way marginals over t³ cells: 1 + 3 (t - 1) + 3 (t - 1)².
    t = 5
    pairs = [(1, 1, 0), (1, 0, 1), (0, 1, 1)]
    products = [Product(tuple(f.identity(t) if on else f.total(t) for on in pair)) for pair in pairs]
    w = Workload.from_products(domain_of(t, t, t), products)
    assert w.rank == 1 + 3 * (t - 1) + 3 * (t - 1) ** 2
    check_integer_basis(w)


def test_one_total():
    w = Workload.from_matrix(np.ones((1, 6)))
    np.testing.assert_array_equal(w.integer_basis, np.ones((1, 6)))
    np.testing.assert_allclose(w.basis, np.full((1, 6), 1 / np.sqrt(6)))
    np.testing.assert_allclose(w.representation, [[np.sqrt(6)]])
    np.testing.assert_allclose(w.eigenvalues, [6])


def test_a_large_domain_stays_implicit():
    sizes = (2, 2, 64, 17, 115)  # 500,480 cells

    def marginal(*on: int) -> Product:
        return Product(tuple(f.identity(s) if i in on else f.total(s) for i, s in enumerate(sizes)))

    w = Workload.from_products(domain_of(*sizes), [marginal(2, 4), marginal(0, 1), marginal()])
    assert w.shape == (64 * 115 + 4 + 1, 500_480)
    answers = w.answers(np.ones(w.n))
    assert (answers[0], answers[-2], answers[-1]) == (68.0, 64 * 17 * 115, 500_480.0)
    assert w.weights.shape == w.targets.shape == (w.m,)
    assert w.groups()[1] == ("a0, a1", slice(7360, 7364))
    assert w.labels()[-1] == "everyone"
    assert int(w.cell_classes.max()) + 1 == 2 * 2 * 64 * 115
    assert repr(w) == "Workload(7,365 queries over 500,480 cells, 3 products)"
    for name, text in (
        ("gram", "the Gram matrix has 500,480 × 500,480 entries, 1,866.2 GiB; the limit is 4 GiB"),
        ("queries", "the query matrix has 7,365 × 500,480 entries, 27.5 GiB; the limit is 4 GiB"),
    ):
        with pytest.raises(TooLargeError) as caught:
            getattr(w, name)
        assert str(caught.value) == text + "\n  work with the workload's factors, or with fewer cells"


def test_many_queries_never_form_the_matrix():
    n = 64
    domain = Domain((Attribute("a", tuple(map(str, range(n)))), Attribute("b", ("x", "y"))))
    product = Product((f.all_range(n), f.all_range(2)))
    w = Workload.from_products(domain, [product, Product((f.total(n), f.total(2)))])
    assert w.m == n * (n + 1) // 2 * 3 + 1
    assert (w.gram.shape, w.rank, w.eigenvalues.shape) == ((128, 128), 128, (128,))
    assert w.root.shape[0] <= 128
    assert "queries" not in vars(w)
    assert "matrix" not in vars(w)


def test_labels_and_groups():
    w = Workload.from_matrix(np.tri(3))
    assert w.labels() == ["query 0", "query 1", "query 2"]
    assert w.groups() == [("queries", slice(0, 3))]
    domain = Domain((Attribute("sex", ("Female", "Male")), Attribute("age", ("young", "old"))))
    products = [Product((f.identity(2), f.total(2))), Product((f.total(2), f.prefix(2)), name="ages")]
    w = Workload.from_products(domain, products)
    assert w.labels() == ["sex=Female", "sex=Male", "age up to young", "age up to old"]
    assert w.groups() == [("sex", slice(0, 2)), ("ages", slice(2, 4))]
    product = Product((f.prefix(2),))  # one without a name may repeat
    assert Workload.from_products(Domain.anonymous(2), [product, product]).m == 4


def test_repr():
    w = Workload.from_matrix(np.tri(3), targets=[1, np.inf, 2])
    assert repr(w) == "Workload(3 queries over 3 cells, matrix, 2 with a target)"
    w = Workload.from_products(Domain.anonymous(2), [Product((f.prefix(2),))])
    assert repr(w) == "Workload(2 queries over 2 cells, 1 product)"


def test_targets():
    assert not Workload.from_matrix(np.eye(2)).has_all_targets
    assert not Workload.from_matrix(np.eye(2), targets=[1, np.inf]).has_all_targets
    w = Workload.from_matrix(np.eye(2), targets=3)
    assert w.has_all_targets
    np.testing.assert_array_equal(w.targets, [3, 3])


def test_equality_is_by_what_is_asked():
    domain = Domain.anonymous(3)

    def of(**options):
        return Workload.from_products(domain, [Product((f.prefix(3),), **options)])

    assert of() == of(name="named")
    assert hash(of()) == hash(of())
    assert len({of().hash, of(weight=2).hash, of(target=2).hash}) == 3
    other = Domain((Attribute("cell", ("0", "1", "x")),))
    assert Workload.from_products(other, [Product((f.prefix(3),))]) != of()
    plain = Workload.from_matrix(np.tri(3))
    assert plain == Workload.from_matrix(np.tri(3).astype(int))
    assert plain != Workload.from_matrix(np.tri(3), weights=2)
    assert plain != Workload.from_matrix(np.tri(3), targets=2)
    assert plain != Workload.from_matrix(np.tri(4))
    assert plain != np.tri(3).tolist()


def test_the_hash_does_not_change_between_releases():
    # A saved solution names its workload by this hash: changing it makes old files unreadable.
    assert (
        Workload.from_matrix(np.tri(3)).hash
        == "fbd910c96f3741214ab21799230bae7bd8959e7f9f97b41cd502d62383371663"
    )


def test_the_unweighted_workload():
    rows = np.tri(3)
    weighted = Workload.from_matrix(rows, targets=[1, 2, 3], weights=[1, 4, 9])
    plain = weighted.unweighted
    np.testing.assert_array_equal(plain.matrix, rows)
    np.testing.assert_array_equal(plain.targets, weighted.targets)
    assert plain.unweighted is plain
    product = Workload.from_products(Domain.anonymous(4), [Product((f.prefix(4),), weight=2.0)])
    np.testing.assert_array_equal(product.unweighted.matrix, np.tri(4))


def test_what_a_root_is_off_by_is_within_its_rounding(subtests: pytest.Subtests) -> None:
    """‖RᵀR - WᵀW‖ <= 2 γ ‖W‖² and a little, in rational numbers; of no more rows than cells, nothing."""
    for shape in [(4, 6), (30, 6), (200, 5)]:
        with subtests.test(str(shape)):
            rows = np.random.default_rng(5).normal(size=shape)
            workload = Workload.from_matrix(rows)
            exact = [
                np.array([[Fraction(x) for x in row] for row in m.tolist()]) for m in (workload.root, rows)
            ]
            off = exact[0].T @ exact[0] - exact[1].T @ exact[1]
            size = float(np.linalg.norm(rows)) ** 2
            assert float(np.linalg.norm(off.astype(float))) <= 2.001 * workload.root_rounding * size
            assert (workload.root_rounding == 0.0) == (shape[0] <= shape[1])


def test_what_queries_in_their_basis_are_off_by() -> None:
    rows = np.random.default_rng(6).normal(size=(7, 2)) @ np.random.default_rng(7).normal(size=(2, 5))
    workload = Workload.from_matrix(rows)
    left, right = (
        np.array([[Fraction(x) for x in row] for row in m.tolist()])
        for m in (workload.representation, workload.basis)
    )
    off = (left @ right - np.array([[Fraction(x) for x in row] for row in rows.tolist()])).astype(float)
    lengths = np.linalg.norm(rows, axis=1)
    assert (np.linalg.norm(off, axis=1) <= workload.representation_rounding * lengths).all()
    assert Workload.from_matrix(np.tri(4)).representation_rounding == 0.0


def test_answers_do_not_share_memory_with_the_data():
    w = Workload.from_products(domain_of(3), [Product((f.identity(3),))])
    x = np.arange(3.0)
    w.answers(x)[0] = 7.0
    assert x[0] == 0.0


def test_a_large_workload_is_solved_by_least_squares():
    """LSMR on 40,000 cells finds data with the same answers, without the matrix of 2 GiB."""
    sizes = (20, 20, 100)
    products = [
        Product((f.identity(20), f.total(20), f.hierarchy(100))),
        Product((f.total(20), f.prefix(20), f.identity(100)), weight=0.25),
    ]
    w = Workload.from_products(domain_of(*sizes), products)
    sizes_held = w.implicit(weighted=False).sizes()
    assert sizes_held.explicit == 8 * w.m * w.n == 8 * (20 * 199 + 20 * 100) * 40_000
    assert sizes_held.implicit < 10_000
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, size=w.n).astype(float)
    right = w.implicit().apply(x)
    found = scipy.sparse.linalg.lsmr(w.implicit().operator(), right, atol=1e-12, btol=1e-12, maxiter=500)[0]
    np.testing.assert_allclose(w.implicit().apply(found), right, rtol=1e-6, atol=1e-6 * np.abs(right).max())


def test_answers_beyond_the_limit_are_refused(monkeypatch):
    w = Workload.from_products(domain_of(5, 5), [Product((f.all_range(5), f.all_range(5)))])
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 200)
    with pytest.raises(TooLargeError) as caught:
        w.answers(np.ones(25))
    assert caught.value.message == (
        "the product with Kron(all_range(5) ⊗ all_range(5)) has 225 entries, 0.0 GiB; "
        "the limit is 1.49012e-06 GiB"
    )


NAN, INF = float("nan"), float("inf")
ZERO = "query 1 is all zero\n  leave it out: its answer is 0"


def test_matrices_that_are_refused(subtests):
    for matrix, text in [
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
        (scipy.sparse.csr_array([[1.0, 0], [0, 0]]), ZERO),
        (scipy.sparse.csr_array([[1j]]), "the query matrix holds complex128 values, expected real numbers"),
        (scipy.sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 1, 2]))), ZERO),
        (
            scipy.sparse.csr_array([[1.0, 0], [0, NAN]]),
            "query 1 has the entry nan at cell 1, expected finite numbers",
        ),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                Workload.from_matrix(matrix)
            assert str(caught.value) == text


def test_a_ragged_matrix():
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix([[1, 2], [3]])
    assert str(caught.value).startswith("the query matrix is not rectangular: ")  # then numpy's words


def test_columns_of_zeros_and_booleans_are_fine():
    w = Workload.from_matrix(np.array([[True, False]]))
    np.testing.assert_array_equal(w.queries, [[1, 0]])


def test_weights_and_targets_that_are_refused(subtests):
    for options, text in [
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
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                Workload.from_matrix(np.eye(2), **options)
            assert str(caught.value) == text


DOMAIN = Domain((Attribute("sex", ("F", "M")), Attribute("age", ("0", "1", "2"))))
GOOD = Product((f.total(2), f.prefix(3)), name="ages")


def test_products_that_are_refused(subtests):
    for products, text in [
        ([], "the workload has no queries, expected at least one product"),
        ([Product((f.total(2),))], "product 0 has 1 factors, the domain has 2 attributes"),
        (
            [GOOD, Product((f.total(2), f.prefix(4)), name="wrong")],
            "product 'wrong': the factor of attribute 'age' has 4 cells, the attribute has 3",
        ),
        ([GOOD, GOOD], "two products have the name 'ages'"),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                Workload.from_products(DOMAIN, products)
            assert str(caught.value) == text


def test_data_of_another_size():
    with pytest.raises(WorkloadError) as caught:
        Workload.from_matrix(np.eye(2)).answers([1, 2, 3])
    assert str(caught.value) == "the workload has 2 cells, found data of shape (3,)"
