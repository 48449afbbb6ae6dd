"""The bound is below the exact value for its measure, close to it, and below every strategy's error."""

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from sectors.explicit_space import explicit_space
from sectors.proved_bound import total_error_bound
from tolerances import PROVED_CLOSE

import mmopt
from mmopt.numerics.arrays import EPS, Array
from mmopt.sectors.bounds.moment_roots import moments_of, root_of_moments
from mmopt.sectors.measures import Mixture
from mmopt.sectors.plain.moments_rounding import basis_rounding, component_rounding, products_rounding
from mmopt.workloads import Workload


@flint.ctx.workprec(300)
def exact_bound(swapped: int, rows: Array, mixture: Mixture) -> flint.arb:
    """(tr (W D Wᵀ)^½)² / Σd in balls of 300 bits, of the measure whose rows are divided by their sums.

    W = identity ⊗ rows; the first attribute is uniform, so that this is ``swapped`` times that of the rows.
    """
    total = sum((flint.arb(float(w)) for w in mixture.weights), flint.arb(0))
    measure = [flint.arb(0)] * rows.shape[1]
    for weight, row in zip(mixture.weights, mixture.factors[1], strict=True):
        own = [flint.arb(float(p)) for p in row]
        measure = [
            m + flint.arb(float(weight)) * p / sum(own, flint.arb(0))
            for m, p in zip(measure, own, strict=True)
        ]
    w = flint.arb_mat([[flint.arb(float(x)) for x in row] for row in rows])
    diagonal = flint.arb_mat(len(measure), len(measure))
    for at, p in enumerate(measure):
        diagonal[at, at] = p
    values = flint.acb_mat(w * diagonal * w.transpose()).eig()
    root = sum((value.real.sqrt() for value in values), flint.arb(0))
    return root * root * swapped / total


def mixed(rng: np.random.Generator, d: int, count: int) -> Mixture:
    rows = 0.05 + rng.random((count, d))
    rows /= rows.sum(axis=1, keepdims=True)
    return Mixture(rng.random(count), (np.ones((count, 1)), rows))


def prefixes(rng: np.random.Generator, d: int) -> Array:
    return np.tril(np.ones((d, d))) * rng.choice([1.0, 2.0, 0.5], size=(d, 1))


@pytest.mark.quick
def test_below_the_exact_value_and_close(rng: np.random.Generator) -> None:
    for _ in range(5):
        d, swapped = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        rows, mixture = prefixes(rng, d), mixed(rng, d, int(rng.integers(1, 4)))
        space, truth = explicit_space(swapped, rows), exact_bound(swapped, rows, mixture)
        bound = total_error_bound(space, mixture)
        assert flint.arb(bound) <= truth
        assert bound >= float(truth) * (1 - PROVED_CLOSE)
        # What these two can see: moments that are 1e-6 off, for which nothing is charged.
        moments = tuple(q * (1 + 1e-6) for q in space.moments(mixture))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(space), "moments", lambda *_, own=moments: own)
            assert flint.arb(total_error_bound(space, mixture)) > truth


