"""No point is excluded that keeps the lines exactly, whatever cancels in them; what is excluded is proved.

Guards driver/why_no_solution.py in its proofs.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.driver.judge.derived_bound import LineBounds
from mmopt.driver.why_no_solution import (
    Probe,
    conflict,
    elastic_form,
    exclusion,
    lines_at_no_slack,
    origin,
    probe,
)
from mmopt.errors import SolverError
from mmopt.solvers import Clock

WORKLOAD = Workload.from_matrix(np.eye(2))


def conflict_of(chosen: str, *lines: str, given: str = "", let: str = "", **givens: Any) -> Probe | None:
    parts = {"given": given, "let": let, "choose": chosen, "minimize": "0 * sum(x)", "subject to": lines}
    rows = [(head, [body] if isinstance(body, str) else body) for head, body in parts.items() if body]
    text = "".join(f"{head}\n" + "".join(f"    {row}\n" for row in body) for head, body in rows)
    return conflict(bind(Program.parse(f"program t\n{text}"), WORKLOAD, givens), Clock(60.0))


# Of every cone: a line, and another, with a limit up to which both hold and one above which they do not.
LINES = {
    "nonnegative": ("x: vector[3]", "sum(x) <= 3", "x >= {}", 1.0),
    "no range": ("x: vector[2] >= 0", "x[0] + x[1] <= 1", "x[0] + 2 * x[1] >= {}", 2.0),
    "second-order": ("x: vector[3]", "norm(x) <= 1", "sum(x) >= {}", 3**0.5),
    "powers": ("x: vector[3]", "sum(x**4) <= 3", "sum(x) >= {}", 3.0),
    "psd": ("x: psd[3, 3]", "trace(inv(x)) <= 1", "-trace(x) >= {}", -9.0),
    "exponential": ("x: scalar", "exp(x) <= 1", "x >= {}", 0.0),
    "logarithm": ("x: scalar", "x <= 5", "log(x) >= {}", np.log(5)),
    "logsumexp": ("x: vector[3]", "logsumexp(x) <= 0", "sum(x) >= {}", -3 * np.log(3)),
    "entropy": ("x: vector[3]", "sum(x) == 1", "sum(entropy(x)) >= {}", np.log(3)),
    "largest entry": ("x: vector[3]", "max(x) <= 1", "sum(x) >= {}", 3.0),
    "largest eigenvalue": ("x: psd[3, 3]", "lambda_max(x) <= 1", "trace(x) >= {}", 3.0),
    "determinant": ("x: psd[3, 3]", "trace(x) <= 3", "logdet(x) >= {}", 0.0),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("case", LINES)
def test_conflicts_are_proved_and_others_are_not(case: str) -> None:
    chosen, first, second, limit = LINES[case]
    for room, is_conflict in ((1e-2, True), (-1e-2, False)):
        nearest = conflict_of(chosen, f"a: {first}", f"b: {second}".format(limit + room))
        assert nearest is not None and (nearest.reach > 0) is is_conflict
        assert not is_conflict or nearest.reach_of_all > 1e6


def test_a_conflict_at_a_kink_is_proved_by_slopes() -> None:
    """The nearest point is 0, where a norm has more slopes than one."""
    nearest = conflict_of("x: vector[3]", "a: norm(x) + 0.5 * x[0] - 0.3 * x[1] <= -0.5", "b: sum(x) >= -9")
    assert nearest is not None and nearest.names == ("a",) and nearest.reach > 0


def lines_of(chosen: str, *lines: str) -> LineBounds:
    """The lines, a and b …, of a program at no slack, near 0."""
    text = "".join(f"    {name}: {line}\n" for name, line in zip("ab", lines, strict=False))
    program = Program.parse(f"program t\nchoose\n    {chosen}\nminimize\n    0 * sum(x)\nsubject to\n{text}")
    elastic = elastic_form(bind(program, WORKLOAD), ["a", "b"])
    assert elastic is not None
    return lines_at_no_slack(elastic, origin(elastic))


@pytest.mark.quick
def test_how_far_multipliers_exclude_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left of s <= 1 and 1 <= s / 2, s a sum, is -0.001 s <= -1.002, which holds from entries of 501 on."""
    monkeypatch.setattr("mmopt.driver.judge.derived_bound.without_remainder", lambda *_: None)
    lines = lines_of("x: vector[2]", "x[0] + x[1] <= 1", "x[0] + x[1] >= 2")
    for a, b, far, is_excluded in [
        (1.0, 2.0, np.inf, False),  # as 2 / 2 is known up to rounding only
        (1.0, 2.0, 1e14, True),
        (1e-9, 2e-9, 1e14, True),
        (1.0, 2.002, 500.0, True),
        (1.0, 2.002, 502.0, False),
        (1.0, 0.0, 1.5, False),
        (0.0, 1.0, 0.99, True),
        (0.0, 1.0, 1.01, False),
        (-1.0, -2.0, 1e3, False),
        (0.0, 0.0, 1e3, False),
    ]:
        multipliers = {"a": np.array([a]), "b": np.array([b])}
        if lines.nodes.shapes_of_multipliers()["a"] == ():
            multipliers = {name: y[0] for name, y in multipliers.items()}
        assert (exclusion(lines, far, multipliers, {}) is not None) is is_excluded, (a, b, far)


