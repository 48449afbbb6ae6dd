"""An objective is an estimate where it is made of what somebody rounded and nobody bounded."""

import numpy as np
import pytest

from mmopt import Program, Solution, Workload, baseline, certify, solve

pytestmark = pytest.mark.quick

PREFIX = Workload.from_matrix(np.tri(4))
# More queries than cells, and not whole: the root is a QR factor, the Gram matrix a rounded sum.
ROUNDED = Workload.from_matrix(np.random.default_rng(0).normal(size=(9, 3)))
LINES = """
subject to
    sensitivity: diag(X) <= 1
repair
    X = X / max(diag(X))
strategy
    factor(X) norm 2
from strategy A: matrix[p, n]
    X = A.T @ A
"""


def judged(workload: Workload, given: str, objective: str, klass: str = "convex", lines: str = LINES) -> str:
    text = f"program own\nclass {klass}\ngiven\n    {given}\nchoose\n    X: psd[n, n]\n{objective}{lines}"
    identity = baseline("identity", workload)
    found: Solution = certify(workload, identity, Program.parse(text), solve=False)
    return str(found.objective_grade)


def test_of_a_gram_matrix_that_is_a_rounded_sum(subtests: pytest.Subtests) -> None:
    for workload, grade in [(PREFIX, "proved"), (ROUNDED, "estimated")]:
        with subtests.test(grade):
            objective = "minimize\n    trace(inv(X) @ G)"
            assert judged(workload, "G: psd[n, n] = workload.gram", objective, "smooth") == grade
            found = solve(workload, "min_sensitivity_rotation", starts=1)
            assert (found.bound_grade, found.status.bound_valid) == (grade, grade == "proved")


def test_of_eigenvalues() -> None:
    givens = "Q: matrix[h, n] = workload.eigenqueries\n    e: vector[h] = workload.eigenvalues"
    assert judged(PREFIX, givens, "minimize\n    trace(inv(X)) + sum(1 / e)") == "estimated"


def test_of_a_root_in_an_objective_below_zero(subtests: pytest.Subtests) -> None:
    for sense in ["maximize\n    -", "minimize\n    -1000 + "]:
        with subtests.test(sense):
            given, objective = "W: matrix[r, n] = workload.root", f"{sense}trace(W @ inv(X) @ W.T)"
            assert judged(PREFIX, given, objective) == "proved"
            assert judged(ROUNDED, given, objective) == "estimated"


def test_of_steps_and_of_defaults() -> None:
    """1 is lost beside 1e20."""
    root, total = "    W: matrix[r, n] = workload.root\n", "trace(W @ inv(X) @ W.T)"
    steps = (
        f"program own\nclass procedure\ngiven\n{root}steps\n    first = solve(l2_strategy)\n"
        "    a = first.objective + 1e20\n    b = a - 1e20\n"
        "minimize\n    b + 1\nstrategy\n    first.strategy norm 2\n"
    )
    assert solve(PREFIX, Program.parse(steps)).objective_grade == "estimated"
    default = (
        f"program own\nclass convex\ngiven\n{root}parameter\n    a = (trace(W @ W.T) + 1e20) - 1e20\n"
        f"choose\n    X: psd[n, n]\nminimize\n    {total} + a{LINES}"
    )
    found = certify(PREFIX, baseline("identity", PREFIX), Program.parse(default), solve=False)
    assert found.objective_grade == "estimated" or found.objective >= 10 + 10


def test_of_a_block_that_is_to_be_nonnegative_entry_by_entry() -> None:
    """As a psd block it would say nothing of the sign of x."""
    text = (
        "program own\nclass convex\ngiven\n    W: matrix[r, n] = workload.root\nchoose\n    X: psd[n, n]\n"
        "    x: scalar\n    z: scalar\nminimize\n    trace(W @ inv(X) @ W.T) + 1e11 * x" + LINES
    )
    text = text.replace("repair\n", "    block: [[z, x], [x, z]] >= 0\n    top: z <= 1\nrepair\n")
    text = text.replace("max(diag(X))\n", "max(diag(X))\n    x = 0 - 5e-11\n    z = 1\n")
    text += "    x = 0 - 5e-11\n    z = 1\n"
    identity = baseline("identity", PREFIX)
    assert certify(PREFIX, identity, Program.parse(text), solve=False).objective_grade == "estimated"
    assert certify(PREFIX, identity, "l2_strategy", solve=False).objective_grade == "proved"
