"""Feasible has one definition, whatever the scale of a line, and no point of lines that nothing keeps.

The verdicts of mmopt against those of the second judge, and against exact numbers.

Guards language/evaluate/constraint_misses.py.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from judge.feasible import missed
from tolerances import FEASIBLE, PUBLISHED

from mmopt import Program, certify, solve
from mmopt.compiler import Instance, bind
from mmopt.driver.judge import score_and_meaning
from mmopt.driver.judge.score_and_meaning import scored
from mmopt.errors import Error, OptionError, SolverError
from mmopt.request import as_workload

ANY = as_workload([[1.0]])
HEAD = "program own\n"
PAIRS = f"""{HEAD}given
    c: vector[n]
    T: scalar
choose
    t: vector[n]
    v: vector[n]
minimize
    c @ v
subject to
    inverse: [[t[j], 1], [1, v[j]]] >> 0 for j in n
    total: sum(t) <= T
"""
LINES = f"""{HEAD}given
    A: matrix[m, n]
    b: vector[m]
    u: vector[n]
    w: vector[n]
    r: scalar
choose
    x: vector[n]
    X: symmetric[n, n]
minimize
    sum(x)
subject to
    up: A @ x <= b
    sums: sum(A @ x) >= sum(b) - 100
    same: 3 * x - 2 * x <= u
    order: X << 2 * diag(A[0, :]) + 3 * trace(X) * (A.T @ A)
    above: [[X, x], [x.T, 1]] >> 0
    apart: x - diag(X) <= w
    curved: 2 * norm(x) + x[0] <= r
"""
WEAK = f"{HEAD}choose\n    x: scalar\n    y: scalar\nminimize\n    y\nsubject to\n"
WEAK += "    line: [[x, 1], [1, 0]] >> 0\n    low: y >= 0\n"


def bound(text: str, **givens: Any) -> Instance:
    return bind(Program.parse(text), ANY, {n: np.asarray(v, dtype=float) for n, v in givens.items()})


def judged(instance: Instance, point: Mapping[str, Any], tau: float) -> list[str]:
    env = {**instance.env, **point}
    return missed(instance.program, env, instance.sizes(), tau)


def agreed(instance: Instance, point: Mapping[str, Any]) -> bool:
    """The verdict of mmopt, which the judge confirms; None is never needed, as draws are on no border."""
    point = {name: np.asarray(v, dtype=float) for name, v in point.items()}
    found = scored(instance, point).is_feasible
    strict, loose = (judged(instance, point, FEASIBLE * by) for by in (0.99, 1.01))
    assert loose == [] if found else strict != [], (found, strict, loose)
    return found


def test_the_tolerance_is_one_number() -> None:
    assert score_and_meaning.FEASIBLE == FEASIBLE


def test_the_judge_agrees_near_the_border_of_each_line(rng: np.random.Generator) -> None:
    """A point on the border of one line, off it by up to a thousand tolerances."""
    verdicts = []
    for _ in range(40):
        n, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        scale = 10.0 ** rng.integers(-8, 9)
        a, x = rng.normal(size=(m, n)), scale * rng.normal(size=n)
        off = FEASIBLE * 10.0 ** rng.uniform(-3, 3) * rng.choice([-1.0, 1.0])
        least = off * np.where(rng.uniform(size=n) < 0.5, 1.0, 0.1)
        r = 2 * np.linalg.norm(x) + x[0]
        b = a @ x + off * (np.abs(a) @ np.abs(x))
        matrix = np.outer(x, x) * (1.0 - off) + scale**2 * np.eye(n) * abs(off)
        diagonal = np.diagonal(matrix)
        w = x - diagonal + off * (np.abs(x) + diagonal)
        instance = bound(LINES, A=a, b=b, u=x + least * np.abs(x), w=w, r=r + off * (abs(x[0]) + r))
        agreed(instance, {"x": x, "X": matrix})
        t = 10.0 ** rng.uniform(-6, 6, size=n)
        pairs = bound(PAIRS, c=np.ones(n), T=t.sum() * (1.0 + off))
        verdicts.append(agreed(pairs, {"t": t, "v": (1.0 + off * rng.uniform(0, 2)) / t}))
    assert {True, False} == set(verdicts)


def test_units_and_scalings_change_no_verdict(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """A line times a power of two, variables in other units, a matrix scaled from both sides."""
    text = f"""{HEAD}given
    A: matrix[n, n]
    b: vector[n]
    D: matrix[n, n]
    e: vector[n]
    s: scalar
    u: scalar
