"""Programs without a solution: which lines are at fault, what to change, and no claim that is not so.

Guards conflicts_and_growth.py, elastic_form.py.
"""

import itertools
import re
from typing import Any

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt import Program, SolverError, Workload, solve
from mmopt.compiler import bind, scale
from mmopt.driver.diagnosis.diagnose import explain_failure
from mmopt.driver.diagnosis.elastic_form import everything, ground, probe
from mmopt.driver.judge.score_point import FEASIBLE
from mmopt.driver.judge.violations import violations
from mmopt.language import worst
from mmopt.language.syntax.syntax_tree import Constraint
from mmopt.limits import Stop
from mmopt.solvers import Clock, Point

HEAD = """\
program own
title  "Mine"
source "A notebook"
class  convex
given
    W: matrix[r, n] = workload.root
    B: matrix[k, n] = workload.basis
    L: matrix[m, k] = workload.representation
    c: vector[m] > 0 = workload.targets
choose
"""
FITNESS = """\
    Sigma: psd[k, k]
minimize
    trace(L @ Sigma @ L.T)
subject to
    privacy:  B[:, i].T @ inv(Sigma) @ B[:, i] <= 0.1   for i in n
    accuracy: L[j, :] @ Sigma @ L[j, :].T <= c[j]       for j in m
covariance
    Sigma on B
"""
VECTOR = """\
    u: vector[n]{sign}{others}
minimize
    {objective}
subject to
    {lines}
strategy
    eye(n) norm 2
"""
MATRIX = """\
    X: psd[n, n]
minimize
    {objective}
subject to
    {lines}
strategy
    factor(X) norm 2
"""
PREFIX = np.tri(4)
WORKLOAD = Workload.from_matrix(PREFIX, targets=1.0)
PROOF = re.compile(
    r"  proved by multipliers with a residual of \de-\d\d(, for points whose entries and values of atoms are "
    r"at most \de\+\d\d)?"
)


def fitness() -> str:
    return HEAD + FITNESS


def vector(*lines: str, objective: str = "sum(u)", sign: str = "") -> str:
    """Constraints on a vector u, and on numbers x and y where they occur."""
    text = " ".join([*lines, objective])
    others = "".join(f"\n    {name}: scalar" for name in "xy" if re.search(rf"\b{name}\b", text))
    return HEAD + VECTOR.format(sign=sign, others=others, objective=objective, lines="\n    ".join(lines))


def matrix(*lines: str, objective: str = "trace(W @ inv(X) @ W.T)") -> str:
    return HEAD + MATRIX.format(objective=objective, lines="\n    ".join(lines))


def refusal(text: str, workload: Workload = WORKLOAD, **options: Any) -> list[str]:
    with pytest.raises(SolverError) as refused:
        solve(workload, Program.parse(text), **options)
    return without_reach(str(refused.value)).splitlines()


