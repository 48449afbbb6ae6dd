"""Roots of moments are below all that the moments may be, and what they may be off by is charged.

Guards sectors/functions_of_few.py, sectors/row_space.py, row_space_cells_and_targets.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from few_attributes import few_ways

from mmopt.numerics.arrays import EPS
from mmopt.sectors.functions_of_few import (
    Mixture,
    basis_rounding,
    component_rounding,
    products_rounding,
)
from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.row_space_cells_and_targets import moments_of, root_of_moments
from mmopt.workloads.factors_and_products import identity


@pytest.mark.quick
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


@pytest.mark.quick
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


@pytest.mark.quick
def test_the_mass_is_that_of_the_weights_exactly() -> None:
    """A ball around their sum in floats, whatever is made of it further on."""
    weights = np.array([1.0, 2.0**-60, 2.0**-61])
    mixture = Mixture(weights, (np.ones((3, 1)), np.full((3, 2), 0.5)))
    mass = moments_of(row_space_of(few_ways((1, 2), (2,), identity)), mixture).total
    exact = sum(map(Fraction, weights.tolist()), Fraction(0))
    assert 0 < abs(exact - Fraction(float(mass.mid))) <= Fraction(float(mass.rad)) <= Fraction(EPS)


@pytest.mark.quick
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
