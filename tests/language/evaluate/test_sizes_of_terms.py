"""The sums of absolute terms, against what they are by hand.

Guards constraint_misses.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from mmopt.language import evaluate
from mmopt.language.evaluate.constraint_misses import sizes_of_terms
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Apply

pytestmark = pytest.mark.quick

CHOSEN = frozenset("uvXc")
Env = Mapping[str, Any]

CASES: list[tuple[str, Callable[[Env], Any]]] = [
    ("W @ v <= u", lambda e: abs(e["W"]) @ abs(e["v"]) + abs(e["u"])),
    ("W @ v - u == 3", lambda e: abs(e["W"]) @ abs(e["v"]) + abs(e["u"]) + 3),
    ("-v >= 2 * v / 4", lambda e: 1.5 * abs(e["v"])),
    ("1e20 * c - 1e20 * c + v[0] >= 1", lambda e: abs(e["v"][0]) + 1),
    ("W @ v + 1e20 - 1e20 >= u", lambda e: abs(e["W"]) @ abs(e["v"]) + abs(e["u"])),
    ("sum(W @ v) <= 1", lambda e: abs(e["W"].sum(axis=0)) @ abs(e["v"]) + 1),
    ("sum(v) <= 1", lambda e: abs(e["v"]).sum() + 1),
    ("diag(W @ X @ W.T) <= u", lambda e: np.diag(abs(e["W"]) @ abs(e["X"]) @ abs(e["W"]).T) + abs(e["u"])),
    ("W[0, :] @ inv(X) @ W[0, :].T <= c", lambda e: e["W"][0] @ np.linalg.inv(e["X"]) @ e["W"][0] + e["c"]),
    ("W @ abs(v - 1) <= 2 * u", lambda e: abs(e["W"]) @ abs(e["v"] - 1) + 2 * abs(e["u"])),
    ("v.T @ v <= c / v[0]", lambda e: e["v"] @ e["v"] + abs(e["c"] / e["v"][0])),
    ("v * v <= c", lambda e: e["v"] ** 2 + e["c"]),
    ("X << 2 * eye(n)", lambda e: abs(e["X"]) + 2 * np.eye(2)),
    (
        "[[X, W[0, :].T], [W[0, :], c]] >> 0",
        lambda e: np.block([[abs(e["X"]), abs(e["W"][:1].T)], [abs(e["W"][:1]), np.full((1, 1), e["c"])]]),
    ),
    (
        "v[i] - v[j] <= 1 for i, j in n if i > j",
        lambda e: np.array([[0, 0], [abs(e["v"]).sum() + 1, 0]]),
    ),
    ("v[i] <= i for i, j in n if i > j", lambda e: np.array([[0, 0], [abs(e["v"][1]) + 1, 0]])),
    ("abs(v[i]) <= 3 for i, j in n if i > j", lambda e: np.array([[0, 0], [abs(e["v"][1]) + 3, 0]])),
]


def test_law(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Each size is at least that of its entry, also of chosen entries."""
    root = rng.normal(size=(2, 2))
    env = {"W": rng.normal(size=(3, 2)), "u": rng.normal(size=3), "v": rng.uniform(1, 2, 2), "m": 3, "n": 2}
    env |= {"X": root @ root.T + np.eye(2), "c": rng.uniform(1, 2)}
    for text, by_hand in CASES:
        with subtests.test(text):
            names = ("W: matrix[m, n]", "u: vector[m]", "v: vector[n]", "X: symmetric[n, n]", "c: scalar")
            givens = "".join(f"    {name}\n" for name in names)
            rest = "class closed form\nminimize\n    c\nstrategy\n    W norm 2\n"
            program = Program.parse(f"program p\n{rest}given\n{givens}require\n    {text}")
            relation = program.requires[0].relation
            difference = Apply("sub", (relation.left, relation.right), relation.span)
            value = np.asarray(evaluate(difference, env))
            found = sizes_of_terms(difference, env, CHOSEN, np.ones(value.shape))
            assert found.shape == value.shape
            np.testing.assert_allclose(found, by_hand(env), rtol=1e-12)
            assert "1e20" in text or (found >= np.abs(value) * (1 - 1e-12)).all()