def test_no_multipliers_exclude_a_point(rng: np.random.Generator) -> None:
    forms = {
        "x: vector[2]": ("norm(x - 3) + max(x) <= 4", "x[0] + 1e3 * x[1] >= 3003"),
        "x: psd[2, 2]": ("logdet(x) >= 0", "x << 1.001 * eye(2)"),
    }
    for chosen, both in forms.items():
        lines = lines_of(chosen, *both)
        shapes = lines.nodes.shapes_of_multipliers()
        for _ in range(50):
            multipliers = {
                name: 10.0 ** rng.uniform(-3, 3) * (np.eye(2) if shape == (2, 2) else rng.normal(size=shape))
                for name, shape in shapes.items()
            }
            assert exclusion(lines, 10.0 ** rng.uniform(1, 9), multipliers, {}) is None


def test_ranges_make_a_proof_unconditional() -> None:
    for sign, is_limited in ((" >= 0", False), ("", True)):
        nearest = conflict_of(f"x: vector[3]{sign}", "a: 0.1 * x[0] + 0.3 * sum(x) >= 1", "b: sum(x) <= 1")
        assert nearest is None or np.isinf(nearest.reach) or is_limited


def test_what_cancels_excludes_no_point(subtests: pytest.Subtests) -> None:
    """Each has a point in exact arithmetic, and none in floats."""
    huge, x = np.array(1e16), "x: scalar >= 0"
    for lines, parts in [
        (("a: k * x + x - k * x >= 1", "b: x <= 1.5"), {"given": "k: scalar >= 0", "k": huge}),
        (("a: x >= k + 3 - k", "b: x <= 3.5"), {"given": "k: scalar", "k": huge}),
        (("a: x >= c", "b: x <= 3.5"), {"given": "k: scalar", "let": "c = k + 3 - k", "k": huge}),
        (
            ("a: sum(A @ x) >= 3e-14", "b: x <= 2"),
            {"given": "A: matrix[m, 1]", "A": np.array([[1e3], [3e-14], [-1e3]])},
        ),
    ]:
        with subtests.test(lines[0]):
            nearest = conflict_of("x: vector[1] >= 0" if "A" in parts else x, *lines, **parts)
            assert nearest is None or nearest.reach == 0.0
    # A let of which the float is off by more than the room that its ball shows.
    h, e = scipy.linalg.hilbert(9), np.array([1.0, 2, 3, 1, 2, 3, 1, 2, 3])
    given = "h: psd[n, n]\n    e: vector[n]\n    s: scalar"
    program = {"given": given, "let": "c = e @ inv(h) @ e / s", "h": h, "e": e}
    exact = _quadratic(h, e)
    for s in (float(exact), float(exact) * (1 - 1e-3)):
        nearest = conflict_of(
            x, "a: x >= c", f"b: x <= {float(exact / Fraction(s))!r}", s=np.array(s), **program
        )
        assert nearest is None or nearest.reach == 0.0