choose
    x: vector[n]
    X: symmetric[n, n]
minimize
    sum(x)
subject to
    lines: s * (A @ x) <= s * b
    even: s * sum(x) == s * sum(e)
    block: u * (D.T @ X @ D) >> 0
"""
    for off in (0.0, FEASIBLE / 4, 40 * FEASIBLE):
        with subtests.test(off=off):
            verdicts = set()
            n = 3
            turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
            plain = turn @ np.diag([0.0, 1.0, 2.0]) @ turn.T
            plain -= off * np.diag(np.diagonal(plain))
            a, x = np.eye(n) + 1.0, rng.uniform(1, 2, size=n)
            for _ in range(5):
                unit, d = 2.0 ** rng.integers(-40, 40), 2.0 ** rng.integers(-30, 30, size=n)
                instance = bound(
                    text,
                    u=unit,
                    A=a * unit, b=(a @ x) * (1 - off), e=x / unit, D=np.diag(d),
                    s=2.0 ** rng.integers(-60, 60),
                )  # fmt: skip
                point = {"x": x / unit, "X": plain / unit}
                verdicts.add(agreed(instance, point))
            assert len(verdicts) == 1 and verdicts == {off < FEASIBLE}


def test_a_large_entry_does_not_excuse_a_small_one() -> None:
    program = Program.parse(f"{HEAD}given\n    b: vector[n]\nchoose\n    x: vector[n]\nminimize\n    sum(x)\n"
                            "subject to\n    low: x >= b\n")  # fmt: skip
    b = np.array([1.0, 1e11])
    assert not agreed(bound(program.text, b=b), {"x": [0.5, 1e11]})
    assert agreed(bound(program.text, b=b), {"x": [1.0 - 1e-12, 1e11]})
    found = certify(ANY, program=program, givens={"b": b}, point={"x": [0.5, 1e11]}, solve=False)
    assert (
        found.variables["x"][0] >= 1.0 and "as given the point violates constraint 'low'" in found.warnings[0]
    )


def test_a_true_sign_and_an_exact_zero(subtests: pytest.Subtests) -> None:
    for line, x, kept in [
        ("x >= 0", [1.0, 0.0], True),
        ("x >= 0", [1.0, -1e-300], False),
        ("x == 0", [0.0, 0.0], True),
        ("x == 0", [1e-300, 0.0], False),
        ("1e20 * x - 1e20 * x + x >= 1", [1.0, 1.0], True),
        ("1e20 * x - 1e20 * x + x >= 1", [1.0, 0.5], False),
        ("x + 1e20 - 1e20 >= 1", [2e5, 0.0], False),
    ]:
        with subtests.test(line=line, x=x):
            text = f"{HEAD}choose\n    x: vector[2]\nminimize\n    sum(x)\nsubject to\n    line: {line}\n"
            assert agreed(bound(text), {"x": x}) is kept


def test_like_terms_are_joined_through_sums_of_sums() -> None:
    text = f"""{HEAD}given
    B: matrix[2, 2]
choose
    x: vector[2]
    y: scalar
minimize
    y
subject to
    line: sum(B @ x) + y >= 1
