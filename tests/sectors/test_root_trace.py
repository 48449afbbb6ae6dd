"""The bound is never above tr K^½ in 80 digits, and next to it, whatever products, measures and scales.

Guards total_error_bounds.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from few_attributes import up_to
from flint import acb_mat, arb, ctx

from mmopt.errors import TooLargeError
from mmopt.limits import deadline
from mmopt.numerics.arrays import EPS, Array
from mmopt.sectors import total_error_bounds
from mmopt.sectors.residual_strategies import FewProduct, products_of_few
from mmopt.sectors.total_error_bounds import root_trace_below

NEAR = 3e-4
"""Relative: twice the error of the trapezoid rule is 7e-5, and small roots below the first node are lost."""


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    before, ctx.dps = ctx.dps, 80
    yield
    ctx.dps = before


def prefix(d: int) -> Array:
    rows = np.tril(np.ones((d, d)))
    return rows.T @ rows


def roots(matrix: Sequence[Sequence[arb]]) -> list[arb]:
    """Eigenvalues of a symmetric matrix, about to 1e-78 of its trace; negative ones are rounding."""
    if len(matrix) == 1:
        return [matrix[0][0].mid()]
    found = acb_mat([[entry.mid() for entry in row] for row in matrix]).eig(algorithm="approx")
    return [value.real.mid() for value in found if value.real.mid() > 0]


def exact(products: Sequence[FewProduct], measures: Sequence[Array]) -> arb:
    """tr K^½ over the cells."""
    shares = [[arb(float(x)) / sum((arb(float(y)) for y in m), arb(0)) for x in m] for m in measures]
    cells = list(itertools.product(*(range(len(m)) for m in measures)))

    def entry(x: tuple[int, ...], y: tuple[int, ...]) -> arb:
        total = arb(0)
        for product in products:
            term = arb(product.weight)
            for i, gram in zip(product.attributes, product.grams, strict=True):
                term *= arb(float(gram[x[i], y[i]]))
            total += term
        for share, a, b in zip(shares, x, y, strict=True):
            total *= (share[a] * share[b]).sqrt()
        return total

    matrix = [[entry(x, y) for y in cells] for x in cells]
    trace = sum((matrix[i][i] for i in range(len(cells))), arb(0)).mid()
    if not trace > 0:
        return arb(0)
    scaled = roots([[e / trace for e in row] for row in matrix])
    return (sum((value.sqrt() for value in scaled), arb(0)) * trace.sqrt()).mid()


def check(products: Sequence[FewProduct], measures: Sequence[Array], near: float = NEAR) -> None:
    found, truth = root_trace_below(products, measures), exact(products, measures)
    assert arb(found) <= truth
    assert arb(found) >= truth * (1 - near)


def drawn(rng: np.random.Generator) -> tuple[list[FewProduct], list[Array]]:
    """Few products of few kinds of factors, in any order of attributes; sometimes far from 1 or singular."""
    sizes = rng.integers(1, 4, size=rng.integers(1, 4)).tolist()
    kinds = [
        [
            prefix(d),
            np.eye(d),
            np.outer(np.arange(d) == 0, np.arange(d) == 0) * 1.0,
            np.ones((d, d)) + np.eye(d),
        ]
        for d in sizes
    ]
    scale = 10.0 ** rng.uniform(-100, 100) if rng.random() < 0.3 else 1.0
    spread = 8 if rng.random() < 0.3 else 0.5
    products = []
    for _ in range(rng.integers(1, 7)):
        own = tuple(rng.permutation(len(sizes))[: rng.integers(0, len(sizes) + 1)].tolist())
        grams = tuple(kinds[i][rng.integers(4)] for i in own)
        products.append(FewProduct(own, grams, float(scale * 10.0 ** rng.uniform(-spread, spread))))
    measures = [rng.dirichlet(np.ones(d)) * 10.0 ** rng.uniform(-9, 9) for d in sizes]
    for measure in measures:
        if rng.random() < 0.3:
            measure[rng.integers(len(measure))] = 1e-12 * measure.max()
    return products, measures


@pytest.mark.quick
def test_it_is_below_and_next_to_the_trace(rng: np.random.Generator) -> None:
    for _ in range(25):
        check(*drawn(rng))


def test_traps(subtests: pytest.Subtests) -> None:
    p2, p3, one, five = prefix(2), prefix(3), np.eye(3), np.array([[5.0]])
    u2, u3 = np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])
    third = FewProduct((1,), (p3,), 2.0)
    pair = FewProduct((0, 1), (p2, p3), 1.0)
    for name, products, measures in [
        ("the other order", [pair, FewProduct((1, 0), (p3, p2), 1.0)], [u2, u3]),
        ("other factors in the other order", [pair, FewProduct((1, 0), (one, np.eye(2)), 1.0)], [u2, u3]),
        ("one value", [FewProduct((0, 1), (five, p3), 1.0)], [np.ones(1), u3]),
        ("one value alone", [FewProduct((0,), (five,), 1.0)], [np.ones(1)]),
        ("the total alone", [FewProduct((), (), 2.0)], [u2, u3]),
        ("nobody looks", [third], [u2, u3, u2]),
        ("a value without measure", [pair], [u2, np.array([0.0, 0.5, 0.5])]),
        ("one value with measure", [pair], [u2, np.array([0.0, 0.5, 0.0])]),
        ("a measure of 1e-300", [pair], [u2, np.array([1e-300, 0.5, 0.5])]),
        ("no weight", [FewProduct((0, 1), (p2, p3), 0.0), third], [u2, u3]),
        ("no queries", [FewProduct((0, 1), (0 * p2, p3), 1.0), third], [u2, u3]),
        ("two leaves", [pair, FewProduct((2,), (p3,), 1.0)], [u2, u3, u3]),
        (
            "several products of a set",
            [FewProduct((0, 1), (p3, one), 1.0), FewProduct((0, 1), (one, p3), 1e-3), third],
            [u3, u3],
        ),
        (
            "points on a diagonal",
            [FewProduct((0, 1), (np.diag(one[i]),) * 2, 1.0) for i in range(3)],
            [u3, u3],
        ),
        ("products that add up", [pair, FewProduct((0, 1), (p2, one), 1e-3)], [u2, u3]),
        ("another factor on each set", [pair, FewProduct((1, 2), (one, p2), 3.0)], [u2, u3, u2]),
    ]:
        with subtests.test(name):
            check(products, measures)


def test_three_and_four_ways_and_equal_leaves(subtests: pytest.Subtests) -> None:
    for sizes, most in (((2, 2, 2, 2), 4), ((3, 2, 3), 2), ((2,) * 5, 3)):
        with subtests.test(sizes=sizes):
            check(products_of_few(up_to(sizes, most)), [np.arange(1.0, d + 1) for d in sizes])


def test_what_is_no_number_proves_nothing() -> None:
    u = np.array([0.5, 0.5])
    for gram, weight, measure in [
        (np.full((2, 2), np.nan), 1.0, u),
        (np.full((2, 2), np.inf), 1.0, u),
        (np.eye(2), math.inf, u),
        (np.eye(2), math.nan, u),
        (np.eye(2), 1.0, np.array([1.0, np.inf])),
        (np.eye(2), 1.0, np.array([1.0, np.nan])),
        (np.eye(2), 1.0, np.array([1.0, -1.0])),
        (np.eye(2), 1.0, np.zeros(2)),
    ]:
        assert root_trace_below([FewProduct((0,), (gram,), weight)], [measure]) == 0.0
    assert root_trace_below([], [u]) == 0.0


def test_what_gram_matrices_lost_is_taken_off(subtests: pytest.Subtests) -> None:
    """A point query, whose Gram matrix gained a little everywhere: small eigenvalues that are not there."""
    for d in (2, 3, 9):
        with subtests.test(d=d):
            u = np.full(d, 1 / d)
            point = np.diag(1.0 * (np.arange(d) == 0))
            gained = point + 1e-7 * np.eye(d)
            off = 1e-7 / d * math.sqrt(d) / (gained.trace() / d)
            truth = exact([FewProduct((0,), (point,), 1.0)], [u])
            found = arb(root_trace_below([FewProduct((0,), (gained,), 1.0)], [u], off))
            assert truth * (1 - 1e-2) <= found <= truth
            assert arb(root_trace_below([FewProduct((0,), (gained,), 1.0)], [u])) > truth
            if d > 3:
                continue
            pair = [FewProduct((0, 1), (gained, gained), 1.0), FewProduct((1,), (gained,), 1e-3)]
            before = [FewProduct((0, 1), (point, point), 1.0), FewProduct((1,), (point,), 1e-3)]
            assert arb(root_trace_below(pair, [u, u], off)) <= exact(before, [u, u])
    one = [FewProduct((0,), (np.array([[1.0]]),), 1.0)]
    assert root_trace_below(one, [np.ones(1)], 0.1) <= math.sqrt(0.9)
    assert root_trace_below(one, [np.ones(1)], 2.0) == 0.0
    assert root_trace_below([FewProduct((0,), (np.eye(3),), 1.0)], [np.ones(3)], 0.1) == 0.0


Eigh = Callable[[Array], tuple[Array, Array]]


def shortened(eigh: Eigh, matrix: Array) -> tuple[Array, Array]:
    """Vectors that are too short."""
    values, vectors = eigh(matrix)
    return values, vectors * (1 - 1e-6)


def raised(eigh: Eigh, matrix: Array) -> tuple[Array, Array]:
    """Values that are too large."""
    values, vectors = eigh(matrix)
    return values + 1e-6, vectors


def turned(eigh: Eigh, matrix: Array) -> tuple[Array, Array]:
    """Vectors that are no eigenvectors."""
    values, vectors = eigh(matrix)
    turn = 1e-5 * np.triu(np.ones(matrix.shape), 1)
    return values, vectors @ scipy.linalg.expm(turn - turn.T)


@pytest.mark.parametrize("spoil", [shortened, turned])
def test_it_rests_on_no_decomposition(
    spoil: Callable[[Eigh, Array], tuple[Array, Array]],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the vectors are, a factor's eigenvalues are off by no more than it says, and bounds hold."""
    eigh = scipy.linalg.eigh
    monkeypatch.setattr(scipy.linalg, "eigh", lambda matrix: spoil(eigh, matrix))
    for d in (3, 4, 5):
        v = np.sqrt(rng.dirichlet(np.ones(d)))
        factor = total_error_bounds._factor(prefix(d), v, 32 * EPS)
        assert factor is not None
        matrix = total_error_bounds._turned(factor, factor).block
        mine = sorted(np.linalg.eigvalsh(matrix))
        told = sorted(np.linalg.eigvalsh(np.ldexp(v[:, None] * prefix(d) * v, -factor.exponent)))
        apart = np.abs(np.subtract(mine, told)).sum() / factor.trace
        assert 1e-12 < apart <= factor.off < 1e-3  # far more than rounding
    for _ in range(10):
        products, measures = drawn(rng)
        assert arb(root_trace_below(products, measures)) <= exact(products, measures)


