"""What a query is in the new queries of a block, and when that is refused."""

from fractions import Fraction

import numpy as np
import pytest
from examples.scripts import scripts
from rational import fractions
from tolerances import SHAPE

Inexact = scripts("orthogonal").cell_blocks.Inexact
coefficients = scripts("orthogonal").cell_blocks.coefficients
disjoint_blocks = scripts("orthogonal").cell_blocks.disjoint_blocks


def test_of_integers_the_nearest_floats(rng: np.random.Generator) -> None:
    """Every coefficient is the exact one, rounded once."""
    for _ in range(20):
        rows = rng.integers(1, 9, size=(3, 5)) + 20.0 * np.eye(3, 5)  # independent, whatever is drawn
        (block,) = disjoint_blocks(rows)
        inside = rng.integers(-5, 6, size=(4, 3)).astype(float) @ rows
        found = coefficients(inside, block)
        weights = np.linalg.lstsq(block.unscaled.T, inside.T, rcond=None)[0].T
        exact = [[Fraction(round(w)) for w in row] for row in weights]  # all rows are independent here
        assert (np.array(exact).dot(fractions(block.unscaled)) == fractions(inside)).all()
        lead = block.unscaled[np.arange(3), block.leads]
        assert found.tolist() == (np.array(exact, dtype=float) * lead).tolist()


def test_of_other_numbers(rng: np.random.Generator) -> None:
    rows = rng.uniform(0.5, 1, size=(3, 6))
    (block,) = disjoint_blocks(rows)
    inside = rng.normal(size=(5, 3)) @ rows
    np.testing.assert_allclose(coefficients(inside, block) @ block.queries, inside, rtol=SHAPE)


def test_what_is_not_spanned_is_refused() -> None:
    (whole,) = disjoint_blocks(np.array([[1.0, 2.0]]))
    with pytest.raises(Inexact) as caught:
        coefficients(np.array([[1.0, 3.0]]), whole)
    assert str(caught.value) == (
        "over a block of 2 cells the 1 new queries do not span the queries\n"
        "  the integers are too large to be compared modulo a prime: divide the queries by a number"
    )
    (block,) = disjoint_blocks(np.array([[0.5, 0.25]]))
    with pytest.raises(Inexact) as caught:
        coefficients(np.array([[0.5, 0.5], [1.0, 0.5]]), block)
    assert str(caught.value) == (
        "over a block of 2 cells the 1 new queries leave a part 3.5e-01 of a query over, "
        "expected at most 1e-09\n"
        "  queries that are nearly dependent: leave one of them out, or scale them to integers"
    )
