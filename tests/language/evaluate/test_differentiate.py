"""Gradients against differences, of every atom and of random expressions; rounding off and its limit.

Guards evaluate_and_differentiate.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from mmopt.language import Tape, evaluate
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Expr

Env = dict[str, Any]
CHOSEN = ("X", "P", "v", "s")
STEP = 1e-6


def parse(text: str) -> Expr:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS)


def point(seed: int, n: int = 4) -> Env:
    """X any matrix, P positive definite, v positive, s a number: all chosen. W and u are given."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    chosen = {"X": rng.normal(size=(n, n)), "P": a @ a.T + np.eye(n), "v": rng.uniform(0.5, 2.0, size=n)}
    return {**chosen, "s": 1.7, "W": rng.normal(size=(n, n)), "u": rng.normal(size=n), "n": n, "j": 1}


def differences(expr: Expr, env: Env, rounding: float) -> dict[str, np.ndarray]:
    out = {}
    for name in CHOSEN:
        middle = np.asarray(env[name], dtype=float)
        found = np.zeros(middle.shape)
        tape = Tape(expr, env, CHOSEN)
        for at in np.ndindex(middle.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = middle.copy()
                moved[at] += step
                ends.append(float(tape.run({**env, name: moved}, rounding)[0]))
            found[at] = (ends[0] - ends[1]) / (2 * STEP)
        out[name] = found
    return out


def value_and_gradient(
    expr: Expr, env: Env, wrt: Sequence[str], rounding: float = 0.0
) -> tuple[float, dict[str, np.ndarray]]:
    value, pull = Tape(expr, env, wrt).run({name: env[name] for name in wrt}, rounding)
    return float(value), {name: np.zeros(np.shape(env[name])) for name in wrt} | pull(1.0)


def assert_gradient(text: str, env: Env, rounding: float = 0.0, limit: float = 1e-6) -> None:
    expr = parse(text)
    value, gradient = value_and_gradient(expr, env, CHOSEN, rounding)
    if not rounding:
        assert value == pytest.approx(float(evaluate(expr, env)), rel=1e-11, abs=1e-11)
    expected = differences(expr, env, rounding)
    size = max(1.0, *(float(np.abs(g).max()) for g in expected.values()))
    for name in CHOSEN:
        assert gradient[name].shape == np.shape(env[name])
        np.testing.assert_allclose(
            gradient[name], expected[name], atol=limit * size, err_msg=f"{text}: {name}"
        )


TEXTS = [
    "sum((X + W) * W) + sum(s + X) + sum(v + s)",
    "sum((X - W) * W) - sum(s - X) + sum(v - s * u)",
    "-s * (v @ u)",
    "sum(X * W) + sum(s * X) + sum(v * v) * s",
    "sum(X / (2 + s)) + sum(s / v) + sum(u / v) + sum(W / P[0, 0])",
    "sum(v**3) + s**-1.5 + sum(X**2 * W) + sum(v**1) + sum(v**0)",
    "u @ X @ W @ v + sum(X @ P) + u @ v + sum(W @ v) + sum(v.T @ X)",
    "sum(X.T * W) + u @ (X.T @ v)",
    "sum(sum(X, axis=0) * u) + v @ sum(X, axis=1)",
    "trace(X) * s + trace(X @ W) + trace(W @ X @ P)",
    "diag(X) @ u + sum(diag(v) * W) + u @ diag(X @ W) + sum(diag(X @ v) * W)",
    "trace(W @ inv(P) @ W.T) + sum(W * inv(P + X @ X.T)) + u @ inv(P) @ v",
    "sum(root(P) * W) + trace(root(P @ P + P))",
    "nuclear(X) + nuclear(W @ diag(sqrt(v)))",
    "sum(sqrt(v)) + sqrt(s) + sum(sqrt(sum(X * X, axis=0)))",
    "sum(exp(X) * W) + exp(s) * sum(v)",
    "sum(log(v) * u) + log(s)",
    "logsumexp(s * X) + logsumexp(X, axis=0) @ u + logsumexp(X, axis=1) @ v",
    "sum(polar(X) * W)",
    "sum(abs(X) * W) + abs(s)",
    "max(X) + max(X, axis=0) @ u + max(X, axis=1) @ v",
    "min(X) + min(X, axis=0) @ u + min(X, axis=1) @ v",
    "X[1, :] @ W @ X[:, 2] + X[0, 3] * v[j] + sum(X[j, :]) + s * sum(v[:])",
    "sum([[X, v], [u.T, s]] @ [[W, v], [v.T, 2]]) + sum([[X[0, :]], [W @ X]])",
    "sum(W * (eye(n) - (X - X.T)) @ inv(eye(n) + (X - X.T)))",
    "sum(eye(n) * X) + ones(n) @ v",
]


def test_atoms(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for text in TEXTS:
        with subtests.test(text):
            assert_gradient(text, point(int(rng.integers(2**32))))


ROUNDED = ["sum(abs(X) * W) + abs(s)", "max(X, axis=0) @ u + max(v)", "min(X) - min(v) * s"]


def test_rounded_atoms(subtests: pytest.Subtests) -> None:
    for rounding in (1.0, 0.1, 1e-2):
        for text in ROUNDED:
            with subtests.test(str((rounding, text))):
                assert_gradient(text, point(5), rounding)


SLACKS = [("sum(abs(X))", 16.0), ("max(X)", np.log(16)), ("min(X)", np.log(16))]


def test_rounding_is_by_at_most_its_size(subtests: pytest.Subtests) -> None:
    for text, slack in SLACKS:
        with subtests.test(text):
            env, expr = point(6), parse(text)
            exact, plain = value_and_gradient(expr, env, CHOSEN)
            for rounding in (1.0, 1e-2, 1e-4, 1e-8):
                value, _ = value_and_gradient(expr, env, CHOSEN, rounding)
                assert (
                    0 <= (value - exact) * (-1 if text.startswith("min") else 1) <= slack * rounding + 1e-12
                )
            _, fine = value_and_gradient(expr, env, CHOSEN, 1e-8)
            np.testing.assert_allclose(fine["X"], plain["X"], atol=1e-6)


def test_subgradients_at_corners() -> None:
    """A convex function lies above the line that a subgradient draws."""
    rng = np.random.default_rng(1)
    x = np.array([[1.0, -2.0, 0.0], [2.0, 0.0, 2.0], [2.0, 1.0, -2.0]])
    for text in (
        "sum(abs(X))",
        "max(X)",
        "sum(max(X, axis=1))",
        "max(sum(abs(X), axis=0))",
        "nuclear(X - X)",
    ):
        value, gradient = value_and_gradient(parse(text), {"X": x}, ["X"])
        for _ in range(20):
            other = x + rng.normal(size=x.shape) * 10.0 ** rng.integers(-3, 2)
            below = value + float(np.sum(gradient["X"] * (other - x)))
            if text != "nuclear(X - X)":
                assert float(evaluate(parse(text), {"X": other})) >= below - 1e-12
        assert np.isfinite(gradient["X"]).all()


def test_roots_at_zero_are_finite() -> None:
    env = {"X": np.zeros((2, 2)), "v": np.zeros(2)}
    _, gradient = value_and_gradient(parse("sum(sqrt(sum(X * X, axis=0))) + sum(root(X))"), env, ["X", "v"])
    assert (gradient["X"] == 0).all() and (gradient["v"] == 0).all()
    _, gradient = value_and_gradient(parse("sum(sqrt(v))"), env, ["v"])
    assert (gradient["v"] > 1e50).all()


def test_what_is_not_chosen_is_computed_once() -> None:
    env = point(2)
    tape = Tape(parse("trace(W @ inv(W.T @ W) @ X) + trace(W @ inv(W.T @ W) @ X)"), env, ["X"])
    # transpose, product and sum of the trace, and the sum of two equal traces
    assert len(tape.nodes) == 4
    constant, pull = Tape(parse("trace(W)"), env, ["X"]).run({"X": env["X"]})
    assert constant == pytest.approx(np.trace(env["W"])) and pull(1.0) == {}


def test_of_what_has_no_value_nothing_is_raised() -> None:
    value, gradient = value_and_gradient(parse("trace(inv(X)) + sum(log(X))"), {"X": np.zeros((2, 2))}, ["X"])
    assert not np.isfinite(value) and not np.isfinite(gradient["X"]).all()


def matrices() -> st.SearchStrategy[str]:
    """Texts of square matrices, whatever is inside."""
    leaves = st.sampled_from(["X", "W", "P", "diag(v)", "eye(n)", "(s * X)"])

    def above(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} @ {})", "({} @ diag({} @ u))"])
        one = st.sampled_from(
            ["{}.T", "(-{})", "exp({} / 9)", "sqrt(1 + {0} * {0})", "inv({0}.T @ {0} + eye(n))"]
        )
        wide = st.sampled_from(
            ["diag(logsumexp({}, axis=0))", "diag(sum({}, axis=1))", "([[{0}[0, :]], [{0}]][1, 1] * W)"]
        )
        return st.one_of(
            st.builds(lambda f, a, b: f.format(a, b), two, inner, inner),
            st.builds(lambda f, a: f.format(a), st.one_of(one, wide), inner),
        )

    return st.recursive(leaves, above, max_leaves=6)


@settings(max_examples=20)
@given(matrices(), st.integers(0, 1000))
def test_random_expressions(text: str, seed: int) -> None:
    env = point(seed, n=3)
    # Scaled to size one, so that differences have digits left.
    size = float(np.abs(evaluate(parse(text), env)).max())
    assume(np.isfinite(size) and 1e-6 < size < 1e3)
    assert_gradient(f"sum(W * ({text})) / {size!r}", env, limit=1e-4)
