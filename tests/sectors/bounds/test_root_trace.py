"""The bound is never above tr K^½ in 80 digits, and next to it, whatever products, measures and scales."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from few_attributes import up_to
from flint import acb_mat, arb, ctx

from mmopt.numerics.arrays import Array
from mmopt.sectors.bounds.root_trace import root_trace_below
from mmopt.sectors.residual.products_of_few import FewProduct, products_of_few

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
