"""By how much a point misses a constraint: all of a family at once as one by one."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mmopt.language import violation, worst
from mmopt.language.evaluate import constraint_misses
from mmopt.language.evaluate.constraint_misses import cleared, excess_with_errors, misses, rank_residual
from mmopt.language.evaluate.evaluate_and_differentiate import Memo
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Constraint
from mmopt.numerics import float_functions


def constraint(text: str) -> Constraint:
    names = ("W: matrix[m, n]", "u: vector[m]", "v: vector[n]", "X: symmetric[n, n]", "c: scalar")
    givens = "".join(f"    {name}\n" for name in names)
    rest = "class closed form\nminimize\n    c\nstrategy\n    W norm 2\n"
    return Program.parse(f"program p\n{rest}given\n{givens}require\n    {text}").requires[0]


def excess(line: Constraint, env: Any, memo: Memo | None = None) -> float:
    return max(float(miss.amounts.max()) for miss in misses(line, env, memo=memo))


AMOUNTS = [
    ("u <= 4", 0.0),
    ("u <= 3", 0.25),
    ("u >= 2", 0.25),
    ("u[j] <= c for j in m", 0.375),
    ("u == u", 0.0),
    ("u == 2 * u", 0.5),
    ("2 * u == u", 0.5),
    ("X[0, 1] == 0", 0.0),
    ("X[1, 1] == 0", 1.0),
    ("X[i, j] == 0 for i, j in n if i > j", 0.0),
    ("X[i, j] == 0 for i, j in n if i == j", 1.0),
    ("2 * X[j, j] - X[j, j] * c == 0 for j in n", 1 / 9),
    ("X >> 0", 0.5),
    ("X << eye(n)", 0.5),
    ("0 << X", 0.5),
    ("X + 2 * eye(n) >> 0", 0.0),
    ("W <= 1", np.inf),
    ("W[j, :] @ diag(X) <= W[0, :] @ diag(X) for j in m", np.inf),
]


@pytest.mark.quick
def test_violation(subtests: pytest.Subtests) -> None:
    u, x, w = np.array([1.0, 2.0, 3.0, 4.0]), np.diag([2.0, -1.0]), np.full((4, 2), np.nan)
    for text, amount in AMOUNTS:
        with subtests.test(text):
            found = violation(constraint(text), {"u": u, "c": 2.5, "X": x, "W": w, "m": 4, "n": 2})
            assert found == pytest.approx(amount, rel=1e-12)


LINES = [
    "u[j] <= c for j in m",
    "u[j] == v[j] for j in m",
    "W[j, :] @ v >= u[j] for j in m",
    "W[j, :] @ X @ W[j, :].T <= u[j] * c for j in m",
    "W[:, j].T @ inv(X) @ W[:, j] <= u[j] + max(v) for j in m",
    "v <= u[j] for j in m",
    "v * u[j] <= c for j in m",
    "W[j, :] @ X <= u[j] for j in m",
    "[[X, W[j, :].T], [W[j, :], u[j]]] >> 0 for j in m",
]


def test_a_family_at_once_is_one_by_one(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """There are as many queries as cells, so that a vector for each index could be taken for a number for
    each."""
    rows = rng.normal(size=(5, 5))
    finite: dict[str, Any] = {"m": 5, "n": 5, "W": rng.normal(size=(5, 5)), "X": rows @ rows.T + np.eye(5)}
    finite |= {"u": rng.uniform(size=5), "v": rng.normal(size=5), "c": 0.3}
    infinite = {**finite, "u": np.where(np.arange(5) == 2, np.inf, finite["u"])}
    for text in LINES:
        for env in (finite, infinite):
            with subtests.test(text, infinite=env is infinite), monkeypatch.context() as patch:
                line = constraint(text)
                found = worst(line, env), excess(line, env)
                patch.setattr(constraint_misses, "vectorised", lambda expr, index: None)
                (amount, at), most = worst(line, env), excess(line, env)
                assert found[0][0] == pytest.approx(amount, rel=1e-9, abs=1e-12)
                assert found[1] == pytest.approx(most, rel=1e-9, abs=1e-12)
                if amount > 1e-9:
                    assert found[0][1] == at


def test_vectors_of_different_lengths_are_read_up_to_the_end_of_the_family() -> None:
    line = constraint("u[j] + v[j] <= t for j in m")
    env = {"m": 2, "u": np.array([1.0, 2.0, 9.0]), "v": np.array([1.0, 1.0, 9.0, 9.0]), "t": 2.0}
    assert worst(line, env)[1] == (1,)
    assert excess(line, env) == 1.0
    assert excess_with_errors(line, env) == pytest.approx(1 / 3)
    assert excess(line, {**env, "t": 3.0}) == 0.0


def test_a_memo_changes_nothing_and_is_used(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rng.normal(size=(4, 4))
    env = {"m": 4, "n": 4, "W": rng.normal(size=(4, 4)), "X": rows @ rows.T + np.eye(4), "u": np.ones(4)}
    line = constraint("W[:, j].T @ inv(X) @ W[:, j] <= u[j] for j in m")
    plain, solves, solve = worst(line, env), [], float_functions.solve

    def counted(*args: np.ndarray) -> np.ndarray:
        solves.append(args)
        return solve(*args)

    monkeypatch.setattr(float_functions, "solve", counted)
    memo = Memo()
    assert worst(line, env, memo=memo) == plain and len(solves) == 1
    assert excess(line, env, memo) == excess(line, {**env}, memo) and len(solves) == 1
    # Another array of the same name makes it another expression.
    other = {**env, "X": 2 * env["X"]}
    assert worst(line, other, memo=memo) == worst(line, other) and len(solves) == 3


def test_a_shifted_family_is_missed_as_its_lines_are_one_by_one(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """All indices are evaluated at once, and each as a line of its own; a sum with a vector is no number."""
    chosen, n = frozenset("uvX"), 5
    env = {"n": n, "m": n + 1, "c": 0.3, "u": rng.normal(size=n + 1), "v": rng.normal(size=n)}
    for text in (
        "u[i + 1] == u[i] + c * v[i] - 1",
        "u[i] + v[i] <= 2 * v[i]",
        "u[i + 1] - v[i] >= v[i]**2",
        "abs(u[i + 1]) <= c * u[0]",
        "u[i] + v <= 2",
        "v[i] + v <= c",
    ):
        with subtests.test(text):
            family = constraint(f"{text} for i in n")
            lines = [constraint(re.sub(r"\bi\b", str(i), text).replace(" + 1]", "+1]")) for i in range(n)]
            each = [worst(one, env, chosen) for one in lines]
            amount, at = worst(family, env, chosen)
            assert amount == pytest.approx(max(size for size, _ in each), rel=1e-9)
            assert each[at[0]][0] == pytest.approx(amount, rel=1e-9)
            over = [excess_with_errors(one, env) for one in lines]
            assert excess_with_errors(family, env) == pytest.approx(max(over), rel=1e-9)


@pytest.mark.quick
def test_errors_of_evaluation_are_part_of_what_may_be_missed(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Limits equal to what rounding made of sums that cancel: in exact numbers some are missed."""
    for text in ("W @ v <= u", "u >= W @ v"):
        with subtests.test(text):
            w, v = 1e6 * rng.normal(size=(50, 9)), rng.uniform(1.0, 2.0, size=9)
            w[:, 8] = (1.0 - w[:, :8] @ v[:8]) / v[8]
            env = {"W": w, "v": v, "u": w @ v, "m": 50, "n": 9}
            rows = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, v, strict=True)) for row in w.tolist()]
            over = max(exact - Fraction(limit) for exact, limit in zip(rows, env["u"].tolist(), strict=True))
            size = float(np.abs(env["u"]).max())
            assert 0 < over <= excess_with_errors(constraint(text), env) * Fraction(size)
            assert excess_with_errors(constraint(text), {**env, "u": env["u"] + 1.0}) == 0.0


