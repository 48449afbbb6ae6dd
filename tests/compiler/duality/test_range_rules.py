"""Every rule of ranges, at any scale: no range leaves out a point that satisfies the lines exactly.

Points, coefficients and limits are floats from 1e-300 to 1e300; fractions decide what a line says of them.

Guards ranges.py, and derived_bound.py in the least objective.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.compiler.duality.ranges import Range
from mmopt.driver.judge.derived_bound import line_bounds
from mmopt.language import check

Rng = np.random.Generator
N = 3
TEXT = """program rules
given
    W: matrix[m, n] = workload.matrix
    A: matrix[n, n]
    B: matrix[n, n]
    a: vector[n]
    b: vector[n]
    c: vector[n]
    d: scalar
choose
    x: vector[n]
    y: vector[n]
    X: matrix[n, n]
minimize
    sum(x)
subject to
    from_below_x: x >= a
    from_below_y: y >= b
    from_below: X >= A
    line: {line}
"""
# The left side of a line, whose right side is the least float that the point does not pass.
LINES = {
    "add": ("x + y", "c", lambda p: p.x + p.y),
    "sub": ("x - (-y)", "c", lambda p: p.x + p.y),
    "neg": ("-(-x)", "c", lambda p: p.x),
    "mul": ("c0 * x + y", "c", lambda p: p.c0 * p.x + p.y),
    "div": ("x / c0 + y", "c", lambda p: p.x / p.c0 + p.y),
    "sum": ("sum(x)", "d", lambda p: np.array(sum(p.x))),
    "sum of rows": ("sum(X, axis=1)", "c", lambda p: p.X.sum(axis=1)),
    "sum of columns": ("sum(X, axis=0)", "c", lambda p: p.X.sum(axis=0)),
    "trace": ("trace(X)", "d", lambda p: np.array(np.trace(p.X))),
    "diag": ("diag(X) + x", "c", lambda p: np.diagonal(p.X) + p.x),
    "transpose": ("X.T", "B", lambda p: p.X.T),
    "entrywise max": ("max(x, y)", "c", lambda p: np.where(p.x >= p.y, p.x, p.y)),
    "matmul of a vector": ("C @ x", "c", lambda p: p.C @ p.x),
    "matmul by a vector": ("x @ C", "c", lambda p: p.x @ p.C),
    "matmul of matrices": ("C @ X", "B", lambda p: p.C @ p.X),
    "matmul by a matrix": ("X @ C", "B", lambda p: p.X @ p.C),
    "rows by a vector": ("X @ c0", "c", lambda p: p.X @ p.c0),
    "columns by a vector": ("c0 @ X", "c", lambda p: p.c0 @ p.X),
    "dot": ("c0 @ x", "d", lambda p: np.array(p.c0 @ p.x)),
    "index": ("x[0] + y[1]", "d", lambda p: np.array(p.x[0] + p.y[1])),
    "abs": ("abs(x) + y", "c", lambda p: abs(p.x) + p.y),
    "square": ("x**2", "c", lambda p: p.x**2),
    "squares": ("sum(x**2)", "d", lambda p: np.array(sum(p.x**2))),
    "norm 1": ("norm(x, 1)", "d", lambda p: np.array(sum(abs(p.x)))),
    "norm inf": ("norm(x, inf)", "d", lambda p: np.array(max(abs(p.x)))),
    "norm 1 of rows": ("norm(X, 1, axis=1)", "c", lambda p: abs(p.X).sum(axis=1)),
    "norm inf of columns": ("norm(X, inf, axis=0)", "c", lambda p: abs(p.X).max(axis=0)),
    "largest": ("max(x)", "d", lambda p: np.array(max(p.x))),
    "largest and more": ("max(x) + y[0]", "d", lambda p: np.array(max(p.x) + p.y[0])),
    "smallest and more": ("-min(-x) + y[0]", "d", lambda p: np.array(max(p.x) + p.y[0])),
    "entrywise min": ("-min(x, y)", "c", lambda p: -np.where(p.x <= p.y, p.x, p.y)),
}
"""Each with its left side, the given of the same shape on the right, and the exact value of the left."""


class Point:
    def __init__(self, **values: np.ndarray) -> None:
        for name, value in values.items():
            setattr(self, name, exact(value))


def exact(values: np.ndarray) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(values)


def drawn(rng: Rng, shape: tuple[int, ...], scale: float) -> np.ndarray:
    """Around a scale, some far from it, and some 0."""
    spread = rng.choice((0.0, 0.0, 5.0, -5.0, 40.0, -40.0), shape)
    values = rng.normal(size=shape) * 10.0 ** np.clip(np.log10(scale) + spread, -300, 300)
    return np.where(rng.random(shape) < 0.1, 0.0, values)


def not_below(values: np.ndarray) -> np.ndarray | None:
    """The least floats that are not below fractions; None where one is beyond all floats."""
    found = np.empty(values.shape)
    for at in np.ndindex(values.shape):
        if abs(values[at]) > Fraction(np.finfo(float).max):
            return None
        nearest = float(values[at])
        found[at] = nearest if Fraction(nearest) >= values[at] else np.nextafter(nearest, np.inf)
    return found


def ranges_at(
    text: str, givens: Mapping[str, Any], point: Mapping[str, Any], level: float
) -> Mapping[str, Range]:
    instance = bind(check(Program.parse(text)), Workload.from_matrix(np.eye(N)), givens)
    return line_bounds(instance, point, level).ranges


@pytest.mark.parametrize("rule", LINES)
def test_a_rule_holds_every_point_at_any_scale(rule: str, rng: Rng) -> None:
    left, right, value = LINES[rule]
    text = TEXT.format(line=f"{left} <= {right}")
    text = text.replace("given\n", "given\n    c0: vector[n]\n    C: matrix[n, n]\n", 1)
    tried = 0
    while tried < 3:
        scale, other = 10.0 ** rng.uniform(-300, 300, 2)
        point = {"x": drawn(rng, (N,), scale), "y": drawn(rng, (N,), scale), "X": drawn(rng, (N, N), scale)}
        c0, matrix = drawn(rng, (N,), other), drawn(rng, (N, N), other)
        if rule == "div":
            c0 = np.where(c0 == 0.0, other, c0)
        end = not_below(np.asarray(value(Point(c0=c0, C=matrix, **point)), dtype=object))
        if end is None:
            continue
        tried += 1
        beside = {"B": np.ones((N, N)), "c": np.ones(N), "d": np.ones(())} | {right: end}
        lows = (point[name] - abs(point[name]) * rng.uniform(0, 1) for name in ("x", "y", "X"))
        givens = {**beside, **dict(zip(("a", "b", "A"), lows, strict=True)), "c0": c0, "C": matrix}
        found = ranges_at(text, givens, point, np.inf)
        for name, known in found.items():
            assert (known.low <= point[name]).all() and (point[name] <= known.high).all(), (
                name,
                givens,
                point,
            )


PAIR = """program pair
given
    W: matrix[m, n] = workload.matrix
    g: scalar
    h: scalar