PAIR = "cannot hold together"
# Each with what is said of it, and for every way out the change in the text that it stands for.
INFEASIBLE: dict[str, tuple[str, str, str, list[tuple[str, str]]]] = {
    "privacy against accuracy": (
        fitness(),
        f"'privacy' (cell 0) and 'accuracy' (query 0) {PAIR}",
        "relax 'privacy' to 17.7 times its limit, relax 'accuracy' to 17.7 times its "
        "limit, or leave one of them out",
        [("<= 0.1", "<= {} * 0.1"), ("<= c[j]", "<= {} * c[j]")],
    ),
    "two equalities": (
        vector("one: sum(u) == 1", "two: sum(u) == 2", "low: u >= -10"),
        f"'one' and 'two' {PAIR}",
        "let 'one' be missed by up to 1.01, let 'two' be missed by up to 1.01, or leave one of them out",
        [("sum(u) == 1", "abs(sum(u) - 1) <= {}"), ("sum(u) == 2", "abs(sum(u) - 2) <= {}")],
    ),
    "an empty box": (
        vector("low: u[2] >= 2", "high: u[j] <= 1 for j in n", "other: u >= -1"),
        f"'low' and 'high' (cell 2) {PAIR}",
        "relax 'low' to 0.499 times its limit, relax 'high' to 2.01 times its limit, "
        "or leave one of them out",
        [(">= 2", ">= {} * 2"), ("<= 1 for", "<= {} * 1 for")],
    ),
    "psd": (
        matrix("cap: X << 0.5 * eye(n)", "unit: diag(X) >= 1"),
        f"'cap' and 'unit' (cell 0) {PAIR}",
        "relax 'cap' to 2.01 times its limit, relax 'unit' to 0.498 times its limit, "
        "or leave one of them out",
        [("0.5 *", "{} * 0.5 *"), (">= 1", ">= {} * 1")],
    ),
    "a sign": (
        vector("total: sum(u) == -1", sign=" >= 0"),
        f"'total' and the declaration of 'u' as >= 0 {PAIR}",
        "let 'total' be missed by up to 1.01, declare 'u' without >= 0 (down to -0.251 is enough), "
        "or leave one of them out",
        [("sum(u) == -1", "abs(sum(u) + 1) <= {}"), (" >= 0\nmin", "\nmin")],
    ),
    "a psd declaration": (
        matrix("low: trace(X) <= -1", objective="sum(diag(X))"),
        f"'low' and the declaration of 'X' as psd {PAIR}",
        "let 'low' be missed by up to 1.01, declare 'X' symmetric (eigenvalues down to -0.251 "
        "are enough), or leave one of them out",
        [("<= -1", "<= -1 + {}")],
    ),
    "one line": (
        vector("never: abs(u) <= -1", "low: u >= -10"),
        "'never' (cell 0) cannot hold",
        "let 'never' be missed by up to 1.01 or leave it out",
        [("<= -1", "<= -1 + {}")],
    ),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("case", INFEASIBLE)
def test_the_lines_that_cannot_hold_together(case: str, solver: str) -> None:
    text, conflict, ways, _ = INFEASIBLE[case]
    first, hint, proof = refusal(text, solver=solver)
    if case == "privacy against accuracy":  # any query: which one it is, rounding decides
        first = re.sub(r"query \d", "query 0", first)
    assert first == f"'own' has no feasible point: {conflict}"
    assert hint == f"  {ways}"
    assert PROOF.fullmatch(proof)


def stated(hint: str) -> list[str]:
    """The amounts in the ways out, in their order."""
    return re.findall(r"(?:' to|up to|down to) -?([0-9.e+-]+[0-9])", hint)


def has_a_point(text: str) -> bool:
    """Whether the elastic program finds a point that keeps every line, in floats."""
    instance = bind(Program.parse(text), WORKLOAD)
    scaled, scaling = scale(instance)
    lines = ground(scaled)
    with Clock(60.0) as clock:
        found = probe(lines, everything(lines), clock)
    values = {n: v * scaling.variables[n] for n, v in found.point.items()}
    return max(v.amount for v in violations(instance, values)) <= FEASIBLE


@pytest.mark.some(1)
@pytest.mark.parametrize("case", INFEASIBLE)
def test_what_is_stated_suffices_and_less_does_not(case: str) -> None:
    text, _, ways, changes = INFEASIBLE[case]
    assert not has_a_point(text)
    for amount, (old, new) in zip(stated(ways), changes, strict=False):
        assert text.count(old) == 1, old
        assert has_a_point(text.replace(old, new.format(amount)))
        if "{}" in new:
            less = float(amount) * (1.03 if float(amount) < 1 else 0.97)
            assert "has no feasible point" in told(text.replace(old, new.format(less)), "infeasible")


@pytest.mark.some(1)
@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_the_scale_of_the_workload_changes_nothing(factor: float) -> None:
    scaled = Workload.from_matrix(factor * PREFIX, targets=factor**2)
    assert refusal(fitness(), scaled)[:2] == refusal(fitness())[:2]
    text = matrix("cap: X << 0.5 * eye(n)", "unit: diag(X) >= 1")
    assert refusal(text, scaled)[:2] == refusal(text)[:2]


def test_two_conflicts_at_once() -> None:
    """No line alone makes room, so all that has to give way is said."""
    text = vector("low: u >= 2", "high: u <= 1", "total: x >= 3", "least: x <= 1", "other: y >= 0")
    first, hint, _ = refusal(text)
    assert re.fullmatch(r"'own' has no feasible point: '\w+'.* and '\w+'.* cannot hold together", first)
    assert hint.startswith("  relax '") and " and relax '" in hint and "leave" not in hint


def test_queries_go_by_their_labels(tmp_path: Any) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "domain:\n  sex: {values: [F, M]}\n"
        "workload:\n  - {name: by sex, marginal: [sex], max_variance: 1.0}\n",
        encoding="utf-8",
    )
    first = refusal(fitness(), Workload.load(path))[0]
    assert first in [
        f"'own' has no feasible point: 'privacy' (cell 'sex={s}') and 'accuracy' (query 'sex={s}') {PAIR}"
        for s in "FM"
    ]


