"""Arrays by index: the numbers that a loop gives, in every reading of the tree.

Guards compiler/lower_to_cvxpy.py, evaluate_and_differentiate.py.
"""

from typing import Any

import cvxpy
import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind, lower
from mmopt.compiler.lines_and_cones import cones
from mmopt.errors import OptionError
from mmopt.language import Tape, evaluate, evaluate_ball
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Expr, names_in

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
