"""The shipped programs say the same of values that split as of dense ones; lines without such a form."""

from typing import Any

import numpy as np
import pytest
from edited_programs import edited
from symmetric_workloads import random_products, random_symmetric_matrix

from mmopt import Program
from mmopt.errors import ProgramError
from mmopt.language import evaluate, evaluate_ball, worst
from mmopt.language.evaluate.constraint_misses import excess_with_errors, misses
from mmopt.language.evaluate.number_systems import without_form
from mmopt.numerics.component_arrays import Level, Space, Split, floored, lift
from mmopt.numerics.float_functions import EIGENVALUE_FLOOR, psd_floor
from mmopt.symmetry import symmetry

PROGRAMS = [
    "l2_strategy",
    "weighted_l2",
    "fitness_for_use",
    "fitness_penalty",
    "fitness_budget",
    "fitness_hybrid",
]


def excess(line: Any, env: Any) -> float:
    return max(float(miss.amounts.max()) for miss in misses(line, env))


def dense(value: Any) -> Any:
    return lift(value) if isinstance(value, Split | Level) else value


def psd(rng: np.random.Generator, space: Space) -> Split:
    roots = [rng.normal(size=(d + 1, d)) for d in space.dims]
    return Split(space, space, tuple(r.T @ r + 0.1 * np.eye(r.shape[1]) for r in roots))


def sizes_of(program: Program, env: dict[str, Any]) -> dict[str, int]:
    sizes = {}
    for d in program.givens:
        for dim, size in zip(d.dims, env[d.name].shape, strict=True):
            sizes[next(iter(dim.symbols))] = int(size)
    return sizes


def instance(name: str, rng: np.random.Generator) -> tuple[Program, dict[str, Any]]:
    """A program with structured givens of full rank, and a random point."""
    program = Program.load(name)
    found = None
    while found is None or found.cells.kept < found.cells.size:
        workload = random_products(rng, full=True) if rng.random() < 0.7 else random_symmetric_matrix(rng)
        found = symmetry(workload, with_targets=name != "l2_strategy")
    env: dict[str, Any] = {d.name: found.sources_named((d.source,))[d.source] for d in program.givens}
    env.update(sizes_of(program, env))
    for p in program.parameters:
        env[p.name] = evaluate(p.expr, env)
    for let in program.lets:
        env[let.name] = evaluate(let.expr, env)
    for d in program.choose:
        space = env["B"].rows if d.name == "Sigma" else found.cells
        env[d.name] = psd(rng, space) if d.kind == "psd" else float(rng.uniform(1, 2))
    return program, env


def same(expr: Any, env: dict[str, Any], flat: dict[str, Any]) -> Any:
    found, truth = evaluate(expr, env), evaluate(expr, flat)
    np.testing.assert_allclose(dense(found), truth, rtol=1e-8, atol=1e-8 * np.abs(truth).max())
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_say_the_same_of_structured_values(name: str, rng: np.random.Generator) -> None:
    program, env = instance(name, rng)
    flat = {key: dense(value) for key, value in env.items()}
    for c in program.constraints:
        assert worst(c, env)[0] == pytest.approx(worst(c, flat)[0], rel=1e-7, abs=1e-9)
        assert excess(c, env) == pytest.approx(excess(c, flat), rel=1e-7, abs=1e-9)
    for step in program.repair:
        env[step.name] = same(step.expr, env, flat)
        flat[step.name] = dense(env[step.name])
    for c in program.constraints:
        assert worst(c, env)[0] <= 1e-12
    assert program.objective is not None
    value = same(program.objective, env, flat)
    ball = evaluate_ball(program.objective, env)
    assert float(ball.lower) <= value * (1 + 1e-13)
    assert float(ball.upper) >= value * (1 - 1e-13)
    assert float(ball.rad) <= 1e-8 * value
    assert program.meaning is not None
    rows = evaluate(program.meaning.expr, env)
    if program.meaning.kind == "strategy":
        np.testing.assert_allclose(lift(rows).T @ lift(rows), flat["X"], atol=1e-9)
    else:
        same(program.meaning.expr, env, flat)

    assert program.certificate is not None
    for m in program.certificate.multipliers:
        space = env["L"].rows if m.declaration.name == "q" else _cells(env)
        env[m.declaration.name] = Level(space, rng.uniform(0.0, 1.0, size=len(space.sizes)))
        flat[m.declaration.name] = dense(env[m.declaration.name])
    bound = same(program.certificate.expr, env, flat)
    ball = evaluate_ball(program.certificate.expr, env)
    assert abs(float(ball.mid) - bound) <= float(ball.rad) + 1e-12 * bound
    assert float(ball.rad) <= 1e-9 * bound
    assert bound <= value


def _cells(env: dict[str, Any]) -> Space:
    return env["W" if "W" in env else "B"].columns