def _quadratic(h: np.ndarray, e: np.ndarray) -> Fraction:
    """e @ inv(h) @ e in fractions."""
    rows = [[*map(Fraction, row), Fraction(last)] for row, last in zip(h.tolist(), e.tolist(), strict=True)]
    for i, pivot in enumerate(rows):
        for other in rows:
            if other is not pivot:
                factor = other[i] / pivot[i]
                other[:] = [a - factor * b for a, b in zip(other, pivot, strict=True)]
    return sum(
        (Fraction(v) * row[-1] / row[i] for i, (v, row) in enumerate(zip(e, rows, strict=True))), Fraction(0)
    )


def _has_point(rows: list[list[Fraction]]) -> bool:
    """Whether some x has r[0] x₀ + … <= r[-1] for all rows, by Fourier's and Motzkin's elimination."""
    for _ in range(len(rows[0]) - 1):
        keep, low, high = ([r[1:] for r in rows if (r[0] > 0) - (r[0] < 0) == s] for s in (0, -1, 1))
        sizes = {s: [abs(r[0]) for r in rows if s * r[0] > 0] for s in (-1, 1)}
        pairs = product(zip(low, sizes[-1], strict=True), zip(high, sizes[1], strict=True))
        rows = keep + [[v / a + w / b for v, w in zip(r, q, strict=True)] for (r, a), (q, b) in pairs]
        if not rows:
            return True
    return all(r[0] >= 0 for r in rows)


@pytest.mark.some(40)
@pytest.mark.parametrize("number", range(240))
def test_no_law_of_small_programs_is_broken(number: int) -> None:
    """Random lines of odd scales that nearly cancel: a conflict in words is one in fractions."""
    rng = np.random.default_rng(number)
    n, cancels = int(rng.integers(1, 3)), rng.random() < 0.4
    m = n if cancels else int(rng.integers(2, 5))
    a = np.round(rng.normal(size=(m, n)), 1) * 10.0 ** rng.integers(-9, 10, size=(m, 1))
    b = a @ rng.normal(size=n)
    if rng.random() < 0.7:  # two lines that are next to opposite
        a[-1], b[-1] = -a[0], -b[0] * (1 + rng.choice([0.0, 1e-16, -1e-16, 1e-9, -1e-9, -1e-2]))
    big = float(10.0 ** rng.integers(0, 17))
    left = "k * x + A @ x - k * x" if cancels else "A @ x"
    given = (
        "A: matrix[n, n]\n    b: vector[n]\n    k: scalar" if cancels else "A: matrix[m, n]\n    b: vector[m]"
    )
    parts = {"A": a, "b": b} | ({"k": np.array(big)} if cancels else {})
    try:
        nearest = conflict_of(
            "x: vector[n]" + " >= 0" * (number % 2), f"a: {left} <= b", given=given, **parts
        )
    except SolverError:
        return
    rows = [[*map(Fraction, row), Fraction(end)] for row, end in zip(a.tolist(), b.tolist(), strict=True)]
    rows += [[Fraction(-int(i == j)) for j in range(n)] + [Fraction(0)] for i in range(n * (number % 2))]
    if nearest is not None and nearest.reach_of_all:
        limit = nearest.reach_of_all
        box = [
            [Fraction(s * int(i == j)) for j in range(n)] + [Fraction(limit)]
            for i in range(n * bool(np.isfinite(limit)))
            for s in (1, -1)
        ]
        assert not _has_point(rows + box)


def test_a_probe_of_no_lines_is_none() -> None:
    program = Program.parse("program t\nchoose\n    x: scalar\nminimize\n    x\nsubject to\n    a: x >= 1\n")
    assert probe(bind(program, WORKLOAD), [], Clock(60.0)) is None
