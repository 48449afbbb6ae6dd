"""Values against numpy, the closed extension of the inverse, violations, and balls around values."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from named_workloads import random_workload

from mmopt.compiler import bind
from mmopt.errors import ProgramError
from mmopt.language import evaluate, evaluate_ball, program_names, shipped, to_source
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.evaluate.evaluate_and_differentiate import share
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Apply, Expr, Name, rewrite, walk

Env = dict[str, Any]


def parse(text: str) -> Expr:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS)


@pytest.fixture
def env() -> Env:
    rng = np.random.default_rng(7)
    a = rng.normal(size=(3, 3))
    made = {"W": rng.normal(size=(4, 3)), "X": a @ a.T + np.eye(3), "A": a, "u": rng.gamma(1.0, size=4)}
    return {**made, "v": rng.normal(size=3), "c": 2.5, "m": 4, "n": 3, "j": 2}


VALUES: list[tuple[str, Callable[[Env], Any]]] = [
    ("W @ inv(X) @ W.T", lambda e: e["W"] @ np.linalg.inv(e["X"]) @ e["W"].T),
    ("diag(sqrt(u)) @ W @ A @ diag(v)", lambda e: np.sqrt(e["u"])[:, None] * (e["W"] @ e["A"]) * e["v"]),
    ("diag(sqrt(u)) @ W @ A @ X @ v", lambda e: np.sqrt(e["u"]) * (e["W"] @ e["A"] @ e["X"] @ e["v"])),
    ("inv(X) @ v", lambda e: np.linalg.inv(e["X"]) @ e["v"]),
    ("v @ inv(X)", lambda e: np.linalg.inv(e["X"]) @ e["v"]),
    ("v @ inv(A)", lambda e: e["v"] @ np.linalg.inv(e["A"])),
    ("W @ inv(A)", lambda e: e["W"] @ np.linalg.inv(e["A"])),
    ("inv(A) @ W.T", lambda e: np.linalg.inv(e["A"]) @ e["W"].T),
    ("inv(X) @ inv(A)", lambda e: np.linalg.inv(e["A"] @ e["X"])),
    ("(W @ inv(X)) @ (W.T @ u)", lambda e: e["W"] @ np.linalg.inv(e["X"]) @ e["W"].T @ e["u"]),
    ("W[j, :] @ v - W[0, 1]", lambda e: e["W"][2] @ e["v"] - e["W"][0, 1]),
    ("sum(W, axis=0) / n", lambda e: e["W"].sum(axis=0) / 3),
    ("max(abs(W), axis=1) ** -2", lambda e: np.abs(e["W"]).max(axis=1) ** -2.0),
    ("diag(diag(X)) + eye(n) * c", lambda e: np.diag(np.diag(e["X"])) + 2.5 * np.eye(3)),
    ("root(X) @ root(X)", lambda e: e["X"]),
    ("factor(X).T @ factor(X)", lambda e: e["X"]),
    ("nuclear(W)", lambda e: np.linalg.norm(e["W"], "nuc")),
    ("exp(v) + log(c)", lambda e: np.exp(e["v"]) + np.log(2.5)),
    ("logsumexp(W)", lambda e: np.log(np.exp(e["W"]).sum())),
    ("logsumexp(W, axis=0) * v", lambda e: np.log(np.exp(e["W"]).sum(axis=0)) * e["v"]),
    ("polar(A) @ root(A.T @ A)", lambda e: e["A"]),
    ("rank(W) + rank(W @ inv(X) @ W.T)", lambda e: 6),
    ("pinv(W)", lambda e: np.linalg.pinv(e["W"])),
    ("stack(W, 2 * W)", lambda e: np.vstack([e["W"], 2 * e["W"]])),
    ("used_rows(W, u - max(u) + (u + max(u)) * 0)", lambda e: e["W"][:0]),
    ("used_rows(W, u)", lambda e: e["W"]),
    ("ones(n) @ v * 2**-1", lambda e: e["v"].sum() / 2),
    ("[[X, v], [v.T, c]]", lambda e: np.block([[e["X"], e["v"][:, None]], [e["v"][None], 2.5]])),
    ("[[X, W[j, :].T], [W[j, :], 1]]", lambda e: np.block([[e["X"], e["W"][2:3].T], [e["W"][2:3], 1]])),
    ("[[X, W.T[:, j]], [W.T[:, j].T, 1]]", lambda e: np.block([[e["X"], e["W"][2:3].T], [e["W"][2:3], 1]])),
    (
        "[[sqrt(abs(W[j, :]))], [-W[0, :] ** 2]]",
        lambda e: np.vstack([np.sqrt(np.abs(e["W"][2])), -(e["W"][0] ** 2)]),
    ),
    ("[[v.T[:] + v.T, 1], [v @ X, c]]", lambda e: np.block([[2 * e["v"], 1], [e["v"] @ e["X"], 2.5]])),
    ("diag(u) @ W @ diag(v)", lambda e: e["u"][:, None] * e["W"] * e["v"]),
    ("diag(u) @ W @ v", lambda e: e["u"] * (e["W"] @ e["v"])),
    ("u @ diag(u) @ W", lambda e: (e["u"] ** 2) @ e["W"]),
    ("diag(v) @ diag(v) @ v", lambda e: e["v"] ** 3),
    ("diag(u) @ diag(u)", lambda e: np.diag(e["u"] ** 2)),
    ("diag(diag(u) @ diag(u))", lambda e: e["u"] ** 2),
    ("trace(diag(v) @ X)", lambda e: e["v"] @ np.diag(e["X"])),
    ("diag(A @ diag(v))", lambda e: e["v"] * np.diag(e["A"])),
    ("eye(m) @ W @ eye(n)", lambda e: e["W"]),
    ("diag(W @ v)", lambda e: np.diag(e["W"] @ e["v"])),
    ("diag(W @ inv(X) @ v)", lambda e: np.diag(e["W"] @ np.linalg.inv(e["X"]) @ e["v"])),
    ("diag(A @ X @ A.T)", lambda e: np.diag(e["A"] @ e["X"] @ e["A"].T)),
    ("trace(W @ (W.T @ W) @ W.T)", lambda e: np.trace(e["W"] @ e["W"].T @ e["W"] @ e["W"].T)),
    ("diag(W @ inv(X) @ W.T)", lambda e: np.diag(e["W"] @ np.linalg.inv(e["X"]) @ e["W"].T)),
    ("trace(W @ inv(A) @ W.T)", lambda e: np.trace(e["W"] @ np.linalg.inv(e["A"]) @ e["W"].T)),
    ("trace(inv(X) @ X)", lambda e: 3.0),
    ("diag(X @ inv(X))", lambda e: np.ones(3)),
    ("trace(inv(X) @ inv(A))", lambda e: np.trace(np.linalg.inv(e["A"] @ e["X"]))),
    ("W @ inv(X) @ diag(v) @ v", lambda e: e["W"] @ np.linalg.inv(e["X"]) @ e["v"] ** 2),
    ("[[X @ v, v]]", lambda e: np.stack([e["X"] @ e["v"], e["v"]], axis=1)),
]


def test_values_and_the_balls_around_them(subtests: pytest.Subtests, env: Env) -> None:
    for text, truth in VALUES:
        with subtests.test(text):
            wanted = truth(env)
            np.testing.assert_allclose(evaluate(parse(text), env), wanted, rtol=1e-10, atol=1e-12)
            if any(f"{atom}(" in text for atom in ("rank", "factor")):
                with pytest.raises(ProgramError, match=r"has no error bound\n  move it into 'let'"):
                    evaluate_ball(parse(text), env)
                continue
            ball = evaluate_ball(parse(text), env)
            assert ball.mid.shape == np.shape(wanted)
            assert (np.abs(ball.mid - wanted) <= ball.rad + 1e-12 * np.abs(ball.mid)).all()
            assert ball.rad.max(initial=0.0) <= 1e-11


def test_inverse_is_the_closed_extension() -> None:
    x = np.diag([1.0, 4.0, 0.0])
    inside, outside = np.array([[1.0, 2.0, 0.0]]), np.array([[1.0, 2.0, 1e-3]])
    text = parse("trace(W @ inv(X) @ W.T)")
    assert evaluate(text, {"X": x, "W": inside}) == pytest.approx(2.0, rel=1e-14)
    assert evaluate(text, {"X": x, "W": outside}) == np.inf
    assert evaluate(parse("trace(inv(X) @ (W.T @ W))"), {"X": x, "W": inside}) == pytest.approx(2.0)
    assert evaluate(parse("inv(X) @ W.T"), {"X": x, "W": outside}).tolist() == [[np.inf]] * 3
    assert evaluate(parse("trace(inv(X))"), {"X": x}) == np.inf
    assert evaluate(text, {"X": -x, "W": inside}) == np.inf
    assert evaluate(text, {"X": x * np.nan, "W": inside}) == np.inf
    assert evaluate(text, {"X": np.triu(np.ones((3, 3)), 1), "W": inside}) == np.inf
    tiny = np.diag([1.0, 4.0, 1e-12])  # small eigenvalues are not dropped
    assert evaluate(text, {"X": tiny, "W": outside}) == pytest.approx(2.0 + 1e6, rel=1e-9)


def test_no_warnings_from_values_that_do_not_exist() -> None:
    assert evaluate(parse("1 / x"), {"x": np.array([0.0, 2.0])}).tolist() == [np.inf, 0.5]
    assert np.isnan(evaluate(parse("sqrt(x)"), {"x": -1.0}))
    assert np.isinf(evaluate_ball(parse("1 / x"), {"x": np.array([0.0])}).rad).all()


def test_bounds_can_be_evaluated_with_their_error(subtests: pytest.Subtests) -> None:
    """Objective, value and certificate of shipped programs have balls, and small ones."""
    for name in program_names():
        with subtests.test(name):
            checked = shipped(name)
            program = checked.program
            rng = np.random.default_rng(3)
            sizes = dict.fromkeys(checked.scope.dims, 3)
            env: Env = {**sizes, "objective": 2.0}
            for key, known in checked.scope.types.items():
                shape = tuple(3 for _ in known.dims)
                made = rng.gamma(1.0, size=shape)
                made = made + made.T if known.symmetric and known.sign > 0 else np.array(made)
                env[key] = made @ made.T + np.eye(3) if known.psd else made
            if name == "barrier_step":  # which has no value beyond its barrier
                env |= {"alpha": 1e3, "c": np.full(3, 1e3)}
            exprs = [program.objective, program.value, program.certificate and program.certificate.expr]
            for expr in exprs:
                if expr is not None:
                    ball = evaluate_ball(expr, env)
                    off = abs(float(ball.mid) - float(evaluate(expr, env)))
                    assert off <= ball.rad + 1e-12 * abs(ball.mid)
                    assert ball.rad <= 1e-8 * abs(ball.mid)


def test_each_product_of_query_weighting_stands_once() -> None:
    shared = share(Program.load("query_weighting"))
    assert [(let.name, to_source(let.expr)) for let in shared.lets] == [
        ("shared 1", "W @ pinv(Q)"),
        ("a", "sum(shared 1 * shared 1, axis=0)"),
        ("D", "used_rows(Q, a)"),
        ("shared 2", "W @ pinv(D)"),
        ("c", "sum(shared 2 * shared 2, axis=0)"),
    ]
    assert [to_source(c.relation.left) for c in shared.requires] == ["rank(Q)", "shared 2 @ D"]
    assert shared.passing == {"shared 1", "shared 2"}


NESTED = """\
program nested
title "own"
source "none"
class closed form
given
    W: matrix[m, n] = workload.matrix
