"""Which line a point misses the most, where, and by how much.

Guards violations_and_nearby_points.py, score_and_meaning.py.
"""

import numpy as np
import pytest
from named_workloads import with_targets
from tolerances import ROUNDING

from mmopt import Program, Workload, certify, solve
from mmopt.compiler import Instance, bind
from mmopt.driver.judge.score_and_meaning import candidate
from mmopt.driver.judge.violations_and_nearby_points import violations, worst_line
from mmopt.errors import OptionError
from mmopt.language import violation, worst

LINES = """\
program own
title "Mine"
source "A notebook"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    X: psd[n, n]
    u: vector[m] >= 0
    t: scalar
minimize
    t
subject to
    lmi:         [[X, W[j, :].T], [W[j, :], u[j]]] >> 0   for j in m
    sensitivity: diag(X) <= 1
    each:        u[j] <= t   for j in m
    sum:         trace(X) == 2
    entries:     X <= 1
strategy
    factor(X) norm 2
""".replace("    sum: ", "    all: ")


def instance() -> Instance:
    return bind(Program.parse(LINES), with_targets(np.tri(3)))


def point(**changes: object) -> dict[str, object]:
    known: dict[str, object] = {"X": np.eye(3) * 2 / 3, "u": np.array([10.0, 10.0, 10.0]), "t": 10.0}
    return {**known, **changes}


def test_a_point_that_keeps_every_line() -> None:
    found = violations(instance(), point())
    assert [v.amount for v in found] == sorted((v.amount for v in found), reverse=True)
    assert {v.name for v in found} == {"lmi", "sensitivity", "each", "all", "entries", "X", "u"}
    assert found[0].amount <= ROUNDING and worst_line(instance(), point(t=11.0)) is None


def test_the_line_that_is_missed_the_most(subtests: pytest.Subtests) -> None:
    for changes, text, amount in [
        ({"X": np.diag([0.5, 1.5, 0.0]) + 1e-3}, "constraint 'sensitivity' (cell 1)", 0.501 / 2.501),
        ({"t": 8.0}, "constraint 'each' for j = 0 (query 0)", 1 / 9),
        ({"u": np.array([10.0, 12.0, 10.0]), "t": 10.0}, "constraint 'each' for j = 1 (query 1)", 1 / 11),
        ({"X": np.eye(3) / 2}, "constraint 'all'", 1 / 7),
        ({"u": np.array([10.0, 10.0, -5.0])}, "'u', declared >= 0,", 1.0),
    ]:
        with subtests.test(text=text, amount=amount):
            bound = instance()
            named = {v.text(bound): v.amount for v in violations(bound, point(**changes))}
            assert named[text] == pytest.approx(amount, rel=1e-3)


def test_a_matrix_inequality_and_an_entry() -> None:
    bound = instance()
    line = worst_line(bound, point(u=np.array([10.0, 10.0, 0.1])))
    assert line.text(bound) == "constraint 'lmi' for j = 2 (query 2)"
    x = np.eye(3) * 2 / 3
    x[0, 2] = x[2, 0] = 3.0
    entries = next(v for v in violations(bound, point(X=x)) if v.name == "entries")
    assert (entries.entry, entries.amount) == ((0, 2), pytest.approx(1 / 2))
    named = next(v for v in violations(bound, point(X=-np.eye(3))) if (v.name, v.kind) == ("X", "psd"))
    assert named.text(bound) == "'X', declared psd," and named.amount == 1.0


def test_no_number_is_no_point() -> None:
    line = worst_line(instance(), point(u=np.array([10.0, np.nan, 10.0])))
    assert line.amount == np.inf


def test_what_a_line_does_not_use_has_to_have_a_value(subtests: pytest.Subtests) -> None:
    """The bound is derived with the whole domain of the atom: a point outside would be below it."""
    w = Workload.from_matrix(np.eye(2))
    head = "program own\nchoose\n    y: vector[2]\nminimize\n    y[1]\nsubject to\n"
    text = f"{head}    low: y >= -9\n    one: "
    for line, said in [
        ("sqrt(y)[0] >= 1", "'sqrt(y)' has none at entry 1"),
        ("log(2 + y)[0] >= 0", "'log(2 + y)' has none at entry 1"),
    ]:
        with subtests.test(line=line, said=said):
            program = Program.parse(text + line)
            found = solve(w, program)
            assert found.bound_grade == "proved" and found.bound is not None
            assert found.bound > -4.0 or "log" in line  # that of a logarithm happens to be the line 'low'
            y = {"y": np.array([2.0, -4.0])}
            worst_of_all = worst_line(bind(program, w), y)
            assert worst_of_all.amount == np.inf
            with pytest.raises(OptionError) as error:
                certify(w, program=program, point=y, solve=False)
            assert str(error.value) == (
                "the point gives no feasible point of 'own': after its repair it gives constraint 'one' no "
                f"finite value: {said}\n  give the program a 'repair' that makes any point feasible"
            )


@pytest.mark.quick
def test_nor_has_an_objective_a_value_without() -> None:
    text = "program own\nchoose\n    y: vector[2]\nmaximize\n    sqrt(y)[0]\nsubject to\n    high: y <= 9\n"
    with pytest.raises(OptionError) as error:
        certify(np.eye(2), program=Program.parse(text), point={"y": np.array([2.0, -4.0])}, solve=False)
    assert str(error.value) == "the point has no finite objective in 'own': 'sqrt(y)' has none at entry 1"


def test_the_worst_is_what_is_certified(rng: np.random.Generator) -> None:
    """One definition: the violation of the solver's point in the status is the largest of all lines."""
    bound = bind(Program.load("l2_strategy_lmi"), Workload.from_matrix(np.tri(4)))
    root = rng.normal(size=(4, 4))
    values = {"X": root @ root.T, "u": rng.uniform(0, 3, size=4)}
    lines = violations(bound, values)
    assert candidate(bound, values).before == max(0.0, lines[0].amount)
    chosen = frozenset(values)
    for c in bound.program.constraints:
        amount, entry = worst(c, {**bound.env, **values}, chosen)
        assert violation(c, {**bound.env, **values}, chosen) == max(amount, 0.0)
        assert next(v for v in lines if v.name == c.name).entry == entry


def test_zero_is_not_positive() -> None:
    for sign, amount in ((">", 1.0), (">=", 0.0)):
        text = f"program own\nchoose\n    x: vector[2] {sign} 0\nminimize\n    sum(x)\n"
        bound = bind(Program.parse(text), Workload.from_matrix(np.eye(2)))
        found = violations(bound, {"x": np.array([1.0, 0.0])})[0]
        assert (found.kind, found.amount) == ("sign", amount)
        assert not amount or found.text(bound) == "'x', declared > 0,"


def test_a_miss_that_nothing_measures_has_no_digits() -> None:
    """Where terms are next to 0 no part of them is enough: the quotient would be the largest float."""
    program = Program.parse(
        "program p\nchoose\n    x: scalar\nminimize\n    x\nsubject to\n    a: [[x, 1], [1, 0]] >> 0"
    )
    instance = bind(program, Workload.from_matrix([[1.0]]), {})
    first, *_ = violations(instance, {"x": np.ones(())})
    assert first.missed(instance) == (
        "violates constraint 'a', whose terms are too near 0 for a relative measure"
    )