@pytest.mark.quick
def test_the_rounding_that_is_stated_is_charged(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Moments that are too large, and a root that is: by what the space says that they may be off."""
    for d in [1, 4]:
        with subtests.test(d=d):
            for _ in range(3):
                rows, mixture = prefixes(rng, d), mixed(rng, d, 2)
                space, truth = explicit_space(3, rows), exact_bound(3, rows, mixture)
                moments, off = tuple(q + 1e-7 * np.eye(d) for q in space.moments(mixture)), (1.1e-7, 1.1e-7)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(type(space), "moments", lambda *_, own=moments: own)
                    patch.setattr(type(space), "moments_rounding", lambda *_, own=off: own)
                    assert flint.arb(total_error_bound(space, mixture)) <= truth
                shaken = explicit_space(3, rows * (1 + 1e-7))
                bound = total_error_bound(replace(shaken, root_rounding=1.1e-7), mixture)
                assert flint.arb(bound) <= truth
                assert bound >= float(truth) * (1 - 1e-5)


def optimum_of(swapped: int, rows: Array) -> float:
    return mmopt.solve(Workload.from_matrix(np.kron(np.eye(swapped), rows)), "l2_strategy").objective


def test_few_cells_give_a_bound_too(rng: np.random.Generator) -> None:
    """Moments without an inverse: a little of the uniform measure is mixed in, which may even help."""
    for _ in range(3):
        d = 5
        rows = prefixes(rng, d)
        mixture = Mixture(np.array([0.5, 0.25]), (np.ones((2, 1)), np.eye(d)[[1, 3]]))
        measure = mixture.weights @ mixture.factors[1] / 0.75
        bound = total_error_bound(explicit_space(2, rows), mixture)
        own = 2 * float(np.linalg.norm(rows * np.sqrt(measure), "nuc")) ** 2
        assert own * (1 - 1e-5) <= bound <= optimum_of(2, rows)


def test_below_the_error_of_every_strategy(rng: np.random.Generator) -> None:
    rows = np.tril(np.ones((5, 5)))
    optimum, space = optimum_of(3, rows), explicit_space(3, rows)
    bounds = [total_error_bound(space, mixed(rng, 5, 2)) for _ in range(20)]
    assert 0.5 * optimum < max(bounds) <= optimum


def test_nothing_is_proved_of_no_measure() -> None:
    space = explicit_space(2, np.tril(np.ones((3, 3))))
    empty = Mixture(np.zeros(1), (np.ones((1, 1)), np.full((1, 3), 1 / 3)))
    assert total_error_bound(space, empty) == 0.0


def test_rounding_of_products_and_of_a_basis(rng: np.random.Generator) -> None:
    """Rows whose sum is off, and a basis that is not quite orthonormal, are charged at least that."""
    for _ in range(3):
        rows = rng.random((2, 3))
        rows /= rows.sum(axis=1, keepdims=True)
        mixture = Mixture(np.ones(2), (rows, rows * (1 + 1e-5)))
        assert 2e-5 <= products_rounding(mixture, 1) <= 2.1e-5
        basis = np.sqrt(3) * np.linalg.qr(np.column_stack([np.ones(3), np.eye(3)[:, :2]]))[0].T
        basis[0] = 1.0
        turned = np.eye(3) + 1e-6 * rng.normal(size=(3, 3))
        turned[0] = np.eye(3)[0]
        off = float(np.linalg.norm(turned - np.eye(3), 2))
        assert basis_rounding(basis, np.ones(3)) <= 1e-13
        assert off / 2 <= basis_rounding(turned @ basis, np.ones(3)) <= 20 * off


def test_rounding_of_a_component(rng: np.random.Generator) -> None:
    """Entries that are off by a share of their rows' and columns' lengths, and a basis that is."""
    for _ in range(3):
        d = 4
        a = rng.normal(size=(d, 2 * d))
        q = a @ a.T
        lengths = np.sqrt(np.diag(q))
        for signs in (np.ones((d, d)), np.sign(q)):
            wrong = 1e-6 * signs * np.multiply.outer(lengths, lengths)
            assert np.linalg.norm(wrong, 2) <= component_rounding(q + wrong, 1e-6, 0.0, 2)
        one = np.eye(2) + 1e-6 * np.array([[0.0, 0.0], [0.6, 0.8]])
        turned = np.kron(one, one)  # one contrast of each of two attributes
        wrong = turned @ q @ turned.T
        assert np.linalg.norm(wrong - q, 2) <= component_rounding(wrong, 0.0, 1.1e-6, 2)


def test_rounding_of_a_basis_where_an_attribute_is_one_of_many() -> None:
    """Contrasts of all attributes off by the same constant add up in the moments of the constant."""
    attributes, off = 100, 1e-6
    turn = np.eye(1 + attributes)
    turn[1:, 0] = off
    moments = np.eye(1 + attributes)
    moved = turn @ moments @ turn.T
    wrong = float(np.linalg.norm(moved - moments, 2))
    assert wrong > component_rounding(moved, 0.0, off, 1)
    assert wrong <= component_rounding(moved, 0.0, (1.0 + np.sqrt(attributes)) * off, 1)


def test_the_mass_is_that_of_the_weights_exactly() -> None:
    """A ball around their sum in floats, whatever is made of it further on."""
    weights = np.array([1.0, 2.0**-60, 2.0**-61])
    mixture = Mixture(weights, (np.ones((3, 1)), np.full((3, 2), 0.5)))
    mass = moments_of(explicit_space(2, np.eye(2)), mixture).total
    exact = sum(map(Fraction, weights.tolist()), Fraction(0))
    assert 0 < abs(exact - Fraction(float(mass.mid))) <= Fraction(float(mass.rad)) <= Fraction(EPS)


def test_a_root_is_below_all_that_moments_may_be(subtests: pytest.Subtests) -> None:
    """In fractions: the root of 2 in floats is above it; moments of 1/4 that are 1/16 off are 3/16."""
    for beside in [[], [1.0]]:
        with subtests.test(beside=beside):
            lower, lost = root_of_moments(np.diag([2.0, *beside]), 0.0)
            assert Fraction(float(lower[0, 0])) ** 2 * (1 - Fraction(lost)) <= 2
            assert lost <= 1e-13
            lower, lost = root_of_moments(np.diag([0.25, *beside]), 0.0625)
            assert Fraction(float(lower[0, 0])) ** 2 * (1 - Fraction(lost)) <= Fraction(3, 16)
            assert lost < 1
            nothing, lost = root_of_moments(np.diag([0.25, *beside]), 0.25)
            assert lost == np.inf and not nothing.any()
