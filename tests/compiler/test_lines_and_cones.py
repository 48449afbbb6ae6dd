"""The cones that are counted before anything is built are those that cvxpy hands over.

Guards ``mmopt/compiler/lines_and_cones.py`` and the cones of powers (``mmopt/language/atoms/rules.py``).
"""

from collections import Counter

import numpy as np
import pytest
from named_workloads import random_workload

from mmopt import Program, SolverError, Workload, solve
from mmopt.compiler import bind, coefficients, cones, lower, variables
from mmopt.language import program_names
from mmopt.language.atoms import rules
from mmopt.solvers.conic_problem import hand_over

CONVEX = [name for name in program_names() if Program.load(name).problem_class == "convex"]
MORE = """\
program more
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    X: psd[n, n]
    Z: psd[n, n]
    u: vector[m] >= 0
    v: vector[m]
    t: scalar
minimize
    t + sum(u) + trace(inv(X)) + trace(Z)
subject to
    top:     diag(X) <= 1
    bottom:  diag(Z) >= 1
    sums:    sum(v) == 1
    pairs:   [[u[j], 1], [1, t]] >> 0            for j in m
    blocks:  [[X, W[j, :].T], [W[j, :], u[j]]] >> 0 for j in m
    order:   Z << 2 * eye(n)
    queries: W[j, :] @ inv(X) @ W[j, :].T <= t   for j in m
    single:  [[u[0], v[0]], [v[0], 1]] >> 0
strategy
    factor(X) norm 2
"""


TRIAL = """program trial
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n] >= 0
    Y: matrix[m, n]
minimize
    {objective}
subject to
    small: x <= 3
    bounded: abs(Y) <= 1
    {line}
strategy
    eye(n) norm 2
"""
SHORT = "\n".join(line for line in TRIAL.split("\n") if "Y" not in line)
WORKLOAD = Workload.from_matrix(np.tri(4)[1:])
OBJECTIVES = (
    *("sum(exp(x))", "logsumexp(W @ x)", "sum(logsumexp(Y, axis=0))", "sum(logsumexp(Y, axis=1))"),
    *("-sum(log(x))", "sum(x**2)", "sum((W @ x)**2) + sum(1 / x)", "sum(x**-1)", "sum(x**1.5)"),
    *("-sum(x**0.3)", "sum(x**2.7)", "sum(x**-0.77)", "sum(x**3)", "sum(x**1)", "-sum(sqrt(x))"),
    *("1 / min(x)", "max(x) - min(x)", "sum(max(Y, axis=0))", "nuclear(Y)"),
    *("sum(abs(Y)) + sum(abs(Y + 1))", "sum(exp(abs(x)))", "-sum(x**(2 / 3))"),
)


def trial(objective: str, line: str = "", text: str = SHORT) -> Program:
    return Program.parse(text.format(objective=objective, line=line))


def check(program: Program, w: Workload) -> None:
    instance = bind(program, w)
    found = cones(instance.checked, instance.sizes())
    data, _, _ = lower(instance).problem.get_problem_data("CLARABEL", solver_opts={"use_quad_obj": False})
    dims = data["dims"]
    psd: Counter[int] = Counter()
    for cone in found:
        psd[cone.size] += cone.count if cone.kind == "psd" else 0
    assert +psd == Counter(dims.psd)
    kinds = ("zero", "nonnegative", "second-order", "exponential", "power")
    counted = [sum(c.count for c in found if c.kind == kind) for kind in kinds]
    assert counted == [dims.zero, dims.nonneg, len(dims.soc), dims.exp, len(dims.p3d)]
    assert variables(instance.checked, instance.sizes()) == data["c"].size


