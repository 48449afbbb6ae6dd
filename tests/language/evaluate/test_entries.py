"""Arrays by index: the numbers that a loop gives, in every reading of the tree.

Guards compiler/lower_to_cvxpy.py, evaluate_and_differentiate.py, number_systems.py.
"""

from fractions import Fraction
from typing import Any

import cvxpy
import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind, lower
from mmopt.compiler.lines_and_cones import cones
from mmopt.errors import OptionError, ProgramError
from mmopt.language import Tape, evaluate, evaluate_ball
from mmopt.language.evaluate.evaluate_and_differentiate import HOLDS, entry_indices
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Expr, names_in
from mmopt.numerics import balls

Env = dict[str, Any]
N = 5


def parse(text: str) -> Expr:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1))


def drawn(rng: np.random.Generator) -> Env:
    a = rng.normal(size=(N, N))
    return {
        "X": a @ a.T + np.eye(N),
        "x": rng.uniform(0.5, 2, N),
        "W": rng.normal(size=(N, N)),
        "n": N,
        "b": 2,
    }


# The text, and what a loop over i and j (where the condition holds) adds up.
SUMS = {
    "sum(X[i, j]**2 for i, j in n if i != j)": lambda e, i, j: e["X"][i, j] ** 2 * (i != j),
    "sum(X[i, j] for i in n for j in n if abs(i - j) < b)": lambda e, i, j: e["X"][i, j] * (abs(i - j) < 2),
    "sum(max(X[i, j], x[j]) for i, j in n)": lambda e, i, j: max(e["X"][i, j], e["x"][j]),
    "sum(X[i + 1, j] * x[i] for i in n - 1 for j in n)": (
        lambda e, i, j: e["X"][i + 1, j] * e["x"][i] if i < N - 1 else 0.0
    ),
    "sum(x[i] * j for i, j in n)": lambda e, i, j: e["x"][i] * j,
    "sum(2 for i, j in n if i == j)": lambda e, i, j: 2.0 * (i == j),
    "sum(W[i, :] @ inv(X) @ W[i, :].T for i in n)": (
        lambda e, i, j: e["W"][i] @ np.linalg.inv(e["X"]) @ e["W"][i] * (j == 0)
    ),
    "sum(norm(X[i, :]) for i in n)": lambda e, i, j: np.linalg.norm(e["X"][i]) * (j == 0),
    "sum(sum(X[i, j] for j in n if j > i) for i in n)": lambda e, i, j: e["X"][i, j] * (j > i),
}


@pytest.mark.quick
def test_a_sum_is_that_of_a_loop_and_its_gradient_that_of_differences(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    step = 1e-6
    for text, term in SUMS.items():
        with subtests.test(text):
            expr, env = parse(text), drawn(rng)
            wanted = sum(term(env, i, j) for i in range(N) for j in range(N))
            assert evaluate(expr, env) == pytest.approx(wanted, rel=1e-12)
            ball = evaluate_ball(expr, env)
            assert abs(ball.mid - wanted) <= ball.rad + 1e-12 * abs(wanted)
            assert ball.rad <= 1e-10 * abs(wanted)
            value, pull = Tape(expr, env, sorted(names_in(expr) & {"X", "x"})).run(env)
            assert value == pytest.approx(wanted, rel=1e-12)
            for name, slope in pull(1.0).items():
                along = rng.normal(size=np.shape(env[name]))
                ends = [evaluate(expr, {**env, name: env[name] + s * along}) for s in (step, -step)]
                along_it = pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-5)
                assert np.sum(slope * along) == along_it


def test_entries_stand_in_their_places(rng: np.random.Generator) -> None:
    env = drawn(rng)
    assert evaluate(parse("max(X[i, 0] for i in n)"), env) == env["X"][:, 0].max()
    assert evaluate(parse("norm(x[i] for i in n if i > 1)"), env) == pytest.approx(
        np.linalg.norm(env["x"][2:])
    )


@pytest.mark.quick
def test_an_index_beyond_the_entries_is_an_error(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError) as error:
        evaluate(parse("sum(X[i, j + 1] for i, j in n if i == j)"), drawn(rng))
    assert str(error.value) == "an index is 5, expected 0 to 4"


# The side that is compared with c[i], and its value in fractions.
SIDES = {
    "3 * v[i]": lambda v, a: 3 * v,
    "v[i] * v[i]": lambda v, a: v * v,
    "(v[i] + a) - a": lambda v, a: v,
    "1 / v[i]": lambda v, a: 1 / v,
    "abs(v[i] - 1 / 3)": lambda v, a: abs(v - Fraction(1, 3)),
}


