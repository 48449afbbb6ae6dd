"""The repair that is shown for a line restores it at any point.

Guards diagnose.py.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from named_workloads import with_targets

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.driver.diagnosis.diagnose import infeasible, repair_for
from mmopt.driver.judge.score_point import FEASIBLE, candidate
from mmopt.driver.judge.violations import Violation, violations
from mmopt.language import check
from mmopt.solvers import Proof

WORKLOAD = with_targets(np.tri(4))
USUAL = " (assignments such as X = X / max(diag(X)), which restores diag(X) <= 1)"
SHOWN = [
    ("l2_strategy", "sensitivity", "X = X / max(diag(X))"),
    ("fitness_for_use", "accuracy", "Sigma = Sigma / max(diag(L @ Sigma @ L.T) / c)"),
    ("fitness_for_use", "privacy", "alpha = max(diag(B.T @ inv(Sigma) @ B))"),
]


def test_what_is_shown_restores(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for name, line, repair in SHOWN:
        with subtests.test(name=name, line=line):
            instance = bind(Program.load(name), WORKLOAD)
            assert repair_for(instance, Violation(line, "constraint", 1.0)) == f", for example: {repair}"
            text = instance.program.text
            start, end = text.index("\nrepair"), text.index("\n\n", text.index("\nrepair"))
            own = bind(Program.parse(f"{text[:start]}\nrepair\n    {repair}{text[end:]}"), WORKLOAD)
            root = rng.normal(size=(4, 4))
            point = {"X": root @ root.T, "Sigma": root @ root.T, "alpha": np.array(0.1)}
            found = candidate(own, {d.name: point[d.name] for d in own.program.choose})
            missed = next(v for v in violations(own, found.variables) if v.name == line)
            assert missed.amount <= FEASIBLE


OWN = """program own
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    line: {line}
strategy
    factor(X) norm 2
"""
LINES = [
    ("1 >= diag(X)", "X = X / max(diag(X))"),
    ("diag(X) >= 2", "X = X / min(diag(X) / 2)"),
    ("trace(X) <= 3", "X = X / (trace(X) / 3)"),
    ("trace(X) >= 3", "X = X / (trace(X) / 3)"),
    # What is outside the band is 0 on both sides.
    ("X[i, j] >= 1 for i, j in n if |i - j| == 1", ""),
    ("X[i, j] <= 1 for i, j in n if i < j", ""),
    # The least sum may be negative, and the 1 is not scaled.
    ("W @ diag(X) >= 1", ""),
    ("diag(X) + 1 <= 3", ""),
    ("diag(X) >= -2", ""),
]


def test_a_repair_is_shown_where_it_restores_the_line(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for line, repair in LINES:
        with subtests.test(line=line, repair=repair):
            text = OWN.format(line=line)
            words = repair_for(bind(Program.parse(text), WORKLOAD), Violation("line", "constraint", 1.0))
            if not repair:
                assert words == USUAL
                continue
            assert words == f", for example: {repair}"
            own = bind(Program.parse(f"{text}repair\n    {repair}\n"), WORKLOAD)
            for size in (0.01, 1.0, 100.0):
                root = size * rng.normal(size=(4, 4))
                assert candidate(own, {"X": root @ root.T}).after <= FEASIBLE


def test_a_line_of_another_form_gets_the_usual_example() -> None:
    for name, line in [("l2_strategy_lmi", "lmi"), ("query_weighting", "inverse")]:
        assert repair_for(bind(Program.load(name), WORKLOAD), Violation(line, "constraint", 1.0)) == USUAL


@pytest.mark.quick
def test_a_proof_says_how_far_it_reaches(subtests: pytest.Subtests) -> None:
    """In the program's own unit; beyond, rounding of what is large may hide a point."""
    head = "program own\ngiven\n    u: vector[m]\nchoose\n    x: vector[m]\n"
    program = check(Program.parse(f"{head}minimize\n    sum(x)\nsubject to\n    top: x <= u\n"))
    instance = bind(program, Workload.from_matrix(np.eye(1)), {"u": np.array([0.99, -1e6])})
    ground: Any = SimpleNamespace(parts={"top": SimpleNamespace(kind="constraint", name="top")})
    for residual, unit, far in [(7e-14, 1.0, "1e+13"), (7e-14, 1e-6, "1e+07"), (0.0, 1.0, "")]:
        with subtests.test(residual=residual, unit=unit):
            proof = Proof(1.0, residual, 1.0)
            conflict: Any = SimpleNamespace(rows={"top": None}, minimal=True, proof=proof, each=(), all=())
            limit = far and f" with numbers up to {far}"
            reach = far and f", for points whose entries and values of atoms are at most {far}"
            assert str(infeasible(instance, ground, conflict, unit)) == (
                f"'own' has no feasible point{limit}: 'top' cannot hold\n"
                f"  proved by multipliers with a residual of {residual:.0e}{reach}"
            )