def test_counted_is_handed_over(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    targets = Workload.from_matrix(np.tri(4), targets=np.ones(4))
    for program in (Program.parse(MORE), *map(Program.load, CONVEX)):
        with subtests.test(program.name):
            check(program, targets)
            check(program, random_workload(rng))


@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
def test_counted_for_atoms_is_handed_over(subtests: pytest.Subtests) -> None:
    for place, objective in enumerate(OBJECTIVES):
        with subtests.test(objective):
            line = "each: exp(W[j, :] @ x) <= 9 for j in m" if place % 2 else ""
            check(trial(objective, line, TRIAL), WORKLOAD)


def test_simple_powers_are_second_order_and_others_power_cones() -> None:
    for exponent in (0.5, -0.5, 2.0, -1.0, 1.5, 3.0, 1 / 3, 0.25, -2.0, 8.0):
        assert rules.means_of_power(exponent) is not None
    for exponent in (0.3, 2.7, np.pi, 1 + 1e-6, -0.77):
        assert rules.means_of_power(exponent) is None
        assert rules.power_cones((5,), 5, exponent)[0] == ("power", 3, 5, 5)


def test_curved_atoms_are_solved(subtests: pytest.Subtests) -> None:
    """By Clarabel and SCS; and none loses a quadratic objective."""
    for objective, best in (
        ("sum(exp(x) - 2 * x)", np.log(2)),
        ("sum(x - log(x))", 1.0),
        ("sum(x**2.7 - x)", 2.7 ** (-1 / 1.7)),
        ("logsumexp(x - 2) - sum(x)", 3.0),  # every entry at its limit
        ("sum((x - 1)**2)", 1.0),
    ):
        for solver in (None, "scs", *["cvxopt", "qoco"] * ("x - 1" in objective)):
            with subtests.test(objective, solver=solver):
                s = solve(WORKLOAD, trial(objective), solver=solver)
                np.testing.assert_allclose(s.variables["x"], best, atol=1e-4)


def test_solvers_without_the_cone() -> None:
    for objective, solver, kind in (("exp(x)", "cvxopt", "exponential"), ("x**2.7", "qoco", "power")):
        with pytest.raises(SolverError) as refused:
            solve(WORKLOAD, trial(f"sum({objective})"), solver=solver)
        message = f"'trial' does not work with {solver}: it lacks the {kind} cone"
        assert str(refused.value) == f"{message}\n  these have it: clarabel, scs"


def test_cones_know_their_lines() -> None:
    w = Workload.from_matrix(np.tri(5), targets=np.ones(5))
    for name, expected in (
        ("l2_strategy", {("psd", 10, 1, "objective"), ("nonnegative", 1, 5, "sensitivity")}),
        (
            "fitness_for_use",
            {("psd", 10, 1, "privacy")} | {("nonnegative", 1, 5, x) for x in ("privacy", "accuracy")},
        ),
        (
            "query_weighting",
            {("second-order", 3, 5, "inverse")}
            | {("nonnegative", 1, 5, x) for x in ("sensitivity", "u", "v")},
        ),
    ):
        instance = bind(Program.load(name), w)
        found = cones(instance.checked, instance.sizes())
        assert {(c.kind, c.size, c.count, c.origin) for c in found} == expected


FIT = "given\n    A: matrix[m, n]\n    b: vector[m]\nchoose\n    x: vector[n] >= 0\n"


@pytest.mark.parametrize(
    "text",
    [
        FIT + "minimize\n    sum(x)\nsubject to\n    cover: A @ x >= b\n",
        FIT + "minimize\n    sum((A @ x - b)**2) + norm(x, 1)\n",
        FIT + "minimize\n    sum(x)\nsubject to\n    each: A[i, :] @ x >= b[i] for i in m\n",
        FIT + "maximize\n    logdet(A.T @ diag(y) @ A)\nsubject to\n    one: sum(y) + sum(x) <= 1\n",
        FIT.replace("x: vector[n] >= 0", "X: matrix[n, n]") + "minimize\n    norm(A @ X - A, fro)\n",
    ],
)
def test_coefficients_are_those_handed_over(text: str, rng: np.random.Generator) -> None:
    m, n = 150, 60
    # Of a determinant the cone has more entries than a product of few.
    share = 1.0 if "logdet" in text else rng.choice([1.0, 0.02])
    a = np.where(rng.random((m, n)) < share, rng.normal(size=(m, n)), 0.0)
    a[:n] += np.eye(n)
    program = Program.parse(
        "program p\n" + text.replace("vector[n] >= 0\nmax", "vector[n] >= 0\n    y: vector[m] >= 0\nmax")
    )
    instance = bind(program, Workload.from_matrix([[1.0]]), {"A": a, "b": np.ones(m)})
    handed = hand_over(lower(instance), "SCS").data["A"].nnz
    counted = coefficients(instance.checked, instance.env) - 0.125 * (a.size + m)
    assert handed / 2 <= counted <= 3 * handed


def test_a_low_rank_workload_needs_a_smaller_cone() -> None:
    instance = bind(Program.load("l2_strategy"), Workload.from_matrix(np.ones((1, 6))))
    (psd,) = (c for c in cones(instance.checked, instance.sizes()) if c.kind == "psd")
    assert psd.size == 7


def test_an_inverse_that_stands_twice_needs_one_cone() -> None:
    instance = bind(Program.parse(MORE), Workload.from_matrix(np.tri(3)))
    blocks = [
        c for c in cones(instance.checked, instance.sizes()) if c.origin == "queries" and c.kind == "psd"
    ]
    assert [(c.size, c.count) for c in blocks] == [(6, 1)]


def test_a_block_that_exceeds_a_matrix() -> None:
    """``[[…]] >> M`` is not ``[[…]] >> 0``, also for a block of four numbers (a second-order cone)."""
    for size in [2, 3]:
        entries = ", ".join(
            "[" + ", ".join("t" if i == j else "0" for j in range(size)) + "]" for i in range(size)
        )
        text = MORE[: MORE.index("subject to")] + f"subject to\n    block: [{entries}] >> 5 * eye({size})\n"
        text = text.replace("trace(Z)", "trace(Z) + sum(v**2)")
        text += "    top: diag(X) <= 1\nstrategy\n    factor(X) norm 2\n"
        lowered = lower(bind(Program.parse(text), Workload.from_matrix(np.tri(3))))
        lowered.problem.solve(solver="CLARABEL")
        assert lowered.variables["t"].value == pytest.approx(5.0, rel=1e-6)
