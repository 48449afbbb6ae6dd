"""The row space of products of few attributes is that of the dense matrix, whatever is asked of it.

Guards sectors/row_space.py, sectors/functions_of_few.py and sectors/functions_of_few.py.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from few_attributes import MIXED, few_ways, random_mixture
from tolerances import FINE, PRINTED, SHAPE

from mmopt.errors import TooLargeError
from mmopt.sectors import row_space
from mmopt.sectors.error_bounds_of_measures import spectrum
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import RowSpace, row_space_of
from mmopt.workloads.factors_and_products import identity, predicates, prefix
from tests.sectors.proved_bound import total_error_bound


def each_product(space: RowSpace, mixture: Mixture) -> np.ndarray:
    """(J, n) the measures of the cells."""
    rows = []
    for at in range(mixture.count):
        row = np.ones(1)
        for basis, own in zip(space.bases, mixture.factors, strict=True):
            row = np.kron(row, (own[at] / basis.sizes)[basis.symmetry.classes])
        rows.append(row)
    return np.array(rows)


def integrals(space: RowSpace, mixture: Mixture, parts: Sequence[np.ndarray]) -> np.ndarray:
    """(J,) the integral of f under each product alone."""
    found = []
    for at in range(mixture.count):
        moments = space.moments(Mixture(np.ones(1), tuple(own[[at]] for own in mixture.factors)))
        each = [np.vdot(part, q) for part, q in zip(parts, moments, strict=True)]
        found.append(float(space.space.multiplicities @ each))
    return np.array(found)


def lengths_of(space: RowSpace, parts: Sequence[np.ndarray], cells: np.ndarray) -> np.ndarray:
    """(c,) f at cells (c, k) of orbits, by the functions of each."""
    each = zip(space.space.multiplicities, parts, space.vectors(cells), strict=True)
    return np.sum([often * np.einsum("ci,ij,cj->c", v, part, v) for often, part, v in each], axis=0)


def orbits(space: RowSpace) -> np.ndarray:
    """(n, k) the orbits of each cell's values."""
    classes = [basis.symmetry.classes for basis in space.bases]
    return np.stack(np.meshgrid(*classes, indexing="ij"), axis=-1).reshape(-1, len(classes))


@pytest.mark.quick
@pytest.mark.parametrize("name", MIXED)
def test_a_measure_is_worth_what_it_is_in_the_dense_matrix(name: str, rng: np.random.Generator) -> None:
    workload = few_ways(*MIXED[name])
    space = row_space_of(workload)
    mixture = random_mixture(rng, space.shape)
    # Of all cells, so that every query is seen.
    mixture = Mixture(
        np.append(mixture.weights, 0.5) / 1.5,
        tuple(
            np.vstack([own, basis.uniform]) for own, basis in zip(mixture.factors, space.bases, strict=True)
        ),
    )
    each = each_product(space, mixture)
    found = spectrum(space, space.moments(mixture))
    left, lengths, _ = np.linalg.svd(workload.matrix * np.sqrt(mixture.weights @ each), full_matrices=False)
    assert found.total == pytest.approx(lengths.sum(), rel=SHAPE)
    assert sum(space.space.multiplicities * [len(r) for r in space.root.parts]) == workload.rank

    kept = lengths > 1e-9 * lengths[0]
    seen = (left[:, kept] / np.sqrt(lengths[kept])).T @ workload.matrix
    profile = np.square(seen).sum(axis=0) / lengths.sum()
    cells = orbits(space)
    assert space.profile(found.parts)(cells) == pytest.approx(profile, rel=SHAPE)
    assert integrals(space, mixture, found.parts) == pytest.approx(each @ profile, rel=SHAPE)
    largest = space.largest(found.parts, 10.0)
    exact = lengths_of(space, [np.eye(d) for d in space.space.dims], cells).max()
    assert exact * (1 - SHAPE) <= space.longest <= 2 * exact
    assert largest.lower == pytest.approx(profile.max(), rel=SHAPE)
    assert profile.max() <= largest.upper <= (1 + SHAPE) * profile.max()


@pytest.mark.quick
@pytest.mark.parametrize("name", MIXED)
def test_a_proved_bound_is_hardly_below_the_computed_one(name: str, rng: np.random.Generator) -> None:
    space = row_space_of(few_ways(*MIXED[name]))
    mixture = random_mixture(rng, space.shape)
    bound = spectrum(space, space.moments(mixture)).bound
    proved = total_error_bound(space, mixture)
    assert (1 - 10 * FINE) * bound <= proved <= bound
    assert 0 < space.root_rounding < 10 * FINE


@pytest.mark.parametrize("name", MIXED)
def test_means_are_integrals_of_what_is_left(name: str, rng: np.random.Generator) -> None:
    space = row_space_of(few_ways(*MIXED[name]))
    mixture = random_mixture(rng, space.shape)
    parts = [np.outer(v, v) for v in (rng.normal(size=d) for d in space.space.dims)]
    means = space.means(mixture, parts)
    for i, own in enumerate(space.shape):
        for value in range(own):
            factors = list(mixture.factors)
            factors[i] = np.tile(np.eye(own)[value], (mixture.count, 1))
            given = integrals(space, Mixture(mixture.weights, tuple(factors)), parts)
            assert means[i][:, value] == pytest.approx(given, rel=1e-7, abs=SHAPE)