def test_the_floor_of_a_split_matrix_is_the_dense_one(rng: np.random.Generator) -> None:
    _, env = instance("l2_strategy", rng)
    space = env["X"].columns
    low = Split(space, space, tuple(rng.normal(size=(d, d)) for d in space.dims))
    low = Split(space, space, tuple((p + p.T) / 2 for p in low.parts))
    dense_floor = psd_floor(lift(low))
    np.testing.assert_allclose(
        lift(floored(low)), dense_floor, atol=1e-10 * np.abs(dense_floor).max() + EIGENVALUE_FLOOR
    )


def test_matrix_inequalities_are_by_component(rng: np.random.Generator) -> None:
    text = """program own
title "own"
source "none"
class convex
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
    Y: psd[n, n]
minimize
    trace(X)
subject to
    zero: X - Y >> 0
    more: X << Y
    less: Y << X
strategy
    factor(X) norm 2
"""
    program = Program.parse(text)
    _, env = instance("l2_strategy", rng)
    space = env["X"].columns
    env["Y"] = psd(rng, space)
    flat = {key: dense(value) for key, value in env.items()}
    found = [excess(c, env) for c in program.constraints]
    np.testing.assert_allclose(found, [excess(c, flat) for c in program.constraints], rtol=1e-9)
    assert max(found) > 0
    proved = [excess_with_errors(c, env) for c in program.constraints]
    assert proved == [np.inf if one > 0 else 0.0 for one in found]
    env["Y"] = Split(space, space, tuple(2.0 * part for part in env["X"].parts))
    assert [excess_with_errors(c, env) for c in program.constraints] == [np.inf, 0.0, np.inf]


REFUSED = [
    ("trace(X @ W[0, :].T @ W[0, :])", "an index has no form by components (line 11)"),
    ("trace([[X, W.T], [W, eye(r)]])", "a block matrix has no form by components (line 11)"),
    (
        "trace(X + eye(n))",
        "'eye' has no form by components: its size alone does not say how it splits",
    ),
]


NO_FORM = """program own
title "own"
source "none"
class closed form
given
    W: matrix[r, n] = workload.root
    X: matrix[n, n]
let
    A = X
minimize
    OBJECTIVE
strategy
    A norm 2
"""


def test_what_has_no_form_is_refused(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    _, env = instance("l2_strategy", rng)
    for objective, message in REFUSED:
        with subtests.test(objective):
            program = Program.parse(NO_FORM.replace("OBJECTIVE", objective))
            assert program.objective is not None
            with pytest.raises(ProgramError) as caught:
                evaluate(program.objective, env)
            assert str(caught.value) == f"{message}\n  solve the program without the symmetry"


def test_a_family_without_a_vector_form_is_refused(rng: np.random.Generator) -> None:
    program = Program.load("l2_strategy_lmi")
    _, env = instance("l2_strategy", rng)
    with pytest.raises(ProgramError) as caught:
        worst(program.constraints[0], env)
    assert str(caught.value) == (
        "the family 'lmi' has no form by components\n  solve the program without the symmetry"
    )


def test_matrices_that_split_differently_are_not_compared() -> None:
    one, other = Space(np.ones(2), (1, 1)), Space(np.ones(1), (2,))
    split = {"X": Split(one, one, (np.eye(1),) * 2), "Y": Split(other, other, (np.eye(2),))}
    text = "program p\nclass closed form\nminimize\n    trace(X)\nstrategy\n    X norm 2\n"
    text += "given\n    X: symmetric[n, n]\n    Y: symmetric[n, n]\nrequire\n    X << Y"
    with pytest.raises(ProgramError, match="'sub' of values that split differently"):
        worst(Program.parse(text).requires[0], split)


def test_the_first_line_without_a_form_is_named(subtests: pytest.Subtests) -> None:
    programs = {
        **dict.fromkeys(PROGRAMS, ""),
        "l2_strategy_block": "the block matrix in 'block'",
        "l2_strategy_lmi": "the family 'lmi' (not one vector inequality)",
        "fitness_lmi": "the family 'privacy' (not one vector inequality)",
    }
    for name, what in programs.items():
        with subtests.test(name):
            assert without_form(Program.load(name)) == what
    for old, new, what in (
        ("diag(X) <= 1", "X[0, 0] <= 1", "an index in 'sensitivity'"),
        ("diag(X) <= 1", "sum(abs(X), axis=0) <= 1", "'sum' in 'sensitivity'"),
        ("X = X / max(diag(X))", "X = X / max(diag(X)) + eye(n)", "'eye' in 'repair of X'"),
        ("/ sum(d)", "/ sum(d * ones(n))", "'ones' in 'the certificate'"),
        ("factor(X) norm 2", "factor(X + eye(n)) norm 2", "'eye' in 'strategy'"),
    ):
        with subtests.test(new):
            assert without_form(edited("l2_strategy", (old, new))) == what
