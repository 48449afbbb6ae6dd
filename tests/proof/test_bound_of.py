"""The bound at exactly the caller's multipliers: a certificate, or read off the lines.

Guards certify.py, and what assemble_solution.py, lagrangian.py, ranges.py, scale_numbers.py and
conic_problem.py do for it.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.language import program_names, shipped
from mmopt.results import Solution

W = mmopt.Workload.from_matrix(np.tri(4), targets=np.ones(4))
LONG = {"min_error", "low_rank"}  # searches of a second and more
BOUNDED = [
    pytest.param(name, marks=pytest.mark.slow) if name in LONG else name
    for name in program_names()
    if (program := shipped(name).written).certificate or program.bound == "l2_strategy"
]
LINES = """
choose
    x: vector[3] >= 0
maximize
    x[0] + 2 * x[1] + 3 * x[2]
subject to
    whole: 1 == sum(x)
    most: x[2] <= 0.5
"""
LP = mmopt.Program.parse("program lp" + LINES)
CLAIM = "certificate y: scalar >= 0 from dual(most)\n    {}\n"
POINT = {"x": [0.0, 0.5, 0.5]}


def its_own(s: Solution) -> Mapping[str, Any]:
    """The multipliers of a solution's bound."""
    is_certified = shipped(s.program).written.certificate is not None
    return s.multipliers if is_certified else {"sensitivity": s.error_multipliers}


def sign(s: Solution) -> float:
    return 1.0 if s.sense == "minimize" else -1.0


@pytest.mark.parametrize("name", BOUNDED)
def test_every_shipped_program(name: str, rng: np.random.Generator) -> None:
    """Its bound at its own multipliers; others prove no more than a feasible point allows."""
    s = mmopt.solve(W, name)
    at = its_own(s)
    same = mmopt.bound_of(name, W, at)
    assert same.bound == pytest.approx(s.bound, rel=1e-9) and same.grade == s.bound_grade == "proved"
    assert repr(same).startswith("MultiplierBound(bound=")
    for spread in (0.1, 3.0):
        near = {key: y + spread * np.abs(y).max() * rng.normal(size=y.shape) for key, y in at.items()}
        other = mmopt.bound_of(name, W, near)
        assert other.bound is None or sign(s) * other.bound <= sign(s) * s.objective + 1e-9 * abs(s.objective)
        # Those it shows are in their cones, and prove the same.
        again = mmopt.bound_of(name, W, other.multipliers)
        assert again.why == other.why and (not other.bound) == bool(again.why)
        assert other.bound is None or again.bound == pytest.approx(other.bound, rel=1e-4)
    for key in same.multipliers:
        with pytest.raises(mmopt.OptionError, match=rf"missing: .*'{key.split('[')[0]}"):
            mmopt.bound_of(name, W, {n: y for n, y in same.multipliers.items() if n != key})
    with pytest.raises(mmopt.OptionError, match="has no multiplier 'nothing'"):
        mmopt.bound_of(name, W, {**at, "nothing": 1.0})


@pytest.mark.quick
def test_signs_are_clipped(rng: np.random.Generator) -> None:
    d = rng.normal(size=4)
    d[:2] = 1.0, -1.0
    one, other = (mmopt.bound_of("l2_strategy", W, {"d": y}) for y in (d, np.maximum(d, 0.0)))
    assert one.bound == other.bound
    assert np.array_equal(one.multipliers["sensitivity"], np.maximum(d, 0.0))
    # For W = I the certificate is (Σ √d)² / Σ d.
    assert mmopt.bound_of("l2_strategy", np.eye(2), {"d": [1, 9]}).bound == pytest.approx(1.6, rel=1e-12)