@pytest.mark.parametrize("name", MIXED)
def test_a_cell_is_the_square_of_its_vectors_and_the_uniform_measure_the_identity(
    name: str, rng: np.random.Generator
) -> None:
    space = row_space_of(few_ways(*MIXED[name]))
    uniform = Mixture(np.ones(1), tuple(basis.uniform[None] for basis in space.bases))
    for moments in space.moments(uniform):
        assert moments == pytest.approx(np.eye(len(moments)), abs=SHAPE)
    cell = np.array([[rng.integers(o) for o in space.shape]])
    alone = Mixture(np.zeros(1), uniform.factors).with_cells(cell)
    found = space.moments(Mixture(np.array([0.0, 1.0]), alone.factors))
    for vectors, moments in zip(space.vectors(cell), found, strict=True):
        assert moments == pytest.approx(vectors.T @ vectors, abs=SHAPE)


# Xiao et al., An Optimal and Scalable Matrix Mechanism for Noisy Marginals (ResidualPlanner), 2023: totals.
MARGINALS = {
    "2-way": ((2, 5, 16, 20, 75), (2,), 20682.04),
    "up to 2-way": ((2, 5, 16, 20, 75), (0, 1, 2), 23560.71),
    "up to 3-way": ((2, 5, 16, 20, 75), (0, 1, 2, 3), 311984.60),
    "up to 3-way over 10^10 cells": ((10,) * 10, (0, 1, 2, 3), 10888529.55),
}


def test_marginals_alone_are_components_of_dimension_one(subtests: pytest.Subtests) -> None:
    for name in MARGINALS:
        with subtests.test(name=name):
            sizes, orders, total = MARGINALS[name]
            space = row_space_of(few_ways(sizes, orders, identity, weights=False))
            assert set(space.space.dims) == {1}
            assert space.shape == (1,) * len(sizes)
            uniform = Mixture(np.ones(1), tuple(np.ones((1, 1)) for _ in sizes))
            found = spectrum(space, space.moments(uniform))
            assert found.bound == pytest.approx(total, rel=PRINTED)
            cell = np.zeros((1, len(sizes)), dtype=np.int64)
            assert space.profile(found.parts)(cell) == pytest.approx([1.0], rel=SHAPE)


def test_a_row_space_that_does_not_fit_is_refused_with_the_order_that_does(subtests: pytest.Subtests) -> None:
    """In the second, those of one attribute are left without the four-way prefixes: three are not asked."""
    for sizes, orders, dimensions, size in (
        ((60,) * 12, (1, 2), "230,455", "395.7"),
        ((10,) * 20, (1, 4), "32,634,676", "7,935,032.8"),
    ):
        with subtests.test(sizes=sizes):
            with pytest.raises(TooLargeError) as caught:
                row_space_of(few_ways(sizes, orders, prefix))
            assert str(caught.value) == (
                f"the row space of these queries has {dimensions} dimensions, {dimensions} of them in one "
                f"block: 6 matrices of {size} GiB each are more than fits\n"
                "  those of at most 1 attribute fit; or group values of the attributes"
            )


@pytest.mark.nightly
def test_marginals_over_10_to_the_50_cells() -> None:
    space = row_space_of(few_ways((10,) * 50, (0, 1, 2, 3), identity, weights=False))
    uniform = Mixture(np.ones(1), tuple(np.ones((1, 1)) for _ in range(50)))
    assert spectrum(space, space.moments(uniform)).bound == pytest.approx(2.26899e11, rel=PRINTED)


@pytest.mark.quick
def test_tables_say_what_the_functions_say(rng: np.random.Generator) -> None:
    """The largest length is proved from the tables alone. Values are alike within two classes of them."""
    classes = predicates(np.vstack([np.eye(5), [1, 1, 0, 0, 0]]))
    space = row_space_of(few_ways((5, 4, 5), (1, 2), [lambda _: classes, prefix, lambda _: classes]))
    assert {space.rest_square(own) for own in space.components} > {1.0}
    for _ in range(3):
        halves = [rng.normal(size=(d, d)) for d in space.space.dims]
        parts = [half @ half.T for half in halves]
        cells = np.stack([rng.integers(o, size=40) for o in space.shape], axis=1)
        assert space.profile(parts)(cells) == pytest.approx(lengths_of(space, parts, cells), rel=1e-9)
        off = np.abs(space.profile(parts)(cells) - lengths_of(space, parts, cells)).max()
        assert off <= 2 * space.tables_rounding(parts)  # both are rounded


@pytest.mark.quick
def test_moments_in_a_basis_that_is_off_are_charged(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Contrasts a ten-millionth too long: the basis beside them that is orthonormal is known."""
    for which in [slice(None), slice(1), slice(1, None)]:
        with subtests.test(which=which):
            space = row_space_of(few_ways(*MIXED["prefixes"]))
            mixture = random_mixture(rng, space.shape)
            exact = space.moments(mixture)
            for basis in space.bases[which]:
                basis.functions[:, 1:] *= 1.0 + 1e-7
            for found, truth, off in zip(
                space.moments(mixture), exact, space.moments_rounding(mixture), strict=True
            ):
                assert 1e-8 < np.linalg.norm(found - truth, 2) <= off


@pytest.mark.quick
def test_the_rounding_of_factors_and_of_their_triangles_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of two factors, one of whose roots is off by 1e-6, and decompositions by as much."""
    factor = predicates(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]]))
    asked = few_ways((3, 4), (2,), [lambda _: factor, prefix])
    assert 0 < row_space_of(asked).root_rounding <= 1e-12
    with monkeypatch.context() as patch:
        patch.setattr(row_space, "rounding_of_qr", lambda *_: 1e-6)
        assert row_space_of(asked).root_rounding >= 1e-6
    for own in {id(f): f for product in asked.products for f in product.factors}.values():
        monkeypatch.setattr(own, "root_rounding", 1e-6)
    assert row_space_of(asked).root_rounding >= 1e-6
