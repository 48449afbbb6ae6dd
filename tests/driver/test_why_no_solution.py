"""Programs without a solution: which lines are at fault, what to change, and no claim that is not so.

Guards why_no_solution.py.
"""

import itertools
import re
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt import Program, SolverError, Workload, solve
from mmopt.compiler import bind, scale
from mmopt.driver import why_no_solution
from mmopt.driver.why_no_solution import (
    Probe,
    conflict,
    explain_failure,
    find_growth,
    infeasible_error,
    relaxed,
    singular_error,
)
from mmopt.language import check, evaluate, worst
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
HOLDS = "every constraint holds with"
PREFIX = np.tri(4)
WORKLOAD = Workload.from_matrix(PREFIX, targets=1.0)
PROOF = re.compile(
    r"  proved by multipliers((, from these constraints alone)?, for points whose entries are at most "
    r"\de\+\d\d)?: .* of '.*' give a sum of at least \d.*, where the constraints allow no more than 0"
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
# Each with what is said of it, and the line that the nearest point misses the most, with its place.
INFEASIBLE: dict[str, tuple[str, str, str]] = {
    "privacy against accuracy": (
        fitness(),
        f"'privacy' and 'accuracy' {PAIR} with 'Sigma' psd",
        r"constraint '(privacy' for i|accuracy' for j) = \d \((cell|query) \d\)",
    ),
    "two equalities": (
        vector("one: sum(u) == 1", "two: sum(u) == 2", "low: u >= -10"),
        f"'one' and 'two' {PAIR}",
        "constraint '(one|two)'",
    ),
    "an empty box": (
        vector("low: u[2] >= 2", "high: u[j] <= 1 for j in n", "other: u >= -1"),
        f"'low' and 'high' {PAIR}",
        r"constraint '(low'|high' for j = 2 \(cell 2\))",
    ),
    "psd": (
        matrix("cap: X << 0.5 * eye(n)", "unit: diag(X) >= 1"),
        f"'cap' and 'unit' {PAIR} with 'X' psd",
        r"constraint '(cap'|unit' \(cell \d\))",
    ),
    "a sign": (
        vector("total: sum(u) == -1", sign=" >= 0"),
        "'total' cannot hold with 'u' >= 0",
        "constraint 'total'",
    ),
    "a psd declaration": (
        matrix("low: trace(X) <= -1", objective="sum(diag(X))"),
        "'low' cannot hold with 'X' psd",
        "constraint 'low'",
    ),
    "one line": (
        vector("never: abs(u) <= -1", "low: u >= -10"),
        "'never' cannot hold",
        r"constraint 'never' \(cell \d\)",
    ),
    "a size for a limit": (
        vector("low: u >= n", "high: sum(u) <= 3"),
        f"'low' and 'high' {PAIR}",
        r"constraint '(low' \(cell \d\)|high')",
    ),
    "an index in its line": (
        vector("low: u[j] + sum(u) >= j + 1 for j in n", "high: u <= 0"),
        f"'low' and 'high' {PAIR}",
        r"constraint '(low' for j = \d \(cell \d\)|high' \(cell \d\))",
    ),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("case", INFEASIBLE)
def test_the_lines_that_cannot_hold_together(case: str, solver: str) -> None:
    text, conflict, missed = INFEASIBLE[case]
    first, hint, proof = refusal(text, solver=solver)
    assert first == f"'own' has no feasible point: {conflict}"
    out = "relax one of them or leave it out" if PAIR in conflict else "relax it or leave it out"
    lines = [f"'{c.name}'" for c in Program.parse(text).constraints]
    out += "" if all(line in conflict for line in lines) else "; other constraints may conflict too"
    others = ", and none of the others by more" if PAIR in conflict else ""
    near = rf"\(a nearby point violates {missed} by \d\.\de[+-]\d\d, relatively{others}\)"
    assert re.fullmatch(f"  {out} {near}", hint)
    assert PROOF.fullmatch(proof)


@pytest.mark.parametrize("case", INFEASIBLE)
def test_multipliers_of_a_conflict_leave_more_than_0_at_any_point(
    case: str, rng: np.random.Generator
) -> None:
    """By plain evaluation; where it is least by no more than what is said. The first line's largest is 1."""
    program = Program.parse(INFEASIBLE[case][0])
    with pytest.raises(SolverError) as refused:
        solve(WORKLOAD, program)
    error, instance = refused.value, bind(program, WORKLOAD)
    assert list(error.multipliers) == [c.name for c in program.constraints if f"'{c.name}'" in error.message]
    assert np.abs(next(iter(error.multipliers.values()))).max() == 1.0
    named = {c.name: c for c in program.constraints}
    sizes, lefts = instance.sizes(), []
    for scale_of_point in np.repeat([1e-2, 1.0, 30.0], 30):
        point: dict[str, Any] = {}
        for d in program.choose:
            x = rng.normal(size=d.shape(sizes)) * scale_of_point
            point[d.name] = x @ x.T / scale_of_point if d.kind == "psd" else np.abs(x) if d.sign else x
        total = 0.0
        for name, y in error.multipliers.items():
            c = named[name]
            indices = [{}] if c.family is None else [{c.family.index: i} for i in range(len(y))]
            left, right = (
                np.array([evaluate(side, {**instance.env, **point, **index}) for index in indices])
                for side in (c.relation.left, c.relation.right)
            )
            missed = left - right if c.relation.op in ("<=", "<<", "==") else right - left
            missed = (
                missed * np.eye(len(instance.env["W"])) if np.size(missed) == 1 and y.ndim == 2 else missed
            )
            total += float((np.reshape(missed, y.shape) * y).sum())
        lefts.append(total)
    terms = {term["name"]: float(term["value"]) for term in error.terms}
    said = re.findall(r"a sum of at least (\S+), where", error.hint)
    assert [float(left) for left in said] == pytest.approx([terms["sum"]], rel=1e-4)
    assert min(lefts) >= terms["sum"] * (1 - 1e-6) > 0
    assert sum(terms.values()) - terms["sum"] == pytest.approx(terms["sum"], rel=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_the_scale_of_the_workload_changes_nothing(factor: float) -> None:
    scaled = Workload.from_matrix(factor * PREFIX, targets=factor**2)
    assert refusal(fitness(), scaled)[:2] == refusal(fitness())[:2]
    text = matrix("cap: X << 0.5 * eye(n)", "unit: diag(X) >= 1")
    assert refusal(text, scaled)[:2] == refusal(text)[:2]


def test_of_two_conflicts_one_is_named() -> None:
    text = vector("low: u >= 2", "high: u <= 1", "total: x >= 3", "least: x <= 1", "other: y >= 0")
    assert refusal(text)[0] == f"'own' has no feasible point: 'total' and 'least' {PAIR}"


def test_a_named_conflict_has_no_line_of_another() -> None:
    """Two of the same slack have multipliers together; without any line of the one named, it is none."""
    lines = (
        "a: x >= 1",
        "b: y >= 1",
        "c: x + y <= 0",
        "low: sum(u) >= 1",
        "high: sum(u) <= 0.2",
        "z: u <= 9",
    )
    for order, named in ((lines, "abc"), (lines[::-1], ("high", "low"))):
        first, hint, _ = refusal(vector(*order), solver="clarabel")
        names = [f"'{name}'" for name in named]
        assert (
            first
            == f"'own' has no feasible point: {', '.join(names[:-1])}{',' * (len(names) > 2)} and "
            + (f"{names[-1]} {PAIR}")
        )
        assert hint.startswith(
            "  relax one of them or leave it out; other constraints may conflict too (a nearby point"
        )
    for kept, is_one in ((lines[:2], False), (lines[1:3], False), (lines[:3:2], False), (lines[:3], True)):
        instance = bind(Program.parse(vector(*kept)), WORKLOAD)
        nearest = conflict(instance, Clock(60.0))
        assert nearest is not None and (nearest.reach > 0, nearest.is_minimal) == (is_one, is_one)
    assert nearest is not None
    early = infeasible_error(instance, replace(nearest, is_minimal=False))
    assert "\n  relax some of them or leave them out (a nearby point" in str(early)


def test_queries_go_by_their_labels(tmp_path: Any) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "domain:\n  sex: {values: [F, M]}\n"
        "workload:\n  - {name: by sex, marginal: [sex], max_variance: 1.0}\n",
        encoding="utf-8",
    )
    hint = refusal(fitness(), Workload.load(path))[1]
    assert re.search(r"violates constraint '\w+' for [ij] = \d \((cell|query) 'sex=[FM]'\) by ", hint)


def test_unbounded(subtests: pytest.Subtests) -> None:
    large = matrix("free: diag(X) >= 0", objective="-trace(X)")
    number = vector("low: u >= 0", "high: u <= 1", "cap: y <= 1", objective="x")
    two = vector("a: y <= x", "b: u <= 1", objective="x - 2 * y")
    edge = vector("low: u >= 0", "high: u <= 1", "side: x >= 0", "both: x + y >= 1", objective="x - y")
    amount = r"-?[\d.e+]+"
    above = vector("low: u >= 0", objective="sum(u)").replace("minimize", "maximize")
    for solver, text, names, moves, cap in [
        ("clarabel", large, "'X' growing", "falls", "diag(X) <= 1"),
        ("scs", number, "'x' falling", "falls", "x >= 0"),
        ("clarabel", edge, "'y' growing", "falls", "y <= 1"),
        ("clarabel", two, "'x' growing and 'y' growing", "falls", "x <= 1 or y <= 1"),
        ("scs", above, "'u' growing", "rises", "u <= 1"),
    ]:
        with subtests.test(names):
            first, hint = refusal(text, solver=solver)
            start = rf"'own' seems to have no optimum, or one with entries beyond \de\+\d+: {HOLDS} {names}, "
            assert re.fullmatch(rf"{start}while the objective {moves} from {amount} to {amount}", first)
            assert hint == (
                f"  add a constraint such as {cap}, or check the sign of the objective and the directions "
                "of the constraints"
            )


def test_what_ends_far_away_is_not_said_to_be_unbounded(subtests: pytest.Subtests) -> None:
    """Whatever a solver says: the objective has to get better to the end."""
    for objective in ["max(x, -1e30)", "max(x, 0)", "exp(x) - 1"]:
        with subtests.test(objective):
            assert "seems" not in told(vector("low: u >= 0", objective=objective), "unbounded")


def told(text: str, word: str, workload: Workload = WORKLOAD) -> str:
    """The message when a solver says ``word``, whatever the truth is."""
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
        lines[1] == "  write the constraints in units in which the numbers are near 1, or try another solver"
    )
    lines = told(vector("low: u >= 1", "high: u <= 2"), "unbounded").splitlines()
    assert lines[0] == (
        "not decided: solver says that 'own' is unbounded (Whatever), and no point that satisfies every "
        "constraint was found from which the objective improves without end"
    )


def test_ctrl_c_is_kept_while_a_growth_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever word of the solver leads there: an error after a minute is better than none."""
    looked: list[bool] = []

    def press(instance: object, scaled: object, scaling: object, clock: Clock) -> None:
        signal.raise_signal(signal.SIGINT)
        looked.append(clock.interrupted)

    monkeypatch.setattr(why_no_solution, "find_growth", press)
    for word in ("unbounded", "iteration limit"):
        told(vector("low: u >= 1", "high: u <= 2"), word)
    assert looked == [True, True]


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
            how = rf"(violates {place} by [\d.e+-]+, relatively|gives {place} no finite value)"
            assert re.fullmatch(rf"the point of {solver} for 'own' {how} \(.*\)", first)
            assert "  give the program a 'repair' that restores '" in hint
            assert hint.endswith("or try another solver; the constraints may also conflict")


def test_a_point_that_is_far_off_is_moved_inside() -> None:
    text = fitness().replace("0.1 ", "2.0 ")
    s = solve(WORKLOAD, Program.parse(text), solver="scs", max_iterations=1)
    assert s.status.feasible and s.objective_grade == "proved"


def test_what_is_said_of_a_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example is shown where there is none; it is blamed where it does not restore."""
    monkeypatch.setattr(
        "mmopt.driver.run_solver.moved_inside", lambda instance, point, clock, tolerance: point
    )
    text = matrix("sensitivity: diag(X) <= 1")
    first, hint = refusal(text, solver="scs", max_iterations=10)
    assert first.startswith("the point of scs for 'own' violates constraint 'sensitivity' (cell ")
    assert first.endswith(
        ", relatively (solved (inaccurate - reached max_iters)); no point near it, or on the path into the "
        "interior, is feasible"
    )
    more = "allow more time or iterations, or try another solver; the constraints may also conflict"
    repair = "X = X / max(diag(X))"
    restores = "restores 'sensitivity'"
    example = f"(as {repair} does diag(X) <= 1)"
    assert hint == f"  give the program a 'repair' that {restores} {example}, or {more}"
    repaired = text.replace("strategy\n", f"repair\n    {repair}\nstrategy\n")
    assert solve(WORKLOAD, Program.parse(repaired), solver="scs", max_iterations=10).status.feasible
    first, hint = refusal(text.replace("strategy\n", "repair\n    X = 2 * X\nstrategy\n"))
    assert re.fullmatch(
        r"after the 'repair' of 'own' the point of nuclear violates constraint 'sensitivity' \(cell \d\) by "
        r"3.\de-01, relatively \(gap \S+ as reported by the kernel\)",
        first,
    )
    more = more.replace(", or try another solver", "")  # that one would miss it too
    assert hint == f"  write the 'repair' so that it {restores} {example}, or {more}"
    infinite = "repair\n    X = X * (eye(n) - diag(eye(n)[0, :]))\nstrategy\n"
    assert refusal(text.replace("strategy\n", infinite))[0].startswith(
        "the point of nuclear for 'own' keeps every constraint, but its objective has no finite value ("
    )


def test_a_variable_that_no_line_mentions() -> None:
    text = vector("low: u >= 1").replace("minimize", "    z: scalar\nminimize")
    lines = refusal(text)
    assert lines[0] == (
        "<program>:12:5: 'z' is a variable, and neither the objective nor a constraint contains it"
    )
    assert lines[-1] == "  leave 'z' out of 'choose', or add a constraint on it"


def test_without_slack_a_relaxed_line_says_the_same(rng: np.random.Generator) -> None:
    """At points that keep it or not, of every form."""
    forms = [
        *(text for text, *_ in INFEASIBLE.values()),
        matrix("small: 2 * eye(n) >> X", "some: X >> X[0, 0] * eye(n)"),
    ]
    for text in forms:
        instance = bind(Program.parse(text), WORKLOAD)
        for size in (0.01, 1.0, 100.0):
            root = size * rng.normal(size=(4, 4))
            point = {"X": root @ root.T, "Sigma": root @ root.T, "u": root[0], "the slack": 0.0}
            for c in instance.program.constraints:
                lines, units = relaxed(instance, c)
                env = {**instance.env, **point, **dict.fromkeys(units, np.eye(4))}
                missed = [worst(line, env)[0] > 0 for line in lines]
                assert any(missed) == (worst(c, env)[0] > 0), c
                assert not any(worst(line, {**env, "the slack": 1e9})[0] > 0 for line in lines)


@pytest.mark.quick
def test_a_proof_says_how_far_it_reaches(subtests: pytest.Subtests) -> None:
    """All lines together may reach further than those that are named."""
    head = "program own\ngiven\n    u: vector[m]\nchoose\n    x: vector[m]\n"
    program = check(Program.parse(f"{head}minimize\n    sum(x)\nsubject to\n    top: x <= u\n"))
    instance = bind(program, Workload.from_matrix(np.eye(1)), {"u": np.array([0.99, -1e6])})
    up_to_7, entries = " with numbers up to 1e+07", ", for points whose entries are at most 1e+07"
    for of_all, alone, up_to, named_up_to, for_points in [
        (1.5e13, 1.49e7, " with numbers up to 1e+13", up_to_7, entries),
        (1.5e7, 1.49e7, up_to_7, " there", entries),
        (np.inf, 1.99e7, "", up_to_7, f", from these constraints alone{entries}"),
        (np.inf, np.inf, "", "", ""),
    ]:
        with subtests.test(of_all=of_all, alone=alone):
            point = {"x": np.array([0.0, -1e6])}
            nearest = Probe(("top",), 1.0, point, alone, {}, reach_of_all=of_all)
            assert str(infeasible_error(instance, nearest)).splitlines()[::2] == [
                f"'own' has no feasible point{up_to}: 'top' cannot hold{named_up_to}",
                f"  proved by the ranges that the constraints leave{for_points}",
            ]


def test_a_point_far_out_hides_no_conflict() -> None:
    """There the rounding of large terms is as large as what the equations miss."""
    text = """\
program own
choose
    x: vector[3]
minimize
    x[0] + x[1]
subject to
    first:  x[0] + x[1] == 1
    second: x[1] + x[2] == 2
    third:  x[0] + 2 * x[1] + x[2] == 4
"""
    with pytest.raises(SolverError, match="'first', 'second', and 'third' cannot hold together"):
        solve([[1]], Program.parse(text))


PLAIN = """\
program own
given
    W: matrix[m, n] = workload.matrix
choose
    {chosen}
minimize
    {objective}
subject to
    {lines}
"""
# Unbounded along no ray, but along a curve: (a vector's entries and the square root of others).
CURVES = {
    "a row of a psd matrix": (
        "X: psd[n, n]",
        "sum(X[0, :])",
        "corner: X[0, 0] <= 1",
        "'X' moving",
        "diag(X) <= 1",
    ),
    "a block": (
        "s: scalar\n    t: scalar",
        "t",
        "both: [[s, t], [t, 1]] >> 0",
        "'s' growing and 't' falling",
        "",
    ),
    "a square": (
        "u: vector[n]\n    t: scalar",
        "sum(u)",
        "below: sum(u**2) <= t",
        "'u' falling and 't' growing",
        "",
    ),
}


@pytest.mark.parametrize("case", CURVES)
def test_growth_along_a_curve_is_named(case: str) -> None:
    chosen, objective, line, moving, cap = CURVES[case]
    first, hint = refusal(PLAIN.format(chosen=chosen, objective=objective, lines=line))
    grows = rf"{HOLDS} {moving}, while the objective falls from -"
    assert re.match(rf"'own' seems to have no optimum, or one with entries beyond \de\+\d+: {grows}", first)
    assert cap in hint


# Least values that are reached, or approached, by points without end.
BOUNDED = {
    "a face without end": ("x: scalar\n    y: scalar", "x", "left: x >= y - 1", "right: x >= 1 - y"),
    "a norm": ("u: vector[n]", "max(u) - min(u)", "one: u[0] >= 3", "two: u[1] <= 2"),
    "not reached": ("s: scalar\n    t: scalar", "t", "both: [[s, 1], [1, t]] >> 0", "low: s >= 0"),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_no_growth_is_claimed_of_a_bounded_program(case: str) -> None:
    chosen, objective, *lines = BOUNDED[case]
    program = Program.parse(PLAIN.format(chosen=chosen, objective=objective, lines="\n    ".join(lines)))
    instance = bind(program, WORKLOAD)
    with Clock(20.0) as clock:
        assert find_growth(instance, *scale(instance), clock) is None


def test_a_fall_that_is_the_rounding_of_a_matrix_is_none() -> None:
    """Far out, a matrix that is psd but for rounding has a negative trace with a psd one."""
    text = PLAIN.format(chosen="X: psd[n, n]", objective="trace(C @ X)", lines="one: trace(D @ X) >= 1")
    program = Program.parse(
        text.replace("    W: matrix[m, n] = workload.matrix", "    C: psd[n, n]\n    D: symmetric[n, n]")
    )
    c = np.array([[5.0, 0], [3, 2], [0, 1], [2, 4]])
    d = np.array([[8.0, -2, 0, -2], [-2, -6, 5, -2], [0, 5, -2, -2], [-2, -2, -2, -2]])
    instance = bind(program, Workload.from_matrix([[1.0]]), {"C": c @ c.T, "D": d})
    with Clock(20.0) as clock:
        assert find_growth(instance, *scale(instance), clock) is None


DESIGN = """\
program own
given
    V: matrix[k, n] = workload.matrix
choose
    d: vector[n] >= 0
{sense}
    {objective}
subject to
    whole: sum(d) <= 1
"""
OBJECTIVES = {
    "logdet(V @ diag(d) @ V.T)": "maximize",
    "trace(inv(V @ diag(d) @ V.T))": "minimize",
    "lambda_max(inv(V @ diag(d) @ V.T))": "minimize",
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_design_with_dependent_rows_says_which(objective: str) -> None:
    text = DESIGN.format(sense=OBJECTIVES[objective], objective=objective)
    rows = np.vander(np.linspace(-1, 1, 5), 3).T
    dependent = np.vstack([rows[:2], rows[0] - 2 * rows[1], rows[2]])
    first, line, _, hint = refusal(text, Workload.from_matrix(dependent))
    number = int(re.search(r"row (\d) depends on others$", first)[1])  # type: ignore[index]
    assert first.startswith(
        f"<program>:7:5: '{objective}' has no finite value, whatever the variables are: the 4 rows of"
    )
    assert "'V' have rank 3, and row" in first and line.strip() == objective and "row_basis(V)" in hint
    assert np.linalg.matrix_rank(np.delete(dependent, number, axis=0)) == 3
    # Small units are no dependence.
    independent = np.diag([1.0, 1e-7, 1e4]) @ rows
    assert solve(Workload.from_matrix(independent), Program.parse(text)).status.feasible


NEXT_TO_DEPENDENT = (
    [[67108865, 67108864], [67108864, 67108863]],
    [[1, 0], [1, 1e-17]],
    [[0.1, 0.7], [0.3, 2.1]],
)
FAR_APART = ([[1e154, 1e154], [1, -1]], [[1e200, 0], [0, 1e200]], [[1e-200, 0], [0, 1]])


def test_rows_are_said_to_be_dependent_only_where_they_are() -> None:
    """Proved in fractions: 0.7 / 0.1 is not 2.1 / 0.3, nor a determinant of -1 next to 0."""
    program = Program.parse(DESIGN.format(sense="maximize", objective="logdet(V @ diag(d) @ V.T)"))
    for rows in NEXT_TO_DEPENDENT:
        first, _, _, hint = str(singular_error(bind(program, Workload.from_matrix(rows)))).splitlines()
        assert "can hardly be computed: the 2 rows of 'V' have rank 1 numerically, and row " in first
        assert hint.endswith("row_basis(V) spans the same numerically, with 1 rows")
    for rows in FAR_APART:
        given = program_with_given(rows)
        assert singular_error(given) is None
    exact = str(singular_error(program_with_given([[1e200, 3e200], [1e-100, 3e-100]])))
    assert "has no finite value, whatever the variables are: the 2 rows of 'V' have rank 1, and row " in exact


def program_with_given(rows: Any) -> Any:
    """The design at rows that the caller passes."""
    text = DESIGN.format(sense="maximize", objective="logdet(V @ diag(d) @ V.T)")
    program = Program.parse(text.replace(" = workload.matrix", ""))
    return bind(program, WORKLOAD, {"V": np.array(rows, dtype=float)})