choose
    a: scalar >= 0
    b: scalar
    c: scalar >= 0
minimize
    b
subject to
    inside: [[a, b], [b, c]] >> 0
    one: a <= g
    other: c <= h
"""
MATRIX = """program minors
given
    W: matrix[m, n] = workload.matrix
    g: vector[n]
choose
    X: psd[n, n]
minimize
    trace(X)
subject to
    ends: diag(X) <= g
"""


def test_a_pair_is_bounded_by_the_root_of_its_ends(rng: Rng) -> None:
    for _ in range(20):
        g, h = 10.0 ** rng.uniform(-300, 300, 2)
        root = float(np.sqrt(g) * np.sqrt(h) * (1 - 1e-12))
        point = {"a": np.array(g), "b": np.array(-root), "c": np.array(h)}
        found = ranges_at(PAIR, {"g": g, "h": h}, point, np.inf)
        assert found["b"].low <= -root and root <= found["b"].high < np.inf, (g, h)


def test_entries_of_a_psd_matrix_are_bounded_by_its_diagonal(rng: Rng) -> None:
    for _ in range(10):
        root = np.sqrt(10.0 ** rng.uniform(-300, 300, N))
        x = np.outer(root, root)
        found = ranges_at(MATRIX, {"g": np.diagonal(x)}, {"X": x}, np.inf)["X"]
        assert (found.low <= -x * (1 - 1e-12)).sum() >= N * (N - 1) and (x * (1 - 1e-12) <= found.high).all()


def test_a_bound_of_tiny_limits_is_not_above_the_optimum() -> None:
    """The optimum is f sqrt(g h) = -1; a product of g and h would be 0."""
    text = PAIR.replace("    b\nsubject", "    f * b\nsubject").replace("    g: s", "    f: scalar\n    g: s")
    for f, g, h in ((1e170, 1e-40, 1e-300), (1e162, 1e-162, 1e-162)):
        b = -np.sqrt(g) * np.sqrt(h)
        point = {"a": np.array(g), "b": np.array(b), "c": np.array(h)}
        found = ranges_at(text, {"f": f, "g": g, "h": h}, point, 0.0)
        assert found["b"].low <= b


ORDER = """program order
given
    W: matrix[m, n] = workload.matrix
    A: symmetric[n, n]
    B: symmetric[n, n]
