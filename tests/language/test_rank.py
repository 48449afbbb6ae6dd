"""Where a rank may stand, each mistake with its place (between « and ») and full text; and the residual."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.errors import ProgramError
from mmopt.language import Program, check
from mmopt.language.check.rank import rank_residual
from mmopt.numerics.numpy_forms import polar

PROGRAM = """\
program trial
class  rank
given
    W: matrix[m, n] = workload.matrix
choose
    A: matrix[n, n]
    X: psd[n, n]
let
    Z = [[eye(n), A], [A.T, X]]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    gram: Z >> 0
    exact: rank(Z) == n
strategy
    A norm 1
"""
ONE = "write: exact: rank(Z) == p"
WRONG = [
    (
        "class  rank",
        "class  convex",
        "rank(Z)",
        "'exact': a rank constraint is not convex",
        "write 'class rank'",
    ),
    (
        "    exact: rank(Z) == n\n",
        "",
        "class",
        "a program of class 'rank' has one rank constraint, this has 0",
        ONE,
    ),
    (
        "exact: rank(Z) == n",
        "exact: rank(Z) == n\n    again: rank(X) == n",
        "again: rank(X) == n",
        "a program of class 'rank' has one rank constraint, this has 2",
        ONE,
    ),
    ("rank(Z) == n", "rank(Z) <= n", "rank(Z) <= n", "a rank is given by '==' to one number", ONE),
    (
        "rank(Z) == n",
        "rank(inv(X)) == n",
        "inv(X)",
        "the matrix whose rank is given has to be symmetric and affine in what is chosen",
        "for example Z = [[eye(p), A], [A.T, X]]",
    ),
    (
        "rank(Z) == n",
        "rank(A) == n",
        "A",
        "the matrix whose rank is given has to be symmetric and affine in what is chosen",
        "for example Z = [[eye(p), A], [A.T, X]]",
    ),
    ("rank(Z) == n", "rank(Z) == trace(X)", "trace(X)", "a rank is a given number, this is a number", ONE),
    (
        "rank(Z) == n",
        "rank(Z) == diag(X)",
        "diag(X)",
        "a rank is a given number, this is a vector of length n",
        ONE,
    ),
]


def test_the_program_checks() -> None:
    assert set(check(Program.parse(PROGRAM)).constraints) == {"gram", "exact"}


@pytest.mark.parametrize(("old", "new", "at", "message", "hint"), WRONG, ids=lambda value: value[:20])
def test_mistakes(old: str, new: str, at: str, message: str, hint: str) -> None:
    assert PROGRAM.count(old) == 1
    with pytest.raises(ProgramError) as refused:
        check(Program.parse(PROGRAM.replace(old, new)))
    error = refused.value
    assert (error.message, error.hint) == (message, hint)
    line, caret = str(error).splitlines()[1:3]
    start = caret.index("^")
    assert at.startswith(line[start : start + caret.count("^")].strip()), (line, caret)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_residual_is_the_first_singular_value_beyond_the_rank(rank: int, rng: np.random.Generator) -> None:
    rows = rng.normal(size=(rank, 5))
    exact = rows.T @ rows
    assert rank_residual(exact, rank) < 1e-14
    values = np.linalg.svd(exact + 1e-3 * np.eye(5), compute_uv=False)
    assert rank_residual(exact + 1e-3 * np.eye(5), rank) == pytest.approx(values[rank] / values[0])
    assert rank_residual(exact, rank + 1) == 1.0, "a rank too low misses it too"
    assert rank_residual(7.0 * exact, rank) == pytest.approx(rank_residual(exact, rank), abs=1e-14)


def test_residual_of_nothing() -> None:
    assert rank_residual(np.zeros((2, 2)), 0) == 0.0
    assert rank_residual(np.zeros((2, 2)), 1) == 1.0
    assert rank_residual(np.eye(2), 2) == 0.0
    assert rank_residual(np.eye(2), 3) == 1.0


def test_polar_is_the_nearest_orthogonal_matrix(rng: np.random.Generator) -> None:
    m = rng.normal(size=(4, 4))
    p = polar(m)
    assert p @ p.T == pytest.approx(np.eye(4), abs=1e-12)
    stretch = p.T @ m
    assert stretch == pytest.approx(stretch.T, abs=1e-12) and np.linalg.eigvalsh(stretch)[0] >= 0
    for _ in range(20):
        other = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        assert np.linalg.norm(m - p) <= np.linalg.norm(m - other)
    assert np.isnan(polar(np.array([[np.inf, 0.0], [0.0, 1.0]]))).all()