def test_multipliers_that_prove_nothing() -> None:
    nothing = mmopt.bound_of("l2_strategy", W, {"sensitivity": -np.ones(4)})
    assert (nothing.bound, nothing.why) == (
        0.0,
        "the certificate proves nothing better than 0 at these multipliers",
    )
    none = mmopt.bound_of("fitness_for_use", W, {"privacy": np.zeros(4), "accuracy": np.zeros(4)})
    assert (none.bound, none.grade, none.why) == (
        None,
        None,
        "the certificate has no finite value at these multipliers",
    )
    cone = mmopt.Program.parse(
        "program own\nchoose\n    x: vector[2]\nminimize\n    x[1]\nsubject to\n    c: norm(x) <= x[0]\n"
    )
    free = mmopt.bound_of(cone, None, {"c": 0.0}, point={"x": [1.0, 0.0]})
    assert free.bound is None and free.why.startswith("nothing says how large 'x' can be")


def test_a_certificate_of_ones_own_is_a_claim() -> None:
    """Also a wrong one, which a solve would try on points; that of a maximum is rounded up."""
    wrong = mmopt.Program.parse("program lp" + LINES + CLAIM.format("0.5 * y"))
    claimed = mmopt.bound_of(wrong, None, {"whole": 2.0, "most": 1.0})
    assert (claimed.bound, claimed.grade) == (pytest.approx(0.5), "claimed")
    right = mmopt.Program.parse("program lp" + LINES + CLAIM.format("0.5 * y + max(2, 3 - y)"))
    for y in (0.1, 0.3, 0.7):
        bound = mmopt.bound_of(right, None, {"y": y}).bound
        assert bound == pytest.approx(3 - y / 2) and Fraction(bound) >= 3 - Fraction(y) / 2


def test_other_neighbours_raise_the_bound_of_total_error() -> None:
    """The strategy may be as long as for one row where two may change: twice the sensitivity, 4 times."""
    text = shipped("toeplitz_strategy").written.text.replace("program toeplitz_strategy", "program own")
    assert "neighbours" not in text
    d = {"sensitivity": [1.0, 2.0, 3.0, 4.0]}
    one = mmopt.bound_of(mmopt.Program.parse(text), W, d)
    twice = mmopt.Program.parse(text + "\nneighbours\n    rows 2\n")
    two = mmopt.bound_of(twice, W, d)
    assert one.bound == mmopt.bound_of("l2_strategy", W, d).bound
    assert two.bound == 4 * one.bound  # type: ignore[operator]
    # That its objective is total error to those neighbours, only its author says.
    assert (one.grade, two.grade) == ("proved", "claimed")


def test_of_lines_exactly_these_multipliers_count(rng: np.random.Generator) -> None:
    at = {"whole": -2.0, "most": 1.0}
    best = mmopt.bound_of(LP, None, at, point=POINT)
    assert best.grade == "proved" and best.bound is not None and 2.5 <= best.bound <= 2.5 + 1e-12
    # The sign of an equation counts, and nothing is moved: what is left is charged with x <= 1, x[2] <= 0.5.
    for whole, most, bound in [(2.0, 1.0, None), (-1.995, 1.0, 2.495 + 0.0075), (-2.1, -1.0, 2.1 + 0.45)]:
        other = mmopt.bound_of(LP, None, {"whole": whole, "most": most}, point=POINT)
        assert other.bound is not None and other.multipliers["most"] == max(most, 0.0)
        assert other.bound > 2.6 if bound is None else other.bound == pytest.approx(bound, rel=1e-9)
    for _ in range(20):
        weak = {"whole": rng.normal(scale=3.0), "most": rng.normal(scale=3.0)}
        assert (bound := mmopt.bound_of(LP, None, weak, point=POINT).bound) is not None and bound >= 2.5


MATRICES = {
    "pair": "choose\n    x: scalar\n    y: scalar\nminimize\n    x + y\n"
    "subject to\n    c: [[x, 1], [1, y]] >> 0",
    "pairs": "choose\n    x: vector[n]\n    t: scalar\nminimize\n    sum(x) + t\n"
    "subject to\n    c: [[x[i], 2], [2, t]] >> 0 for i in n",
    "blocks": "choose\n    x: vector[n]\n    t: scalar\nminimize\n    t - sum(x)\n"
    "subject to\n    c: [[eye(n), x], [x.T, t]] >> 0",
    "scaled apart": "choose\n    X: symmetric[n, n]\nminimize\n    trace(X)\n"
    "subject to\n    c: [[X, W.T], [W, eye(m)]] >> 0",
    "symmetric": "choose\n    X: symmetric[n, n]\nminimize\n    trace(X)\n"
    "subject to\n    c: X >> W.T @ W\n    d: X >> 1e6 * eye(n)",
}


