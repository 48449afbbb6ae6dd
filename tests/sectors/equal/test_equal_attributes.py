"""The row space of equal attributes against the dense matrices over all cells, and the issue's figures.

Guards pair_coordinates.py, pair_queries.py, pair_roots.py.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tolerances import ROUNDING, SHAPE

from mmopt.errors import OptionError
from mmopt.numerics.arrays import EPS, Array
from mmopt.sectors.equal import equal_attributes as module
from mmopt.sectors.equal.count_form import count_form
from mmopt.sectors.equal.equal_attributes import EqualAttributes, equal_attributes, equal_space
from mmopt.sectors.equal.kinds_of_products import Kind
from mmopt.sectors.equal.sampled_values import symmetric
from mmopt.sectors.measures import CutDensity, Mixture
from mmopt.testing.census_workloads import products_on
from mmopt.workloads import Workload
from mmopt.workloads.blocks import factor_blocks as f
from tests.sectors.equal.equal_workloads import (
    all_cells,
    best_parts,
    mean_over_orders,
    of_one_and_two,
    random_mixture,
    random_workload,
)
from tests.sectors.proved_bound import total_error_bound

SHAPES = [(2, 2), (2, 4), (3, 2), (3, 3), (4, 3), (5, 2), (5, 3)]


def _random_parts(rng: np.random.Generator, space: EqualAttributes) -> tuple[Array, ...]:
    halves = [rng.standard_normal((d, d)) for d in space.space.dims]
    return tuple(half @ half.T / len(half) for half in halves)


@pytest.mark.parametrize(("attributes", "size"), SHAPES)
def test_bound_and_lengths_are_those_of_the_matrix(
    rng: np.random.Generator, attributes: int, size: int
) -> None:
    workload = random_workload(rng, attributes, size)
    assert equal_attributes(workload)
    space = equal_space(workload)
    mixture = random_mixture(rng, attributes, size)
    on_cells = mean_over_orders(mixture)
    total, parts = best_parts(space, mixture)
    columns = workload.matrix * np.sqrt(mixture.weights @ on_cells)
    left, spectrum, _ = np.linalg.svd(columns, full_matrices=False)
    assert total == pytest.approx(spectrum.sum(), rel=SHAPE)
    ranks = (len(root) for root in space.root.parts)
    rank = sum(int(m) * r for m, r in zip(space.space.multiplicities, ranks, strict=True))
    assert rank == np.linalg.matrix_rank(workload.matrix)
    # The columns of the strategy (W D Wᵀ)^{-1/4} W, up to a factor.
    whitened = (left[:, :rank] / np.sqrt(spectrum[:rank])).T @ workload.matrix
    dense = np.square(whitened).sum(axis=0) / spectrum.sum()
    cells = all_cells(attributes, size)
    found = space.lengths(parts, cells)
    assert np.allclose(found, dense, rtol=0, atol=1e-8 * dense.max())
    assert np.allclose(space.moments_of_each(mixture, parts), on_cells @ dense, rtol=1e-7, atol=0)
    largest = space.largest(parts, 60.0)
    assert largest.is_closed
    assert largest.upper >= found.max() >= largest.lower - ROUNDING
    assert largest.upper <= found.max() * (1 + SHAPE)


@pytest.mark.draws(2)
@pytest.mark.parametrize(("attributes", "size"), SHAPES)
def test_moments_integrals_and_means_agree(rng: np.random.Generator, attributes: int, size: int) -> None:
    space = equal_space(random_workload(rng, attributes, size))
    parts = _random_parts(rng, space)
    mixture = random_mixture(rng, attributes, size)
    on_cells = mean_over_orders(mixture)
    cells = all_cells(attributes, size)
    lengths = space.lengths(parts, cells)
    each = space.moments_of_each(mixture, parts)
    assert np.allclose(each, on_cells @ lengths, rtol=SHAPE, atol=0)
    dual = sum(
        often * np.vdot(n, q)
        for often, n, q in zip(space.space.multiplicities, parts, space.moments(mixture), strict=True)
    )
    assert dual == pytest.approx(mixture.weights @ each, rel=SHAPE)
    known = np.zeros((mixture.count, size))
    for i in range(attributes):
        for value in range(size):
            given = [own.copy() for own in mixture.factors]
            given[i][:] = np.eye(size)[value]
            inside = Mixture(mixture.weights, tuple(given))
            known[:, value] += space.moments_of_each(inside, parts) / attributes
    found = space.means(mixture, parts)
    assert len(found) == attributes
    assert all(np.allclose(own, known, rtol=SHAPE, atol=SHAPE) for own in found)


@pytest.mark.parametrize(("attributes", "size"), [*SHAPES, (40, 4)])
def test_moments_of_the_uniform_measure_are_identities(attributes: int, size: int) -> None:
    space = EqualAttributes((Kind((f.prefix(size), f.prefix(size)), 1.0),), attributes, size)
    uniform = Mixture(np.ones(1), (np.full((1, size), 1 / size),) * attributes)
    offs = space.moments_rounding(uniform)
    for found, off in zip(space.moments(uniform), offs, strict=True):
        assert np.linalg.norm(found - np.eye(len(found)), 2) <= off <= 1e-8


@pytest.mark.draws(3)
def test_rounding_of_moments_covers_their_noise(rng: np.random.Generator) -> None:
    """The same measure, its attributes in another order and its rows not quite of sum 1."""
    space = EqualAttributes((Kind((f.prefix(3), f.prefix(3)), 1.0),), 6, 3)
    mixture = random_mixture(rng, 6, 3)
    known, offs = space.moments(mixture), space.moments_rounding(mixture)
    order = rng.permutation(6)
    longer = Mixture(mixture.weights, tuple(mixture.factors[i] * (1 + 1e-11) for i in order))
    wider = space.moments_rounding(longer)
    for found, own, off, wide in zip(space.moments(longer), known, offs, wider, strict=True):
        apart = float(np.linalg.norm(found - own, 2))
        assert off < apart <= off + wide <= 1e-7 * np.trace(own)


def test_a_cut_density_has_the_moments_of_its_cells(rng: np.random.Generator) -> None:
    space = equal_space(random_workload(rng, 5, 3))
    function, measure = symmetric(rng.standard_normal((3,) * 4)), rng.dirichlet(np.full(3, 3.0))
    form = count_form(function, np.abs(function), 0, 5)
    cells = all_cells(5, 3)
    counts = np.stack([(cells == value).sum(axis=1) for value in range(3)], axis=1)
    weights = np.maximum(form.values(counts), 0.0) * np.prod(measure[cells], axis=1)
    on_cells = Mixture(weights, tuple(np.eye(3)[own] for own in cells.T))
    share, product = rng.uniform(0.2, 3.0), random_mixture(rng, 5, 3)
    mixture = replace(product, density=CutDensity(function, measure), share=share)
    known = on_cells.scaled(share).joined(product)
    mass = space.mass(mixture)
    assert mass.lower <= share * weights.sum() + product.weights.sum() <= mass.upper
    assert float(mass.rad) <= SHAPE * float(mass.mid)
    found, offs = space.moments(mixture), space.moments_rounding(mixture)
    of_cells = space.moments_rounding(known)
    for own, other, off, more in zip(found, space.moments(known), offs, of_cells, strict=True):
        assert np.linalg.norm(own - other, 2) <= off + more
        assert 0 < off <= 1e-9


def test_a_bound_of_a_cut_density_is_that_of_its_cells(rng: np.random.Generator) -> None:
    workload = random_workload(rng, 4, 3)
    space, cells = equal_space(workload), all_cells(4, 3)
    function, measure = symmetric(rng.standard_normal((3,) * 4)) + 1.0, rng.dirichlet(np.full(3, 3.0))
    counts = np.stack([(cells == value).sum(axis=1) for value in range(3)], axis=1)
    values = count_form(function, np.abs(function), 0, 4).values(counts)
    weights = np.maximum(values, 0.0) * np.prod(measure[cells], axis=1)
    none = Mixture(np.zeros(0), (np.zeros((0, 3)),) * 4, CutDensity(function, measure), 2.0)
    assert space.takes(none)
    truth = np.linalg.norm(workload.matrix * np.sqrt(weights), "nuc") ** 2 / weights.sum()
    found = total_error_bound(space, none)
    assert truth * (1 - 1e-4) <= found <= truth * (1 + SHAPE)


def test_a_density_that_does_not_fit_is_not_taken(rng: np.random.Generator) -> None:
    space = equal_space(random_workload(rng, 4, 3))
    product, function, measure = random_mixture(rng, 4, 3), np.ones((3,) * 4), np.full(3, 1 / 3)
    assert space.takes(replace(product, density=CutDensity(function, measure)))
    assert not space.takes(replace(product, density=CutDensity(function[0], measure)))
    assert not space.takes(replace(product, density=CutDensity(function, measure[:2])))
    assert not space.takes(replace(product, density=CutDensity(function, np.array([0.5, 0.5, 0.0]))))
    assert not space.takes(random_mixture(rng, 3, 3))
    many = EqualAttributes((Kind((f.prefix(4), f.prefix(4)), 1.0),), 1000, 4)
    large = Mixture(np.zeros(0), (np.zeros((0, 4)),) * 1000)
    density = CutDensity(np.ones((4,) * 4), np.full(4, 0.25))
    assert many.takes(large)
    assert not many.takes(replace(large, density=density))


def test_queries_of_one_attribute_alone() -> None:
    workload = of_one_and_two(4, [f.prefix(3)], [], [1.0])
    space = equal_space(workload)
    assert space.space.dims == (3, 2)
    assert space.space.multiplicities.tolist() == [1.0, 3.0]
    uniform = Mixture(np.ones(1), (np.full((1, 3), 1 / 3),) * 4)
    total, parts = best_parts(space, uniform)
    assert total == pytest.approx(np.linalg.norm(workload.matrix, "nuc") / 9, rel=SHAPE)
    known = max(space.lengths(parts, all_cells(4, 3)))
    assert space.largest(parts, 60.0).upper == pytest.approx(known, rel=SHAPE)


@pytest.mark.parametrize(
    ("attributes", "bound", "strategy"),
    [(2, 719.6935, None), (10, 404_987.227, 416_406.2), (20, 5_779_797.3, None), (40, 83_540_570.2, None)],
)
def test_the_best_product_measure_has_the_known_bound(
    attributes: int, bound: float, strategy: float | None
) -> None:
    prefix = f.prefix(10)
    space = EqualAttributes((Kind((prefix,), 1.0), Kind((prefix, prefix), 1.0)), attributes, 10)
    measure = np.full((1, 10), 0.1)
    for _ in range(60):
        product = Mixture(np.ones(1), (measure,) * attributes)
        total, parts = best_parts(space, product)
        # The mean of f given a value moves by 1 + (mean - 1) k / (order of f): a fixed point of power k / 4.
        measure = measure * space.means(product, parts)[0] ** (attributes / 4)
        measure /= measure.sum()
    assert total**2 == pytest.approx(bound, rel=2e-7)
    if strategy is not None:
        largest = space.largest(parts, 60.0)
        assert largest.is_closed
        assert largest.upper * total**2 == pytest.approx(strategy, rel=2e-6)


def test_what_is_not_equal_is_refused() -> None:
    workload: Workload = products_on([4, 4, 5], [(0,), (1,), (2,)], f.prefix)
    assert not equal_attributes(workload)
    with pytest.raises(OptionError) as caught:
        equal_space(workload)
    assert str(caught.value) == (
        "the attributes are not equal: their sizes or the products on them differ, values can be swapped, "
        "or a product asks of more than two\n"
        "  take the row space that asks for no equal attributes: plain_space"
    )


@pytest.mark.quick
@pytest.mark.parametrize("share", [0.0, 2.0])
def test_rounding_is_charged_to_magnitudes(rng: np.random.Generator, share: float) -> None:
    """Of two values contrasts are ±1, so that all magnitudes are sums of those of coefficients.

    Rows longer by 1e-6 than 1 are off by so much in each of the four factors of a moment.
    """
    k, weight = 7, 3.0
    space = EqualAttributes((Kind((f.prefix(2), f.prefix(2)), 1.0),), k, 2)
    functions = np.sqrt([1, k, math.comb(k, 2)])
    root = 2 * math.sqrt(k - 2)
    sizes = [np.outer(functions, functions), np.array([[2.0, root], [root, 2 * k - 6]]), np.array([[4.0]])]
    # Inclusion and exclusion of so many attributes: rising factorials over falling ones.
    of_a_law = math.perm(k + 3, 4) / math.perm(k, 4)
    rows = tuple(rng.dirichlet(np.ones(2), 1) * (1 + 1e-6) for _ in range(k))
    density = CutDensity(np.ones((2,) * 4), np.array([0.3, 0.7])) if share else None
    offs = space.moments_rounding(Mixture(np.array([weight]), rows, density, share))
    for off, size in zip(offs, sizes, strict=True):
        least = 4e-6 * (weight + share) * of_a_law * np.linalg.norm(size)
        assert least <= off <= 1.1 * least

    signs = [np.where(rng.random(size.shape) < 0.5, -1.0, 1.0) for size in sizes]
    form = space.form([np.tril(own) + np.tril(own, -1).T for own in signs])
    whole = sum(often * size.sum() for often, size in zip(space.space.multiplicities, sizes, strict=True))
    assert np.allclose(form.magnitudes, whole, rtol=ROUNDING, atol=0)
    assert form.roundings >= 2 * max(space.space.dims)


def test_the_rounding_of_a_factor_is_that_of_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root of each factor that is off by 1e-6: that of products of two is off by twice as much."""
    once, pair = f.predicates(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])), f.prefix(3)
    kinds = (Kind((once,), 1.0), Kind((pair, pair), 1.0))
    exact = EqualAttributes(kinds, 5, 3)
    assert EPS <= exact.root_rounding <= 1e-12
    for own in (once, pair):
        root = own.root() * (1 + 1e-6)
        monkeypatch.setattr(own, "root", lambda root=root: root)
        monkeypatch.setattr(own, "root_rounding", 1e-6)
    longer = EqualAttributes(kinds, 5, 3)
    sizes = [
        math.sqrt(space.space.multiplicities @ [float(np.vdot(own, own)) for own in space.root.parts])
        for space in (longer, exact)
    ]
    assert abs(sizes[0] - sizes[1]) <= longer.root_rounding * sizes[0]
    assert 2e-6 <= longer.root_rounding <= 2.1e-6


def test_the_rounding_of_a_law_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    space = EqualAttributes((Kind((f.prefix(2), f.prefix(2)), 1.0),), 5, 2)
    none = Mixture(np.zeros(0), (np.zeros((0, 2)),) * 5, CutDensity(np.ones((2,) * 4), np.full(2, 0.5)), 2.0)
    of_cut = module.law_of_cut
    monkeypatch.setattr(module, "law_of_cut", lambda *own: replace(of_cut(*own), roundings=10**9))
    for moments, off in zip(space.moments(none), space.moments_rounding(none), strict=True):
        assert off >= 10**9 * EPS / 2 * np.linalg.norm(moments, 2)