@pytest.mark.parametrize("spoil", [shortened, turned, raised])
def test_a_leaf_of_several_products_rests_on_none(
    spoil: Callable[[Eigh, Array], tuple[Array, Array]],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """log det of what it is decomposed into, against that of the matrix, at shifts far below what is lost."""
    eigh = scipy.linalg.eigh
    monkeypatch.setattr(scipy.linalg, "eigh", lambda matrix: spoil(eigh, matrix))
    tried = 0
    for _ in range(10):
        rows = rng.normal(size=(3, 6))
        whole = rows.T @ rows  # of rank 3
        leaf, off = total_error_bounds._dense_leaf(whole[2:, 2:], whole[:2, 2:])
        assert 0 < off < 1e-3
        for s in (1e-2, 1e-5, 1e-7, 1e-9):
            schur, _, log_det = leaf.at(np.array([s]))
            hub = np.linalg.eigvalsh(whole[:2, :2] + s * np.eye(2) - schur[0])
            if hub[0] > 0:
                told = float(log_det[0] + np.log(hub / s).sum())
                truth = float(np.log1p(np.maximum(np.linalg.eigvalsh(whole), 0) / s).sum())
                assert told - 6 * math.log1p(off / (6 * s)) <= truth + 1e-4  # of rounding over the least s
                tried += 1
    assert tried >= 10


def test_the_logarithm_of_a_determinant_is_from_below(rng: np.random.Generator) -> None:
    """At shifts as small as the rounding of a hub of low rank; and what is said to be off is charged."""
    n, tried = 20, 0
    for _ in range(20):
        rows = rng.integers(-9, 10, (4, n)).astype(float)
        hub = rows.T @ rows / 2**12
        gram = total_error_bounds._Gram(np.asfortranarray(hub), [], n, 0, float(hub.trace()), 0.0, 0.0, 1)
        small = [
            arb(2) ** -12 * value for value in roots([[arb(float(x)) for x in row] for row in rows @ rows.T])
        ]
        for s in (2.0**-40, 2.0**-50, 2.0**-54):
            [found] = gram.log_dets(np.array([s]))
            truth = sum(((value / arb(s) + 1).log() for value in small), arb(0))
            assert arb(found) <= truth
            tried += found > 0
        for changed in ({"off": 1e-3}, {"turned": 1e-6}):
            [found], [less] = (one.log_dets(np.array([1e-4])) for one in (gram, replace(gram, **changed)))
            size = 1e-4 * n + 2 * gram.trace
            part = 1e-3 / n if "off" in changed else 1e-6 * size / math.sqrt(n)
            assert found - less == pytest.approx(n * math.log1p(part / 1e-4), rel=1e-2)
    assert tried > 40


@pytest.mark.quick
def test_the_sum_of_logarithms_is_below_the_root() -> None:
    low, high = 1e-30, 3.0
    shifts, weights, slope = total_error_bounds._logarithm_nodes(low, high)
    above = 0.0
    for x in [*np.exp(np.linspace(math.log(low) - 9, math.log(high), 999)).tolist(), high]:
        terms = (
            arb(c) * (1 + arb(x) / arb(s)).log()
            for s, c in zip(shifts.tolist(), weights.tolist(), strict=True)
        )
        share = float((sum(terms, arb(0)) + arb(slope) * arb(x)) / arb(x).sqrt())
        assert share <= 1
        assert share >= 1 - 2e-4 or x < 1e9 * low
        above = max(above, share)
    assert above >= 1 - 1e-6  # somewhere all of the rule's error is used


def test_no_time_is_a_bound_from_the_first_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_error_bounds, "AT_ONCE", 1)
    products = products_of_few(up_to((3, 3), 2))
    measures = [np.ones(3)] * 2
    best = root_trace_below(products, measures)
    with deadline(0.0):
        found = root_trace_below(products, measures)
    assert best / 100 < found < best * 0.9
    monkeypatch.setattr(total_error_bounds, "AT_ONCE", 2**20)
    assert root_trace_below(products, measures) == pytest.approx(best, rel=1e-12)


def test_too_large(subtests: pytest.Subtests) -> None:
    one, other = prefix(70), np.eye(70)
    for products, size, what in [
        (products_of_few(up_to((40, 40, 40), 3, least=3)), 4681, "sets within those asked"),
        (
            [FewProduct((0, 1), (one, one), 1.0), FewProduct((0, 1), (other, other), 1.0)],
            4900,
            "different products",
        ),
    ]:
        with subtests.test(what):
            with pytest.raises(TooLargeError) as refused:
                root_trace_below(products, [np.ones(len(products[0].grams[0]))] * 3)
            assert str(refused.value) == (
                f"the bound at a product of measures takes a matrix of {size} rows for {what}, "
                "expected 4000 at most\n"
                "  ask for queries of fewer attributes at a time, or of fewer values"
            )