@pytest.mark.parametrize("text", MATRICES.values(), ids=MATRICES)
def test_multipliers_of_matrices(text: str) -> None:
    """The solver's prove its optimum; with a tenth less each they prove no more, though not nothing."""
    program = mmopt.Program.parse(f"program p\ngiven\n    W: matrix[m, n] = workload.matrix\n{text}")
    w = mmopt.Workload.from_matrix(1e3 * np.tri(3))
    s = mmopt.solve(w, program)
    at = s.multipliers
    assert {*at} == {c.name for c in program.constraints}
    bound = mmopt.bound_of(program, w, at, point=s.variables).bound
    assert bound == pytest.approx(s.objective, rel=1e-6) and bound <= s.objective
    less = {name: 0.9 * y for name, y in at.items()}
    other = mmopt.bound_of(program, w, less, point=s.variables).bound
    assert other is not None and other < s.objective


def test_multipliers_of_a_line_for_two_indices_come_as_a_solution_has_them() -> None:
    program = mmopt.Program.parse(
        "program own\nchoose\n    X: matrix[3, 3] >= 0\nmaximize\n    sum(X)\nsubject to\n"
        "    cap: X[i, j] <= i + 1 for i, j in 3 if |i - j| >= 1\n    rest: trace(X) <= 1\n"
    )
    s = mmopt.solve(None, program)
    assert s.multipliers["cap"].shape == (3, 3)
    for bound in (
        mmopt.bound_of(program, None, s.multipliers, point=s.variables).bound,
        mmopt.certify(program=program, point=s.variables, multipliers=s.multipliers, solve=False).bound,
    ):
        assert bound == pytest.approx(13.0, rel=1e-6)


REFUSED = [
    (
        lambda: mmopt.bound_of("fitness_for_use", W, {"p": np.ones(4)}),
        "the bound of 'fitness_for_use' has multipliers 'privacy', 'accuracy'; missing: 'accuracy'\n"
        "  a zero leaves a constraint out",
    ),
    (
        lambda: mmopt.bound_of("l2_strategy", W, {"sensitivity": np.ones(4), "d": np.ones(4)}),
        "the multiplier 'sensitivity' is given twice, also as 'd'",
    ),
    (
        lambda: mmopt.bound_of("l2_strategy", W, {"d": [1.0, np.nan, 1.0, 1.0]}),
        "the multiplier 'd' has shape (4,), expected finite numbers of shape (4,)",
    ),
    (
        lambda: mmopt.bound_of("l2_strategy", W, {"d": np.ones(4)}, point={"X": np.eye(4)}),
        "the point is not read: 'l2_strategy' is bounded by a certificate",
    ),
    (
        lambda: mmopt.bound_of(LP, None, {"most": 1.0}, point=POINT),
        "the bound of 'lp' has multipliers 'whole', 'most'; missing: 'whole'\n"
        "  a zero leaves a constraint out",
    ),
    (
        lambda: mmopt.bound_of(LP, None, {"most": 1.0, "whole": 1.0}),
        "'lp' has no certificate, so its bound is derived from its constraints near a point, and no point "
        "is given\n  pass point=…: a feasible one, such as the variables of a solution",
    ),
    (
        lambda: mmopt.bound_of("fitness_refined", W, {}),
        "'fitness_refined' has no certificate, so multipliers prove nothing\n"
        "  it is bounded by 'fitness_for_use': ask for the bound of that program",
    ),
]


def test_refused(subtests: pytest.Subtests) -> None:
    for call, said in REFUSED:
        with subtests.test(said):
            with pytest.raises(mmopt.Error) as caught:
                call()
            assert str(caught.value) == said