def test_unbounded(subtests: pytest.Subtests) -> None:
    large = matrix("free: diag(X) >= 0", objective="-trace(X)")
    number = vector("low: u >= 0", "high: u <= 1", "cap: y <= 1", objective="x")
    two = vector("a: y <= x", "b: u <= 1", objective="x - 2 * y")
    amount = r"-?[\d.e+]+"
    above = vector("low: u >= 0", objective="sum(u)").replace("minimize", "maximize")
    for solver, text, names, moves, cap in [
        ("clarabel", large, "'X' growing", "falls", "diag(X) <= 1"),
        ("scs", number, "'x' falling", "falls", "x >= 0"),
        ("clarabel", two, "'x' and 'y' growing together", "falls", "x <= 1 or y <= 1"),
        ("scs", above, "'u' growing", "rises", "u <= 1"),
    ]:
        with subtests.test(names):
            first, hint = refusal(text, solver=solver)
            start = f"'own' seems unbounded: every constraint holds with {names}, while "
            way = rf"the objective {moves} from {amount} to {amount} \(followed to entries of \de\+\d+\)"
            assert re.fullmatch(re.escape(start) + way, first)
            assert hint == f"  add a constraint such as {cap}, or check the sign of the objective"


def test_a_line_of_several_numbers_gives_way_by_the_least_that_each_may_miss() -> None:
    """As a linear program says: 18, where no number is missed by more; 34 in all."""
    own = Program.parse(
        "program t\ngiven\n    A: matrix[m, n] = workload.matrix\n    b: vector[m]\nchoose\n    x: vector[n]"
        "\nminimize\n    sum(x)\nsubject to\n    c: A @ x == b\n    d: x >= 5\n"
    )
    given = Workload.from_matrix([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
    with pytest.raises(SolverError) as refused:
        solve(given, own, givens={"b": np.array([1.0, 2.0, 3.0])})
    assert "let 'c' be missed by up to 18.1 or leave it out" in str(refused.value)


def told(text: str, word: str, workload: Workload = WORKLOAD) -> str:
    """What is said when a solver says ``word``, whatever the truth is."""
    instance = bind(Program.parse(text), workload)
    last = Point({}, {}, 1, "Whatever", Stop(word))
    return str(explain_failure(instance, scale(instance), "solver", last, None))


def test_a_solver_that_is_wrong_is_not_believed() -> None:
    lines = told(vector("low: u >= 1", "high: u <= 2"), "infeasible").splitlines()
    assert re.fullmatch(
        r"solver says that 'own' is infeasible \(Whatever\), and it is not: a point that keeps every "
        r"constraint was found \(objective [\d.]+, entries up to \d\)",
        lines[0],
    )
    assert (
        lines[1] == "  try another solver, or write the constraints in units in which the numbers are near 1"
    )
    lines = told(vector("low: u >= 1", "high: u <= 2"), "unbounded").splitlines()
    assert lines[0] == (
        "not decided: solver says that 'own' is unbounded (Whatever), and no point that keeps every line was "
        "found from which the objective gets better without end"
    )


BADLY_SCALED = [
    ("a: 1e-9 * x >= 1", "b: x <= 1.001e9"),
    ("a: 1e-12 * x >= 1", "b: sum(u) >= 1e-12 * x", "c: x <= 1e13"),
    ("a: 1e-7 * x >= 1", "b: 1e-7 * y >= x", "c: sum(u) >= 1e-7 * y"),
    ("a: x >= 1e8", "b: y >= 1e8 * x"),
    ("a: u >= 1e-7", "b: u <= 1.000001e-7", "c: 1e6 * x >= sum(u)"),
]


def test_what_is_badly_scaled_is_never_called_infeasible(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    """Every one has a feasible point, which solvers miss; nobody may claim the contrary."""
    for at, solver in zip(rng.permutation(len(BADLY_SCALED))[:3], itertools.cycle(["clarabel", "scs"])):
        lines = BADLY_SCALED[at]
        with subtests.test(lines[0]):
            assert "has no feasible point" not in told(vector(*lines), "infeasible")
            try:
                assert solve(WORKLOAD, Program.parse(vector(*lines)), solver=solver).status.feasible
            except SolverError as error:
                assert "has no feasible point" not in str(error)


def test_no_claim_against_a_point_that_is_known(rng: np.random.Generator) -> None:
    """Random inequalities around a point, with rows and unknowns of very different sizes."""
    for _ in range(3):
        point = 10.0 ** rng.uniform(-4, 4, size=3)
        lines = []
        for k in range(4):
            row = rng.normal(size=3) / point * 10.0 ** rng.uniform(-5, 5)
            limit = row @ point + 1e-3 * abs(row) @ point
            lines.append(f"c{k}: {row[0]!r} * u[0] + {row[1]!r} * x + {row[2]!r} * y <= {float(limit)!r}")
        text = vector(*(line.replace("np.float64", "") for line in lines))
        assert "has no feasible point" not in told(text, "infeasible")


def test_stopped_early_without_a_point(subtests: pytest.Subtests) -> None:
    """Feasible, but one iteration does not find it."""
    text = fitness().replace("0.1 ", "2.0 ")
    for solver in ["clarabel", "scs"]:
        with subtests.test(solver):
            first, hint = refusal(text, solver=solver, time_limit=1e-6)
            place = r"constraint '(privacy' for i|accuracy' for j) = \d \((cell|query) \d\)"
            how = rf"(misses {place} by [\d.e+-]+, relatively|gives {place} no finite value)"
            assert re.fullmatch(rf"the point of {solver} for 'own' {how} \(.*\)", first)
            assert "  give the program a 'repair' that restores '" in hint
            assert hint.endswith("or allow more time or iterations, or try another solver")


def test_a_point_that_is_far_off_is_moved_inside() -> None:
    text = fitness().replace("0.1 ", "2.0 ")
    s = solve(WORKLOAD, Program.parse(text), solver="scs", max_iterations=1)
    assert s.status.feasible and s.objective_grade == "proved"


def test_what_is_said_of_a_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown where there is none, as the line's form tells, and blamed where it does not restore."""
    monkeypatch.setattr("mmopt.driver.derive.moved_inside", lambda instance, point, clock, tolerance: point)
    text = matrix("sensitivity: diag(X) <= 1")
    first, hint = refusal(text, solver="scs", max_iterations=10)
    assert first.startswith("the point of scs for 'own' misses constraint 'sensitivity' (cell ")
    assert first.endswith(
        ", relatively (solved (inaccurate - reached max_iters)); no point near it, or on the way inside of "
        "all lines, keeps them"
    )
    more = "allow more time or iterations, or try another solver"
    repair = "X = X / max(diag(X))"
    restores = "restores 'sensitivity'"
    assert hint == f"  give the program a 'repair' that {restores}, for example: {repair}, or {more}"
    repaired = text.replace("strategy\n", f"repair\n    {repair}\nstrategy\n")
    assert solve(WORKLOAD, Program.parse(repaired), solver="scs", max_iterations=10).status.feasible
    first, hint = refusal(text.replace("strategy\n", "repair\n    X = 2 * X\nstrategy\n"))
    assert re.fullmatch(
        r"after the 'repair' of 'own' the point of nuclear misses constraint 'sensitivity' \(cell \d\) by "
        r"3.\de-01, relatively \(gap \S+ by its own count\)",
        first,
    )
    assert hint == f"  write the 'repair' so that it {restores}, or {more}"
    infinite = "repair\n    X = X * (eye(n) - diag(eye(n)[0, :]))\nstrategy\n"
    assert refusal(text.replace("strategy\n", infinite))[0].startswith(
        "the point of nuclear for 'own' keeps every constraint, but its objective is infinite ("
    )


def test_a_variable_that_no_line_mentions() -> None:
    text = vector("low: u >= 1").replace("minimize", "    z: scalar\nminimize")
    lines = refusal(text)
    assert lines[0] == (
        "<program>:12:5: 'z' is chosen, and neither the objective nor a constraint mentions it"
    )
    assert lines[-1] == "  leave 'z' out of 'choose', or add a constraint on it"


def test_lines_taken_apart_keep_their_meaning(rng: np.random.Generator) -> None:
    """With numbers for names, each line still says the same of a random point."""
    instance = bind(Program.parse(fitness()), WORKLOAD)
    lines = ground(instance)
    root = rng.normal(size=(4, 4))
    sigma = root @ root.T + np.eye(4)
    for c in instance.program.constraints:
        relation = lines.parts[c.name].relation
        plain = Constraint(c.name, relation, c.span)
        expected = worst(c, {**instance.env, "Sigma": sigma})
        found = worst(plain, {**lines.instance.env, "Sigma": sigma})
        assert (found[0] > 0) == (expected[0] > 0)
        assert lines.parts[c.name].count == 4
