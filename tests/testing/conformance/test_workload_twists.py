"""The metamorphic cases: what they do to a workload, and when they say nothing.

Guards checks_and_report.py.
"""

import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.language import program_names
from mmopt.testing import conform, problem
from mmopt.testing.conformance.checks_and_report import RULES, TWISTS, Twist, why_not


def twist(name: str) -> Twist:
    (found,) = [each for each in TWISTS if each.name == name]
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize("program", RULES)
def test_every_rule_is_true(program: str) -> None:
    """All cases of every program that has a rule, by a conic solver, where the eigenvectors are unique."""
    report = conform(
        "clarabel", [program], ["signed", "random-ranges"], checks=["metamorphic"], twists=None, seed=1
    )
    assert report.holds, str(report)
    assert report.passed["metamorphic"] >= 8


def test_rules_are_of_programs_and_not_of_formulations() -> None:
    assert set(RULES) <= set(program_names())
    assert not [name for name in RULES if Program.load(name).formulation_of]


def test_what_they_keep(rng: np.random.Generator) -> None:
    w = problem("weighted").workload()
    for each in TWISTS:
        draws = [each.turn(w, rng) for _ in range(20)]  # one permutation may be none
        assert any(turned != w for turned in draws), each.name
        assert {turned.rank for turned in draws} == {w.rank}, each.name
    values = {each.name: each.turn(w, rng).eigenvalues for each in TWISTS}
    for name in ("cells in another order", "queries in another order, some negated", "queries rotated"):
        assert values[name] == pytest.approx(w.eigenvalues, rel=1e-12)
    assert values["every query twice"] == pytest.approx(2 * w.eigenvalues, rel=1e-12)
    assert values["queries times 1000"] == pytest.approx(1e6 * w.eigenvalues, rel=1e-12)
    looser = twist("every query again with a looser target").turn(w, rng)
    assert np.array_equal(looser.targets[: w.m], w.targets) and (looser.targets[w.m :] > w.targets).all()
    cells = twist("cells twice, and one of no query").turn(w, rng)
    assert cells.n > w.n and len(np.unique(cells.cell_classes)) == w.n + 1


def test_when_they_say_nothing() -> None:
    simple = Workload.from_matrix(np.diag([1.0, 2.0, 3.0]), targets=1.0)
    double = Workload.from_matrix(np.diag([1.0, 2.0, 2.0]), targets=1.0)
    design, own = Program.load("query_weighting"), Program.load("group_weighting")
    order = twist("cells in another order")
    assert why_not(order, design, simple) == ""
    assert why_not(order, design, double) == "the eigenvectors of the workload are not unique"
    assert why_not(order, Program.load("l2_strategy"), double) == ""
    assert why_not(order, own, simple) == "nothing is known of how 'group_weighting' depends on its workload"
    assert why_not(order, Program.load("fitness_dual"), double) == ""
    rotated, again = twist("queries rotated"), twist("every query again with a looser target")
    assert "Gram matrix" in why_not(rotated, Program.load("fitness_for_use"), simple)
    assert "targets" in why_not(again, Program.load("l2_strategy"), simple)
    assert why_not(again, Program.load("fitness_for_use"), simple) == ""
