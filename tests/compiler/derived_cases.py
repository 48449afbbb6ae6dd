"""Convex programs of many kinds, and edits that make others of them: for the tests of derived bounds."""

import re

import numpy as np

HEAD = """program mutant
given
    W: matrix[r, n] = workload.matrix
    c: vector[n] >= 0
    P: psd[n, n]
"""
TAIL = """
strategy
    eye(n) norm 2
"""


def _program(choose: str, sense: str, objective: str, *lines: str) -> str:
    numbered = "\n".join(f"    line{i}: {line}" for i, line in enumerate(lines))
    return f"{HEAD}choose\n    {choose}\n{sense}\n    {objective}\nsubject to\n{numbered}\n{TAIL}"


X, x, y = "X: psd[n, n]", "x: vector[n] >= 0", "y: vector[n]"
XT, XV = f"{X}\n    t: scalar", f"{x}\n    v: vector[n] >= 0"
BELOW = "for i in n for j in n if i < j"
# Every line can be met strictly, at X and x of order one.
BASES = (
    _program(X, "minimize", "trace(W @ inv(X) @ W.T)", "diag(X) <= 2"),
    _program(X, "minimize", "max(diag(W @ inv(X) @ W.T))", "diag(X) <= 2"),
    _program(X, "minimize", "trace(inv(X)) + sum(abs(X))", "trace(X) <= 9"),
    _program(X, "maximize", "trace(root(X) @ P)", "diag(X) <= 2"),
    _program(X, "maximize", "trace(root(W @ X @ W.T))", "trace(P @ X) <= 30"),
    _program(X, "minimize", "nuclear(W @ X) + sum(c / diag(X))", "diag(X) <= 2", "X << 5 * eye(n)"),
    _program(X, "minimize", "trace(X)", "W[j, :] @ X @ W[j, :].T >= 1 for j in r"),
    _program(X, "minimize", "trace(P @ X)", "[[X, W[j, :].T], [W[j, :], 3]] >> 0 for j in r"),
    _program(
        f"{X}\n    t: scalar",
        "minimize",
        "t",
        "[[X, W[j, :].T], [W[j, :], t]] >> 0 for j in r",
        "diag(X) <= 2",
    ),
    _program(
        f"{X}\n    t: scalar", "minimize", "t + trace(X)", "W[j, :] @ inv(X) @ W[j, :].T <= t for j in r"
    ),
    _program(x, "minimize", "sum(c / x)", "W @ x <= 9"),
    _program(x, "minimize", "sum(x**2) - c @ x", "W @ x <= 9"),
    _program(x, "minimize", "c @ x", "W @ x >= 1"),
    _program(x, "maximize", "sum(sqrt(x))", "W @ x <= 9", "x <= 4"),
    _program(x, "maximize", "sum(log(x)) + sum(c * sqrt(x))", "W @ x <= 9"),
    _program(x, "minimize", "logsumexp(W @ x) - sum(x)", "x <= 3"),
    _program(x, "minimize", "sum(exp(-x)) + c @ x", "x <= 5"),
    _program(x, "minimize", "max(W @ x) + sum(x**(-2))", "x <= 5"),
    _program(x, "maximize", "sum(x**0.5) - sum(x**1.5)", "x <= 5"),
    _program(
        f"{x}\n    v: vector[n] >= 0",
        "minimize",
        "c @ v + sum(v)",
        "[[x[i], 1], [1, v[i]]] >> 0 for i in n",
        "W @ x <= 9",
    ),
    _program(y, "minimize", "sum((W @ y - 1)**2) + sum(abs(y))", "abs(y) <= 3"),
    _program(y, "minimize", "max(abs(W @ y - 2))", "sum(y**2) <= 9"),
    _program(y, "minimize", "c @ y", "sum(y**2) <= 4"),
    _program(y, "minimize", "logsumexp(W @ y) + sum(y**2)", "max(y) <= 3"),
    _program(y, "minimize", "sum(exp(y)) - c @ y", "y <= 3", "y >= -3"),
    _program(f"{y}\n    {X}", "minimize", "trace(inv(X)) - sum(y)", "y + diag(X) <= 4", "X << 3 * eye(n)"),
    _program("Y: matrix[r, n]", "minimize", "nuclear(Y - W) + sum(Y**2)", "abs(Y) <= 3"),
    _program("Y: symmetric[n, n]", "minimize", "sum(abs(Y - P))", "Y << 4 * eye(n)", "Y >> -4 * eye(n)"),
    _program("Y: symmetric[n, n]", "minimize", "trace(P @ Y)", "eye(n) >> Y", "sum(Y**2) <= 9"),
    _program(X, "minimize", "trace(inv(X))", "[[X - 3 * eye(n)]] << 0"),
    _program(X, "minimize", "trace(inv(X))", "0 >> X - P - eye(n)"),
    _program("Y: symmetric[n, n]", "minimize", "trace(P @ Y)", "0 << Y + 2 * eye(n)", "sum(Y**2) <= 99"),
    _program(X, "maximize", "logdet(X)", "trace(P @ X) <= 9"),
    _program(X, "minimize", "trace(P @ X) - logdet(X)", "diag(X) <= 9"),
    _program(X, "maximize", "lambda_min(X)", "trace(X) <= 3", "abs(X[0, 1]) <= 0.1"),
    _program(X, "minimize", "lambda_max(P - X) + trace(X)", "sum(X**2) <= 9"),
    _program(X, "minimize", "sigma_max(W @ X - W) + norm(X, fro)", "diag(X) <= 5"),
    _program(y, "minimize", "norm(W @ y - 1)", "norm(y, inf) <= 4"),
    _program(y, "minimize", "norm(W @ y - 1, 1) + sum(max(y, 0))", "norm(y) <= 4"),
    _program(y, "minimize", "sum(huber(W @ y - 3))", "norm(y, inf) <= 4"),
    _program(x, "maximize", "sum(entropy(x)) - c @ x", "W @ x <= 9", "x <= 4"),
    _program(x, "minimize", "sum(rel_entropy(x, c)) - sum(x)", "x <= 4"),
    _program(x, "minimize", "sum(max(x, 1 / x))", "x <= 4"),
    _program(X, "minimize", f"sum(X[i, j]**2 {BELOW}) + trace(inv(X))", "diag(X) <= 3"),
    _program(
        X, "minimize", "trace(inv(X))", "abs(X[i, j]) <= 0.2 for i in n, j in n if i < j", "diag(X) <= 3"
    ),
    _program(f"{y}\n    t: scalar > 0", "minimize", "quad_over_lin(W @ y - 1, t) + t", "norm(y, inf) <= t"),
    _program(
        f"{y}\n    {x}", "minimize", "sum(quad_over_lin(y[i] - 1, x[i]) for i in n)", "x <= 2", "y <= 0.5"
    ),
    _program(f"{y}\n    {X}", "minimize", "y @ inv(X + P) @ y + trace(X)", "W @ y >= 1"),
    _program(f"Y: matrix[r, n]\n    {X}", "minimize", "trace(Y @ inv(X) @ Y.T)", "Y >= W", "diag(X) <= 3"),
    _program(X, "minimize", "matrix_frac(W @ c, W @ X @ W.T)", "diag(X) <= 3"),
    _program(x, "maximize", "geo_mean(x + c) - c @ x", "W @ x <= 9", "x <= 4"),
    _program(y, "minimize", "sum_largest(abs(W @ y - 2), 2) + sum(y**2)", "norm(y, 1) <= 4"),
    _program(y, "maximize", "sum_smallest(W @ y, 1.5) - c @ y", "norm(y) <= 4"),
    _program("Y: symmetric[n, n]", "minimize", "lambda_sum_largest(P - Y, 2)", "norm(Y, fro) <= 4"),
    _program(X, "minimize", "trace(X)", "kron(P, X) >> eye(n * n)"),
    _program(y, "minimize", "sum((cumsum(y) - c)**2) + norm(diff(y), 1)", "norm(y, inf) <= 4"),
    _program(
        f"{y}\n    t: scalar", "minimize", "norm([[W @ y - 1], [t - 2]]) + t**2", "max([[y], [t]]) <= 1"
    ),
    # Limits that follow from all lines together, or from cuts.
    _program(
        f"{X}\n    {y}",
        "maximize",
        "logdet(X)",
        "norm(X @ W[j, :].T + y) <= 9 for j in r",
        "norm(X @ W[j, :].T - y) <= 9 for j in r",
    ),
    _program(y, "minimize", "sum(abs(y - c)) + sum(W @ y) / 9", "sum(y) <= 99"),
    _program(
        y, "minimize", "sum(logsumexp([[0, W[j, :] @ y]]) for j in r) + sum(y**2) - c @ y", "sum(y) <= 9"
    ),
    _program("Y: symmetric[n, n]", "minimize", "lambda_max(Y + P)", "diag(Y) >= 1"),
)
# A part, and what may stand in its place: atoms of the same shape and curvature.
EXCHANGES = (
    ("sum(", "2.5 * sum("),
    ("sum(exp(", "logsumexp(("),
    ("x**2", "x**4"),
    ("y**2", "abs(y)"),
    ("abs(y)", "y**2"),
    ("sum(abs(", "max(abs("),
    ("max(abs(", "sum(abs("),
    ("nuclear(", "sum(abs("),
    ("trace(inv(X))", "max(diag(inv(X)))"),
    ("sum(sqrt(x))", "min(sqrt(x))"),
    ("sum(c / x)", "max(c / x)"),
    ("x**(-2)", "x**(-1)"),
    ("x**1.5", "x**3"),
    ("W @ x <= 9", "max(W @ x) <= 9"),
    ("c @ x", "sum(c * x)"),
    ("diag(X) <= 2", "sum(diag(X)**2) <= 4"),
    ("diag(X) <= 3", "lambda_max(X) <= 3"),
    ("logdet(X)", "lambda_min(X)"),
    ("norm(W @ y - 1)", "norm(W @ y - 1, inf)"),
    ("norm(y, inf)", "norm(y)"),
    ("sum(huber(", "max(huber("),
    ("sum(entropy(x))", "min(entropy(x))"),
    ("y**2", "huber(y, 2)"),
    ("norm(X, fro)", "nuclear(X)"),
    ("1 / x", "exp(-x)"),
    ("quad_over_lin(W @ y - 1, t)", "quad_over_lin(norm(W @ y - 1), sqrt(t))"),
    ("geo_mean(x + c)", "geo_mean(sqrt(x))"),
    ("y - 2), 2)", "y - 2), 1)"),
    ("P - Y, 2)", "P - Y, 1.5)"),
    ("kron(P, X)", "kron(X, P)"),
)
ADDED = {
    "x: ": ("sum(x) <= 20", "x[0] >= 0.01", "sum(x**2) <= 90", "max(x) <= 8", "sum(sqrt(x)) >= 0.1"),
    "X: ": ("trace(X) <= 20", "X >> 0.01 * eye(n)", "max(abs(X)) <= 8", "trace(root(X)) >= 0.1"),
    "y: ": ("sum(y) <= 20", "y[0] >= -2", "sum(exp(y)) <= 99", "max(abs(y)) <= 8"),
    "Y: ": ("sum(Y**2) <= 90", "max(abs(Y)) <= 8"),
}
NUMBER = re.compile(r"(?<=<= )\d+(?:\.\d+)?|(?<=>= )\d+(?:\.\d+)?")


def mutated(rng: np.random.Generator) -> str:
    """A program, with some coefficients changed, an atom exchanged, a line dropped or added."""
    text = str(rng.choice(np.array(BASES, dtype=object)))
    for _ in range(int(rng.integers(0, 4))):
        kind = rng.integers(4)
        if kind == 0:  # every limit by a factor of its own
            text = NUMBER.sub(lambda found: f"{float(found[0]) * rng.uniform(0.7, 1.4):.4g}", text)
        elif kind == 1:
            fits = [pair for pair in EXCHANGES if pair[0] in text]
            if fits:
                old, new = fits[rng.integers(len(fits))]
                text = text.replace(old, new, 1)
        elif kind == 2:
            more = [line for word, lines in ADDED.items() if f"    {word}" in text for line in lines]
            if more:
                text = text.replace(
                    "\n\nstrategy", f"\n    more{len(text)}: {more[rng.integers(len(more))]}\n\nstrategy"
                )
        else:
            lines = re.findall(r"\n    line\d: [^\n]*", text)
            if len(lines) > 1:
                text = text.replace(lines[rng.integers(len(lines))], "", 1)
    return text