let
    a = sum(W @ pinv(W)) + sum(W @ pinv(W))
    b = sum(pinv(W))
minimize
    a + b
strategy
    W norm 2
bound
    l2_strategy
"""


def test_a_part_that_occurs_more_often_has_its_own_name() -> None:
    shared = share(Program.parse(NESTED))
    assert [(let.name, to_source(let.expr)) for let in shared.lets] == [
        ("shared 1", "pinv(W)"),
        ("shared 2", "W @ shared 1"),
        ("a", "sum(shared 2) + sum(shared 2)"),
        ("b", "sum(shared 1)"),
    ]


def test_sharing_undone_is_the_program(subtests: pytest.Subtests) -> None:
    """Putting the shared expressions back gives the lets and requirements as they stand."""
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            shared = share(program)
            known = {let.name: let.expr for let in shared.lets if let.name in shared.passing}

            def back(node: object, known: dict[str, Expr] = known) -> object:
                return rewrite(known[node.id], back) if isinstance(node, Name) and node.id in known else None

            lets = {
                let.name: rewrite(let.expr, back) for let in shared.lets if let.name not in shared.passing
            }
            assert lets == {let.name: let.expr for let in program.lets}
            for after, before in zip(shared.requires, program.requires, strict=True):
                assert rewrite(after.relation.left, back) == before.relation.left
            inverses = Counter(
                node
                for expr in [*(let.expr for let in shared.lets), *(c.relation.left for c in shared.requires)]
                for node in walk(expr)
                if isinstance(node, Apply) and node.atom == "pinv"
            )
            assert max(inverses.values(), default=1) == 1


def test_the_numbers_are_those_of_the_lets(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    instance = bind(Program.load("query_weighting"), w)
    plain = dict(instance.env)
    for let in instance.program.lets:
        plain[let.name] = evaluate(let.expr, plain)
        np.testing.assert_array_equal(instance.env[let.name], plain[let.name])
    assert not any(name.startswith("shared") for name in instance.env)
