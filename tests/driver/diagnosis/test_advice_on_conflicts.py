"""The repair that is shown for a line restores it at any point."""

from __future__ import annotations

import numpy as np
import pytest
from cases import with_targets

from mmopt import Program
from mmopt.compiler import bind
from mmopt.driver.diagnosis.advice_on_conflicts import repair_for
from mmopt.driver.judge.score_point import FEASIBLE, candidate
from mmopt.driver.judge.violations import Violation, violations

pytestmark = pytest.mark.quick

SHOWN = [
    ("l2_strategy", "sensitivity", "X = X / max(diag(X))"),
    ("fitness_for_use", "accuracy", "Sigma = Sigma / max(diag(L @ Sigma @ L.T) / c)"),
    ("fitness_for_use", "privacy", "alpha = max(diag(B.T @ inv(Sigma) @ B))"),
]


@pytest.mark.parametrize(("name", "line", "repair"), SHOWN, ids=[f"{n} {line}" for n, line, _ in SHOWN])
def test_what_is_shown_restores(name: str, line: str, repair: str, rng: np.random.Generator) -> None:
    workload = with_targets(np.tri(4))
    instance = bind(Program.load(name), workload)
    assert repair_for(instance, Violation(line, "constraint", 1.0)) == f", for example: {repair}"
    text = instance.program.text
    start, end = text.index("\nrepair"), text.index("\n\n", text.index("\nrepair"))
    own = bind(Program.parse(f"{text[:start]}\nrepair\n    {repair}{text[end:]}"), workload)
    root = rng.normal(size=(4, 4))
    point = {"X": root @ root.T, "Sigma": root @ root.T, "alpha": np.array(0.1)}
    found = candidate(own, {d.name: point[d.name] for d in own.program.choose})
    missed = next(v for v in violations(own, found.variables) if v.name == line)
    assert missed.amount <= FEASIBLE


@pytest.mark.parametrize(("name", "line"), [("l2_strategy_lmi", "lmi"), ("query_weighting", "inverse")])
def test_a_line_of_another_form_gets_the_usual_example(name: str, line: str) -> None:
    instance = bind(Program.load(name), with_targets(np.tri(4)))
    assert repair_for(instance, Violation(line, "constraint", 1.0)) == (
        " (assignments such as X = X / max(diag(X)), which restores diag(X) <= 1)"
    )