choose
    X: symmetric[n, n]
    Y: symmetric[n, n]
minimize
    trace(X)
subject to
    above: X >> A
    between: X << Y
    below: Y << B
"""


def test_diagonals_of_ordered_matrices_are_ordered(rng: Rng) -> None:
    """Differences are diagonal, so that signs of their entries decide."""
    for _ in range(5):
        x = drawn(rng, (N, N), 10.0 ** rng.uniform(-300, 300))
        x = np.tril(x) + np.tril(x, -1).T
        low, high = (x + s * np.diag(abs(np.diagonal(x)) * rng.uniform(0, 1, N)) for s in (-1, 1))
        found = ranges_at(ORDER, {"A": low, "B": high}, {"X": x, "Y": x}, np.inf)
        for name in ("X", "Y"):
            ends = (np.diagonal(end) for end in (low, found[name].low, x, found[name].high, high))
            least, lower, own, upper, most = ends
            assert (lower <= own).all() and (own <= upper).all(), name
            wide = 1e-9 * np.maximum(abs(least), abs(most)) + 1e-300
            assert (least - wide <= lower).all() and (upper <= most + wide).all(), name


EIGENVALUES = """program eigenvalues
given
    W: matrix[m, n] = workload.matrix
    a: vector[n]
    b: vector[n]
    g: scalar
    h: scalar
choose
    X: symmetric[n, n]
    Y: symmetric[n, n]
minimize
    trace(X)
subject to
    least: diag(X) >= a
    largest: lambda_max(X) <= g
    most: diag(Y) <= b
    smallest: lambda_min(Y) >= h
"""


def test_entries_of_a_symmetric_matrix_are_bounded_by_its_eigenvalues(rng: Rng) -> None:
    for _ in range(10):
        x = rng.normal(size=(N, N)) * 10.0 ** rng.uniform(-100, 100)
        if rng.random() < 0.5:  # both bounds are tight
            x = np.outer(x[0], x[0])
        x = x + x.T
        givens = {"a": np.diagonal(x), "g": np.linalg.eigvalsh(x)[-1], "b": -np.diagonal(x)}
        found = ranges_at(EIGENVALUES, {**givens, "h": -givens["g"]}, {"X": x, "Y": -x}, np.inf)
        for name, value in (("X", x), ("Y", -x)):
            slack = 1e-12 * np.abs(x).max()
            assert (found[name].low <= value + slack).all() and (value <= found[name].high + slack).all()
            assert np.isfinite(found[name].largest).all()


def test_a_soft_maximum_is_at_least_the_largest(rng: Rng) -> None:
    a, b = rng.normal(size=(2, N))
    d = np.log(np.exp(a).sum())
    rest, point = {"A": np.eye(N), "B": np.eye(N), "c": a}, {"x": a, "y": b, "X": np.eye(N)}
    text = TEXT.format(line="logsumexp(x) + y[0] <= d")
    found = ranges_at(text, {**rest, "a": a, "b": b, "d": d + b[0]}, point, np.inf)
    assert found["y"].high[0] == pytest.approx(d + b[0] - a.max())


@pytest.mark.parametrize("text", ["minimize\n    t + sum(exp(-x))", "maximize\n    -t - sum(exp(-x))"])
def test_the_least_objective_by_the_ranges_of_its_terms_is_below_all(text: str, rng: Rng) -> None:
    lines = "subject to\n    first: x[0] <= g\n    second: t >= g\n"
    text = f"program least\ngiven\n    g: scalar\nchoose\n    x: vector[2]\n    t: scalar\n{text}\n{lines}"
    for g in (*(rng.choice([-1.0, 1.0], 8) * 10.0 ** rng.uniform(-5, 3, 8)), 744.0, 745.1):
        instance = bind(check(Program.parse(text)), Workload.from_matrix(np.eye(N)), {"g": g})
        read = line_bounds(instance, {"x": np.zeros(2), "t": np.zeros(())}, np.inf)
        with ctx.workprec(2000):
            least = arb(g) + (-arb(g)).exp()
            assert read.least <= least and (least - arb(read.least) <= abs(least) * 1e-7 or g < -700)