@pytest.mark.parametrize("op", HOLDS)
def test_a_condition_selects_what_it_does_in_exact_numbers(
    op: str, rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    """Where floats would take numbers next to each other for equal ones, or in another order."""
    v = np.concatenate([np.arange(1, 40) / 3, 1 + rng.integers(0, 2**30, 40) * 2.0**-40])
    for side, exact in SIDES.items():
        with subtests.test(side):
            sides = [exact(Fraction(x), 0) for x in v.tolist()]
            near = np.array([float(x) for x in sides])
            c = near + rng.choice([-1, 0, 0, 0, 1], v.size) * np.spacing(near)
            env = {"v": v, "c": c, "a": 1e16, "one": 1.0, "n": v.size}
            wanted = [i for i, x in enumerate(sides) if HOLDS[op](x, Fraction(c[i]))]
            for other in ("c[i]", "one * c[i]"):  # exact, and with an error bound
                entries = parse(f"sum(v[i] for i in n if {side} {op} {other})").args[0]
                assert entry_indices(entries, env).places.tolist() == wanted


SELECTING = """program selecting
given
    v: vector[n]
    c: scalar
let
    w = 3 * v
choose
    x: vector[n] >= 0
minimize
    sum(x)
subject to
    least: x[i] >= 1 for i in n if {condition}
    most: x <= 9
"""


@pytest.mark.parametrize(("condition", "v", "c", "sides"), [
    ("w[i] >= c", 1 / 3, 1.0, "1 and 1"),
    ("sqrt(v[i]) * sqrt(v[i]) != c", 2.0, 2.0, "2.0000000000000004 and 2"),
    ("1 / (v[i] - 2) > c", 2.0, 2.0, "inf and 2"),
])  # fmt: skip
def test_a_condition_that_rounding_hides_is_refused(condition: str, v: float, c: float, sides: str) -> None:
    program = Program.parse(SELECTING.format(condition=condition))
    with pytest.raises(ProgramError) as error:
        bind(program, Workload.from_matrix(np.eye(2)), {"v": np.array([9.0, v]), "c": c})
    message, line, marks, hint = str(error.value).splitlines()
    place = "<program>:12:26: "
    assert message == f"{place}rounding hides whether {condition} where i = 1: the sides are {sides}"
    assert line[marks.index("^") :].endswith(condition)
    outcome = "give the outcome as numbers 0 and 1, which are exact"
    assert hint.strip() == f"{outcome}, and write: if chosen[i] == 1"


def test_a_let_decides_where_its_error_bound_does() -> None:
    program = Program.parse(SELECTING.format(condition="w[i] >= c"))
    instance = bind(program, Workload.from_matrix(np.eye(2)), {"v": np.array([0.3, 1 / 3]), "c": 1 - 1e-15})
    (clauses, _) = program.conditions
    assert entry_indices(clauses, instance.env).places.tolist() == [1]


def test_whole_numbers_are_known_exactly(rng: np.random.Generator) -> None:
    """Sums, products and quotients of counts, which so decide conditions at equality."""
    counts = rng.integers(-50, 50, (4, 6)).astype(float)
    env = {"A": counts, "B": 2 * counts + 1, "k": 3.0, "large": 2.0**53 - 1, "n": 6}
    for text, wanted in {
        "A @ A.T": counts @ counts.T,
        "sum(A * A, axis=1)": (counts * counts).sum(axis=1),
        "(k * A) / k": counts,
        "A - A": 0 * counts,
        "n / 2": 3.0,
    }.items():
        ball = evaluate_ball(parse(text), env)
        assert ball.is_exact
        assert (ball.mid == wanted).all()
    env[balls.BOUNDS] = {"almost": balls.Ball(np.asarray(3.0), np.asarray(1e-9))}.get
    for text in ("almost + almost", "B / 2", "large * k", "large * large / large", "1 / k", "B * 0.1"):
        assert not evaluate_ball(parse(text), env).is_exact


PROGRAM = """program trial
given
    W: matrix[n, n] = workload.matrix
    C: matrix[n, n]
parameter
    b: dim = 2
choose
    X: matrix[n, n]
    x: vector[n]
minimize
    sum((X[i, j] - C[i, j])**2 for i, j in n) + sum(abs(x[i] - C[i, 0]) for i in n if i > 0)
subject to
    mask: X[i, j] == 0 for |i - j| >= b
    cap: X[i, j] <= x[i] + 0.5 for i, j in n if i < j
    rows: sum(X[i, j] for j in n) <= 1 for i in n
strategy
    eye(n) norm 2
"""


def test_what_is_handed_over_is_the_loop(rng: np.random.Generator) -> None:
    """Against the same problem written with cvxpy's own loops; as many cones as forecast."""
    c = rng.normal(size=(N, N))
    instance = bind(Program.parse(PROGRAM), Workload.from_matrix(np.eye(N)), {"C": c})
    lowered = lower(instance)
    lowered.problem.solve("CLARABEL")
    big, small = cvxpy.Variable((N, N)), cvxpy.Variable(N)
    pairs = [(i, j) for i in range(N) for j in range(N)]
    lines = [big[i, j] == 0 for i, j in pairs if abs(i - j) >= 2]
    lines += [big[i, j] <= small[i] + 0.5 for i, j in pairs if i < j]
    lines += [sum(big[i, j] for j in range(N)) <= 1 for i in range(N)]
    loss = sum((big[i, j] - c[i, j]) ** 2 for i, j in pairs) + sum(
        cvxpy.abs(small[i] - c[i, 0]) for i in range(1, N)
    )
    other = cvxpy.Problem(cvxpy.Minimize(loss), lines)
    other.solve("CLARABEL")
    assert lowered.problem.value == pytest.approx(other.value, rel=1e-6)
    data = lowered.problem.get_problem_data("CLARABEL", solver_opts={"use_quad_obj": False})[0]
    counted = dict.fromkeys(("zero", "nonnegative", "second-order"), 0)
    for cone in cones(instance.checked, instance.sizes()):
        counted[cone.kind] += cone.count
    dims = data["dims"]
    assert counted == {"zero": dims.zero, "nonnegative": dims.nonneg, "second-order": len(dims.soc)}