@pytest.mark.quick
def test_what_is_missed_by_next_to_nothing_is_missed(rng: np.random.Generator) -> None:
    """Beside an entry however large."""
    small, large = 10.0 ** rng.uniform(-300, -200), 10.0 ** rng.uniform(150, 250)
    env = {
        "W": np.array([[small], [large]]),
        "v": np.ones(1),
        "u": np.array([0.0, 2 * large]),
        "m": 2,
        "n": 1,
    }
    assert 1.0 <= excess_with_errors(constraint("W @ v <= u"), env) < 1.001
    assert excess_with_errors(constraint("W @ v <= u"), {**env, "v": -env["v"]}) == 0.0


@pytest.mark.quick
def test_a_matrix_line_is_proved_or_nothing_is_known_of_it(subtests: pytest.Subtests) -> None:
    for least, found in ((1e-3, 0.0), (0.0, np.inf), (-1e-14, np.inf)):
        with subtests.test(str(least)):
            turn = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
            x = turn @ np.diag([least, 1.0, 2.0]) @ turn.T
            assert excess_with_errors(constraint("X >> 0"), {"X": (x + x.T) / 2, "n": 3}) == found


@pytest.mark.quick
def test_nearly_zero_entries_are_cleared_where_a_line_says_so() -> None:
    x = np.array([[1.0, 1e-9, 0.5], [1e-9, 2.0, 1e-8], [0.5, 1e-8, 3.0]])
    env = {"n": 3, "X": x}
    lines = [constraint("X[i, j] == 0 for |i - j| == 1"), constraint("X[0, 2] == 0")]
    found = cleared(lines, {"X": x}, env)["X"]
    assert np.array_equal(found, [[1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [0.5, 0.0, 3.0]])
    assert violation(lines[0], {**env, "X": found}) == 0
    assert violation(lines[1], {**env, "X": found}) == 1.0
    assert x[0, 1] == 1e-9


def test_what_is_too_small_or_too_large_for_a_float(subtests: pytest.Subtests) -> None:
    """It misses by what it is; zeros are zeros."""
    chosen = frozenset({"c", "u"})
    for text, env, amount in [
        ("exp(c) <= 0", {"c": -2000.0}, 1.0),
        ("c**2 <= 0", {"c": 1e-170}, 1.0),
        ("c**2 <= 0", {"c": 0.0}, 0.0),
        ("1e-200 * u <= 0", {"u": np.array([0.0, -1e-200])}, 1.0),
        ("u >= 0", {"u": np.array([0.0, 1e-320])}, 0.0),
        ("1e200 * u[0] - 1e200 * u[1] <= 0", {"u": np.array([1.7e108, 0.8e108])}, 0.5),
    ]:
        with subtests.test(text, **env):
            found = violation(constraint(text), {**env, "m": 2, "n": 2}, chosen)
            assert found == pytest.approx(amount, rel=0.1)


def test_what_is_rounded_off_counts() -> None:
    """In the argument of an atom, and of like terms. Of an affine line each term may change."""
    env = {"u": np.array([1.0, 3.0]), "c": 1.0, "m": 2, "n": 2}
    for text, is_missed in [
        ("abs(1e17 * u[0] + u[1] - 1e17) <= c", True),
        ("exp(1e17 * u[0] + u[1] - 1e17) <= c", True),
        ("abs(u[0] + u[1]) <= 4 * c", False),
        ("1e17 * u[0] + u[1] - 1e17 <= c", False),
        ("1e17 * u[0] - 1e17 * u[1] >= 1e17 * u[0] - 1e17 * u[1] + c", True),
    ]:
        assert (violation(constraint(text), env, frozenset({"u", "c"})) > 1e-3) == is_missed, text


def test_residual_is_the_first_singular_value_beyond_the_rank(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for rank in (1, 2, 3):
        with subtests.test(str(rank)):
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