"""
    instance = bound(text, B=[[1e20, 0.0], [-1e20, 0.0]])
    assert not agreed(instance, {"x": [1.0, 1.0], "y": 0.5}) and agreed(instance, {"x": [1.0, 1.0], "y": 1.0})


def test_the_terms_of_a_diagonal_count_though_they_cancel() -> None:
    text = f"{HEAD}choose\n    x: scalar\n    y: scalar\nminimize\n    y\nsubject to\n"
    text += "    line: [[x - y, 1], [1, 1]] >> 0\n"
    for off, kept in ((1e-5, True), (1e-2, False)):
        assert agreed(bound(text), {"x": 1e6 + 1.0 - off, "y": 1e6}) is kept


def test_products_of_what_is_chosen_are_one_term() -> None:
    """The entries of x cancel in the product, and are no excuse."""
    text = f"""{HEAD}class smooth
choose
    x: vector[2]
    y: vector[2]
minimize
    sum(x)
subject to
    line: x.T @ y == 1
"""
    instance = bound(text)
    assert not agreed(instance, {"x": [1e12, 1.0], "y": [1.0, -1e12]})


def test_pairs_at_every_scale(subtests: pytest.Subtests) -> None:
    """The optimum is (Σ √c)² / T. At 1e6 the gap may not be reached; the point is near all the same."""
    program = Program.parse(PAIRS)
    for c in ([7.0], [3.0, 1.0, 9.0, 2.0]):
        for limit in (1.0, 1e3, 1e4, 1e6):
            with subtests.test(c=c, limit=limit):
                givens = {"c": np.array(c), "T": np.array(limit)}
                optimum = float(np.sqrt(c).sum() ** 2 / limit)
                s = solve(ANY, program, givens=givens)
                assert optimum * (1 - 1e-12) <= s.objective <= optimum * (1 + 1e-5)
                assert s.bound_grade == "proved" and s.bound <= optimum * (1 + 1e-12)
                assert s.status.stop == "gap reached" or limit == 1e6
                assert agreed(bound(PAIRS, **givens), s.variables)
    point = {"t": np.full(4, 2.5e5), "v": np.full(4, 1e-10)}
    with pytest.raises(OptionError, match="violates constraint 'inverse' for j = 0"):
        certify(ANY, program=program, givens={"c": np.array(c), "T": 1e6}, point=point, solve=False)


@pytest.mark.parametrize("solver", [None, "scs"])
def test_lines_that_nothing_keeps_but_at_infinity(solver: str | None) -> None:
    with pytest.raises(SolverError, match="violates constraint 'line'"):
        solve(ANY, Program.parse(WEAK), solver=solver)
    with pytest.raises(SolverError, match=r"^not decided: \w+ says that 'own' is unbounded"):
        solve(ANY, Program.parse(WEAK.replace("    low: y >= 0\n", "")), solver=solver)
    for x in (1.0, 1e12, 1e300):
        assert not agreed(bound(WEAK), {"x": x, "y": 0.0})


INSIDE = f"""{HEAD}given
    V: matrix[m, k]
choose
    S: symmetric[k, k]
    c: vector[k]
minimize
    sum(diag(S)**2)
subject to
    inside: [[S, V[j, :].T - c], [(V[j, :].T - c).T, 1]] >> 0 for j in m
"""


@pytest.mark.some(3, rest="slow")
@pytest.mark.parametrize("seed", range(24))
def test_points_are_moved_inside_until_all_is_proved(seed: int) -> None:
    v = np.random.default_rng(seed).normal(size=(7, 3))
    s = solve(ANY, Program.parse(INSIDE), givens={"V": v})
    assert (s.objective_grade, s.bound_grade, s.status.stop) == ("proved", "proved", "gap reached")
    assert agreed(bound(INSIDE, V=v), s.variables)
    assert seed != 0 or s.objective == pytest.approx(17.0747848, rel=PUBLISHED)
    point = {name: np.asarray(value) * (1 - 1e-8) for name, value in s.variables.items()}
    try:
        found = certify(ANY, program=Program.parse(INSIDE), givens={"V": v}, point=point, solve=False)
        assert found.objective == pytest.approx(s.objective, rel=1e-5)
    except Error as error:
        raise AssertionError(point) from error
