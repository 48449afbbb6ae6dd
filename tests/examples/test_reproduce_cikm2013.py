"""CIKM 2013 reproduced: every numbered thing is there, and what rows rest on.

That each figure is accounted for: tests/examples/test_reproduce.py.
"""

import numpy as np
import pytest
from examples.scripts import scripts

reproduce = scripts("reproduce")
ITEMS = {item.name: item for item in reproduce.cikm2013.SOURCE.items}

NUMBERED = {
    "Table": 2,
    "Figure": 5,
    "Example": 1,
    "Definition": 7,
    "Proposition": 2,
    "Theorem": 6,
    "Corollary": 1,
    "Algorithm": 3,
}
"""How many of each the paper has."""


def test_every_numbered_thing_is_there() -> None:
    numbered = {f"{kind} {number + 1}" for kind, count in NUMBERED.items() for number in range(count)}
    assert set(ITEMS) - numbered == {"Section 1, example", "Figure 2, low rank"}
    assert numbered <= set(ITEMS)


def test_what_differs_is_what_the_errata_have(rng: np.random.Generator) -> None:
    names = [name for name, item in ITEMS.items() if item.rows and not name.startswith("Figure")]
    differ = {name for name in names if any(row.why for row in ITEMS[name].rows(rng))}
    assert differ == {"Definition 3", "Algorithm 2", "Algorithm 3"}
    assert all(ITEMS[name].errata for name in differ)


def test_privacy_loss_sees_too_little_noise(rng: np.random.Generator) -> None:
    """Half the noise that Proposition 1 asks for has twice the loss; each query counts its own noise."""
    loss = reproduce.cikm2013_privacy.privacy_loss
    queries = np.array([[1.0, 2.0], [3.0, 0.0]])
    assert loss(queries, np.full(2, 4.0), rng) == pytest.approx(1.0)
    assert loss(queries, np.full(2, 2.0), rng) == pytest.approx(2.0)
    assert loss(queries, np.array([4.0, np.inf]), rng) == pytest.approx(0.5)


def test_the_printed_algorithm_3_works_where_it_is_said_to() -> None:
    """On Example 1, whose blocks are single cells, it gives the printed B; with two in a block zeros."""
    own = reproduce.cikm2013_mechanism
    example = reproduce.cikm2013_privacy.EXAMPLE_1
    assert (own.algorithm_3_as_printed(example, own.NEW_QUERIES) == own.COEFFICIENTS).all()
    parts = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert (own.algorithm_3_as_printed(np.ones((1, 2)), parts) == 0).all()
