"""A family as one vector constraint says the same as index by index."""

import numpy as np
import pytest

from mmopt import Program
from mmopt.language import evaluate
from mmopt.language.evaluate.evaluate_and_differentiate import entry_indices
from mmopt.language.syntax.exact_rewriting import together, two_by_two, vectorised
from mmopt.language.syntax.syntax_tree import Constraint

HEAD = """\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n]
    B: matrix[n, m]
    c: vector[m] > 0
    d: vector[n]
choose
    u: vector[m] >= 0
    v: vector[n]
    t: scalar
    F: psd[n, n]
minimize
    t
subject to
    line: LINE
strategy
    W norm 2
"""


def constraint(line: str) -> Constraint:
    return Program.parse(HEAD.replace("LINE", line)).constraints[0]


def numbers(rng: np.random.Generator, m: int = 4, n: int = 3) -> dict[str, object]:
    rows = rng.normal(size=(n, n))
    return {
        "m": m,
        "n": n,
        "W": rng.normal(size=(m, n)),
        "B": rng.normal(size=(n, m)),
        "c": rng.uniform(1.0, 2.0, size=m),
        "d": rng.normal(size=n),
        "u": rng.uniform(size=m),
        "v": rng.normal(size=n),
        "t": float(rng.normal()),
        "F": rows.T @ rows + np.eye(n),
    }


LINES = [
    "u[j] <= c[j] for j in m",
    "u[j] <= t for j in m",
    "t <= c[j] for j in m",
    "W[j, :] @ v <= c[j] for j in m",
    "W[j, :] @ F @ W[j, :].T <= c[j] for j in m",
    "B[:, j].T @ F @ B[:, j] <= t for j in m",
    "B[:, j].T @ inv(F) @ B[:, j] <= t for j in m",
    "W[j, :] @ F @ B[:, j] <= u[j] for j in m",
    "B[:, j].T @ F @ W[j, :].T <= u[j] for j in m",
    "W[j, :] @ F @ d <= u[j] for j in m",
    "d @ F @ B[:, j] <= c[j] for j in m",
    "B[:, j].T @ v <= u[j] for j in m",
    "2 * u[j] - t <= c[j] for j in m",
    "u[j] / c[j] + 1 <= c[j] for j in m",
    "u[j] <= sqrt(c[j]) for j in m",
    "abs(u[j]) <= c[j]**2 for j in m",
    "-u[j] <= -c[j] + W[j, :] @ v for j in m",
]


def test_entry_by_entry(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for line in LINES:
        with subtests.test(line):
            env = numbers(rng)
            found = constraint(line)
            assert found.family is not None
            for side in (found.relation.left, found.relation.right):
                whole = vectorised(side, found.family.index)
                assert whole is not None
                together = np.broadcast_to(np.asarray(evaluate(whole, env)), (4,))
                apart = [evaluate(side, {**env, found.family.index: j}) for j in range(4)]
                assert together == pytest.approx(np.array(apart, dtype=float), rel=1e-12, abs=1e-12)


FAMILIES = [
    "sum(W[j, :] * v.T) <= c[j] for j in m",
    "max(W[j, :]) * t <= c[j] for j in m",
]


def test_what_has_no_such_form_stays_a_family(subtests: pytest.Subtests) -> None:
    for line in FAMILIES:
        with subtests.test(line):
            found = constraint(line)
            assert found.family is not None
            assert vectorised(found.relation.left, found.family.index) is None


BLOCKS = [
    ("[[u[j], 1], [1, c[j]]] >> 0 for j in m", True),
    ("[[u[j], t], [t, c[j]]] >> 0 for j in m", True),
    ("[[F, v], [v.T, t]] >> 0", False),
    ("[[u[0], 1, 0], [1, u[1], 0], [0, 0, t]] >> 0", False),
]


def test_two_by_two(subtests: pytest.Subtests) -> None:
    for line, is_pair in BLOCKS:
        with subtests.test(line):
            assert (two_by_two(constraint(line).relation.left) is not None) is is_pair


# Numbers of one or two indices, and whether they are computed at once.
BODIES = [
    ("W[j, :] @ v - c[j] for j in m", True),
    ("W[j, :] @ v for j in m if c[j] > 0", True),
    ("B[:, j] @ v for j in m - 1 if j > 0", True),
    ("B[:, j + 1].T @ F @ v for j in m - 1", True),
    ("v @ B[:, j] for j in m", True),
    ("d @ F @ W[j, :].T for j in m", True),
    ("W[j, :] @ B[:, i] for j in m for i in m", True),
    ("W[j, :] @ F @ W[j, :].T + t for j in m", True),
    ("abs(W[j, :] @ v) + max(u[j], B[:, j] @ d) for j in m", True),
    ("norm(W[j, :]) * u[j] for j in m", False),
    ("W[j, :] @ (F @ W[j, :].T) for j in m", True),
    ("sum(F @ W[j, :].T) for j in m", False),
]


@pytest.mark.parametrize(("body", "is_together"), BODIES)
def test_entries_computed_at_once_are_those_one_by_one(
    body: str, is_together: bool, rng: np.random.Generator
) -> None:
    entries = constraint(f"sum({body}) <= t").relation.left.args[0]
    env = numbers(rng)
    indices = frozenset(f.index for f in entries.families)
    at = entry_indices(entries, env)
    assert len(at.places) > 1
    assert (together(entries.body, indices) is not None) == is_together
    each = [evaluate(entries.body, {**env, **one}) for one in at.envs]
    assert evaluate(entries, env).ravel()[at.places] == pytest.approx(np.array(each, dtype=float))
