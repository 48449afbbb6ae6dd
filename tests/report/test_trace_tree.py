"""The way from a text to an answer as a tree: true for kernels, cones, rounds, parts, steps and factors.

Guards trace_tree.py, derived_bound.py (terms) and run_solver.py (seconds of stages).
"""

import html
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt import Program, Solution, Workload, solve, trace
from mmopt.compiler import bind, scale
from mmopt.driver import solve_convex
from mmopt.driver.judge.derived_bound import recomputed, shown_terms
from mmopt.driver.judge.score_and_meaning import Candidate, bound_of
from mmopt.driver.run_solver import Best
from mmopt.errors import UndecidedError
from mmopt.report.trace_tree import ONE_CELL, Trace, trace_to_failure

PREFIX = Workload.from_matrix(np.tri(5), targets=[1.0, 2.0, 3.0, 1.5, 1.0])
OWN = """\
program own
given
    V: matrix[m, n] = workload.matrix
choose
    x: vector[n]
minimize
    sum((V @ x - 1)**2) + norm(x, 1)
subject to
    small: abs(x) <= 0.4
"""


def each(tree: Trace) -> Iterator[Trace]:
    yield tree
    for node in tree.nodes:
        yield from each(node)


def named(tree: Trace, name: str) -> list[Trace]:
    return [node for node in each(tree) if node.name == name]


def adds_up(tree: Trace) -> None:
    """No second is counted in two stages: together they take no longer than the whole."""
    assert tree.seconds is not None
    assert sum(node.seconds or 0.0 for node in tree.nodes) <= tree.seconds
    assert all(node.seconds is None or node.seconds >= 0 for node in each(tree))


def test_a_conic_solver_says_what_it_got() -> None:
    s = solve(PREFIX, "l2_strategy", solver="clarabel", reduce=False)
    tree = trace(s, PREFIX)
    names = [node.name for node in tree.nodes if node.name != "loading"]  # once in a process
    assert names == ["text", "checked", "instance", "reductions", "solver", "point", "repair", "evaluation"]
    (solver,) = named(tree, "solver")
    below = {node.name: node.words for node in solver.nodes}
    # One block of m + n rows and an inequality for each cell: 55 + 5 rows, the triangle of X and that of T.
    assert below["gets"].startswith("5 inequalities, 1 psd cone of size 10, 60 × 30 with ")
    assert below["solver status"] == s.status.raw and int(below["iterations"]) == s.iterations
    # What the solver gets is smaller by the factor: columns of length one.
    factor = np.linalg.norm(PREFIX.root) / np.sqrt(5)
    assert below["scaling"].startswith(f"queries ÷ {factor:.3g} (the norm of W / √n)")
    sent = scale(bind(Program.load("l2_strategy"), PREFIX))[0].env["W"]
    assert np.linalg.norm(sent) == pytest.approx(np.sqrt(5))
    assert solver.words == f"clarabel {s.solver_version}"
    (handed,) = (node for node in named(tree, "minimize") if node.nodes)
    assert [node.name for node in handed.nodes] == ["convex", "solver gets"]
    (root,) = named(tree, "W")
    assert "workload.root" in root.words and root.facts["rank"] == 5
    assert root.facts["norm"] == pytest.approx(np.linalg.norm(PREFIX.root))
    # tr(W inv(X) W.T), diag(X) and 1 are the sides; X in two, W twice.
    (checked,) = named(tree, "checked")
    sides = [side for line in checked.nodes for side in line.nodes if "sign" in side.facts]
    assert checked.facts["lines"] == 2
    assert [side.facts["curvature"] for side in sides] == ["convex", "affine", "constant"]
    assert [(side.facts["nodes"], side.facts["sign"]) for side in sides[1:]] == [(2, "≥ 0"), (1, "≥ 0")]
    assert checked.facts["nodes"] == sum(side.facts["nodes"] for side in sides)
    for counts in (checked.facts["curvatures"], checked.facts["signs"]):
        assert sum(counts.values()) == checked.facts["nodes"]
    (repair,) = (node for node in named(tree, "repair") if node.facts)
    assert repair.facts["missed before"] == s.status.violation
    assert 0 <= repair.facts["X moved by part"] < 1e-3
    judged = {node.name: node.words for node in named(tree, "evaluation")[0].nodes}
    rows = dict(s.rows())
    (judge,) = named(tree, "evaluation")
    assert judge.facts["objective"] == s.objective and judge.facts["gap"] == s.gap
    assert judge.facts["bound_grade"] == "proved"
    assert [dict(node.facts) for node in judge.nodes if node.name == "gap"] == [
        {"gap": s.gap, "gap_grade": "proved"}
    ]
    instance, size = named(tree, "instance")[0], {"r": 5, "n": 5}
    assert instance.facts == {"queries": 5, "cells": 5, "rank": 5, "sizes": size}
    (gets,) = named(tree, "gets")
    assert gets.facts == {
        "inequalities": 5,
        "psd cones of size 10": 1,
        "rows": 60,
        "columns": 30,
        "nonzeros": int(below["gets"].split()[-2]),
    }
    (chosen,) = (node for node in named(tree, "X") if node.words == "variable")
    assert "follows from a block" in chosen.nodes[0].words
    assert judged == {name: rows[name] for name in judged} and {"objective", "bound", "gap"} <= set(judged)
    assert tree.seconds == s.seconds["total"]
    adds_up(tree)
    assert max(map(len, str(tree).splitlines())) <= 100
    assert trace(s).nodes[2].name == "reductions", "without the workload its numbers are left out"


def test_a_kernel_has_no_cones_and_its_own_words() -> None:
    s = solve(PREFIX, "l2_strategy")
    tree = trace(s, PREFIX)
    (kernel,) = named(tree, "kernel")
    assert kernel.words.startswith("nuclear ")
    assert {node.name for node in kernel.nodes} == {"cells", "gets", "solver status", "iterations"}
    (gets,) = named(tree, "gets")
    assert "of l2_strategy unchanged, not as cones; interior point on the multipliers" in gets.words
    assert not named(tree, "solver") and not named(tree, "solver gets")


def test_parts_are_nodes() -> None:
    apart = Workload.from_matrix(np.kron(np.eye(2), np.tri(4)) * np.repeat([1.0, 3.0], 4)[:, None])
    s = solve(apart, "l2_strategy", solver="conic")
    tree = trace(s, apart)
    assert [node.words for node in named(tree, "by")] == list(s.reductions) != []
    assert [node.facts["part"] for node in named(tree, "solver")] == [1, 2]
    assert named(tree, "reductions")[0].facts == {
        "reductions": 1,
        "parts": 2,
        "columns of the largest matrix": 4,
    }
    assert "part" not in named(tree, "repair")[-1].facts  # of what the parts are lifted to
    for weights, counts in (([1.0, 3.0, 3.0], {1: 1, 2: 2}), ([2.0, 2.0, 2.0], {1: 3})):
        blocks = np.kron(np.eye(3), np.tri(4)) * np.repeat(weights, 4)[:, None]
        tree = trace(solve(Workload.from_matrix(blocks), "l2_strategy"))
        (together,) = named(tree, "combined")
        assert together.words.startswith(
            ", ".join(f"{n} {'copy' if n == 1 else 'copies'} of part {i}" for i, n in counts.items())
            + ", then "
        )
        parts = {node.facts["part"]: node.facts["objective"] for node in named(tree, "point")}
        (judge,) = named(tree, "evaluation")
        assert judge.facts["objective"] == pytest.approx(sum(n * parts[part] for part, n in counts.items()))


def test_rounds_and_starts_are_nodes() -> None:
    small = Workload.from_matrix(np.tri(3))
    s = solve(small, "min_error", starts=2, max_iterations=2, history=True)
    (solver,) = named(trace(s, small), "solver")
    adds_up(trace(s, small))
    assert solver.seconds is not None and solver.seconds > solver.facts["compiling took"] > 0
    starts = [node for node in solver.nodes if node.name.startswith("start ")]
    assert [row for node in starts for row in node.facts["rounds"]] == [dict(row) for row in s.history]
    best = min(starts, key=lambda node: min(r.get("objective", np.inf) for r in node.facts["rounds"]))
    assert [node.name for node in starts if node.nodes] == [best.name], "of the others a line each"
    rounds = [node for node in best.nodes if node.name == "round"]
    assert [dict(node.facts) for node in rounds] == best.facts["rounds"]
    assert [part.name for part in rounds[0].nodes] == [
        "direction D, its upper triangle by rows",
        "eigenvalue",
    ]
    assert [node.words for node in solver.nodes if node.name == "solves"] == [str(len(s.history))]
    words = ("compiling", "cvxpy and solver", "repair and score")
    each = {name: solver.facts[f"{name} took"] for name in words}
    assert min(each.values()) > 0 and sum(each.values()) <= solver.seconds
    assert 0 < solver.facts["solving by its own clock took"] <= each["cvxpy and solver"]
    (rank,) = (node for node in named(trace(s, small), "exact") if node.nodes)
    assert "not passed" in rank.nodes[-1].words
    smooth = solve(small, "p_identity", solver="lbfgs", starts=2)
    (solver,) = named(trace(smooth, small), "solver")
    assert [len(node.facts["rounds"]) for node in solver.nodes if "rounds" in node.facts] == [1, 1]


def test_of_many_rounds_the_first_and_last_are_shown_and_a_point_of_no_round_is_said() -> None:
    """The identity is better than what these rounds find; a round without an objective says why."""
    small = Workload.from_matrix(np.tri(3))
    s = solve(small, "min_error", starts=1, history=True)
    row = dict(s.history[-1])
    del row["objective"]
    history = (*({**s.history[0], "round": i} for i in range(1, 10)), row)
    tree = trace(replace(s, history=history), small)
    (start,) = named(tree, "start 1")
    shown = [node.facts["round"] if node.facts else node.words for node in start.nodes]
    assert shown == [1, 2, 3, "5 more", 9, row["round"]]
    assert "no objective" in start.nodes[-1].words and "no objective" not in start.nodes[0].words
    assert len(start.facts["rounds"]) == 10
    (replaced,) = named(tree, "replaced")
    assert replaced.words.startswith("by the identity, which no round improves on, objective ")
    assert replaced.facts["objective"] == pytest.approx(s.objective, rel=1e-9)
    assert {"replaced", "repair"} <= {node.name for node in tree.nodes}


def test_steps_and_factors_have_ways_of_their_own() -> None:
    s = solve(PREFIX, "eigen_design")
    tree = trace(s, PREFIX)
    (step,) = named(tree, "step weighting")
    (inner,) = step.nodes
    assert inner.name == "query_weighting" and named(inner, "kernel") and named(inner, "instance")
    many = solve(PREFIX, "low_rank_gaussian", max_iterations=3)
    shown = [node.name for node in trace(many, PREFIX).nodes if node.name.startswith("step ")]
    assert len(shown) < len(many.steps)
    side = mmopt.Domain.of(a=[str(i) for i in range(30)], b=[str(i) for i in range(20)])
    product = side.product(a="prefix", b="prefix")
    factors = solve(product, "l2_strategy")
    assert factors.is_in_factors
    assert [node.name for node in trace(factors, product).nodes if node.name.startswith("step")] == [
        "step a",
        "step b",
    ]


def test_a_solver_that_failed_is_a_node_before_the_one_that_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    once, tried = solve_convex.run_solver, []

    def failing(task: Any, row: Any, best: Any, started: float) -> Any:
        result = once(task, row, best, started)
        tried.append(row.name)
        if len(tried) == 1:
            raise UndecidedError("it gave no point")
        return result

    monkeypatch.setattr(solve_convex, "run_solver", failing)
    s = solve(Workload.from_matrix(np.tri(3)), Program.parse(OWN), derive=False)
    assert [node.words.split()[0] for node in named(trace(s), "solver")] == tried and len(tried) == 2


def test_a_bound_off_the_lines_is_a_node_and_files_keep_the_way(tmp_path: Path) -> None:
    w = Workload.from_matrix(np.tri(3))
    s = solve(w, Program.parse(OWN))
    tree = trace(s, w)
    assert [node.words for node in named(tree, "derive")] == ["a bound from the constraints"]
    adds_up(tree)
    again = Solution.load(s.save(tmp_path / "s.npz"))
    assert str(trace(again, w)) == str(tree)
    page = tree.html()
    assert [page.count(tag) for tag in ("<ul", "</ul>", "<li", "<script", "src=")] == [
        *[1 + sum(bool(node.nodes) for node in each(tree))] * 2,
        len(list(each(tree))),
        *(0, 0),
    ]
    assert all(html.escape(text) in page for node in each(tree) for text in (node.name, node.words))
    assert "<b>a&lt;b</b>" in Trace("a<b").html()
    assert json.loads(json.dumps(tree.summary(), allow_nan=False))["name"] == "own"
    with pytest.raises(mmopt.ResultError):
        trace(s, PREFIX)


def multipliers(tree: Trace, row: str = "bound") -> dict[str, Trace]:
    (judge,) = [node for node in tree.nodes if node.name == "evaluation"]
    return {
        n.name.removeprefix("multiplier "): n
        for node in judge.nodes
        if node.name == row
        for n in node.nodes
        if n.name.startswith("multiplier ")
    }


LEAST_SQUARES = """\
program ls
let
    A = [[1, 2, 0], [0, 1, -1], [3, 0, 1], [1, 1, 1]]
    b = [[1], [2], [-1], [0.5]]
choose
    x: vector[3] >= 0
minimize
    sum((A @ x - b)**2)
subject to
    cap: sum(x) <= 0.7
"""
LYAPUNOV = """\
program lyapunov
let
    A = [[-1, 2], [0, -0.5]]
choose
    P: psd[2, 2]
minimize
    trace(P)
subject to
    decay: [[A.T @ P + P @ A + eye(2)]] << 0
    floor: [[P - eye(2)]] >> 0
"""
LP = """\
program lp
choose
    x: vector[2] >= 0
maximize
    3*x[0] + 2*x[1]
subject to
    a: x[0] + x[1] <= 4
    b: x[0] + 3*x[1] <= 6
"""


def terms(tree: Trace) -> dict[str, dict[str, Any]]:
    (bound,) = [node for node in named(tree, "evaluation")[0].nodes if node.name == "bound"]
    return {node.name: dict(node.facts) for node in bound.nodes if "value" in node.facts}


@pytest.mark.parametrize(
    "text",
    [OWN, OWN.replace("minimize", "maximize").replace("sum((", "-sum((").replace("+ norm", "- norm"), LP],
    ids=["least", "largest", "without a workload"],
)
def test_a_derived_bound_is_the_sum_of_its_terms(text: str) -> None:
    """To the last digits; each printed number is the number."""
    w = None if text is LP else Workload.from_matrix(np.tri(3))
    s = solve(w, Program.parse(text))
    shown = terms(trace(s))
    total = shown.pop("sum")["value"]
    assert list(shown) == ["constant", "term of x", "rounding"] and total == s.bound
    assert sum(row["value"] for row in shown.values()) == pytest.approx(total, rel=1e-14)
    sign = 1.0 if s.sense == "minimize" else -1.0
    assert sign * shown["rounding"]["value"] <= 1e-15 * abs(total), "to the safe side"
    assert abs(shown["rounding"]["value"]) < 1e-11 * abs(total)
    # The range has the point, and its product with the residual is no less than the term.
    x, row = s.variables["x"], shown["term of x"]
    assert row["range from"] <= x.min() and x.max() <= row["to"]
    farthest = max(abs(row["range from"]), abs(row["to"]))
    assert abs(row["value"]) <= x.size * row["its largest entry"] * farthest * (1 + 1e-6)
    constant = named(named(trace(s), "evaluation")[0], "constant")[0]
    assert constant.words.startswith(f"value {shown['constant']['value']:.16g}, ")


def test_the_terms_of_a_linear_program_are_those_by_hand() -> None:
    """At y = (3, 0) the constant is 12 and what is left of -3 x0 - 2 x1 is x1."""
    s = solve(None, Program.parse(LP))
    tree = trace(s)
    shown = terms(tree)
    assert shown["constant"]["value"] == pytest.approx(12, abs=1e-8)
    assert shown["term of x"]["residual's norm"] == pytest.approx(1, abs=1e-6)
    (point,) = named(tree, "point")
    assert "objective 12," in point.words + ",", "to the nearest"
    assert named(tree, "instance")[0].words == "no queries are used" and named(tree, "solver gets")
    (gap,) = named(tree, "gap")
    assert [node.words for node in gap.nodes] == ["bound / objective - 1, rounded up", "1e-06"]
    (at,) = named(tree, "at x")
    assert at.facts["values"] == s.variables["x"].tolist() and at.words.startswith("[4, ")


def printed(numbers: str) -> np.ndarray[Any, Any]:
    return np.array([float(number) for number in numbers.strip("[]").replace(";", ",").split(",")])


CAPPED = """\
program capped
choose
    {chosen}
minimize
    {objective}
subject to
    cap: {line}
"""


@pytest.mark.parametrize(
    ("chosen", "objective", "line"),
    [
        ("x: vector[3] >= 0", "sum((x - [[1], [2], [-1]])**2)", "sum(x) <= 0.7"),
        ("x: vector[3]", "-sum((x - [[1], [2], [-1]])**2)", "sum(x) <= 0.7"),
        ("x: psd[2, 2]", "trace([[2, 1], [1, 1]] @ x)", "x >> [[1, 0.5], [0.5, 1]]"),
        ("x: symmetric[2, 2]", "trace([[2, 1], [1, 1]] @ x)", "x >> [[1, 0.5], [0.5, 1]]"),
    ],
)
@pytest.mark.parametrize("by_hand", [{}, {"cap": 0.0}])
def test_a_term_is_what_its_residual_and_its_range_give(
    chosen: str, objective: str, line: str, by_hand: dict[str, float]
) -> None:
    """Entry by entry from the printed words, at the multipliers of the bound and at none."""
    text = CAPPED.format(chosen=chosen, objective=objective, line=line)
    text = text.replace("minimize", "maximize") if objective.startswith("-") else text
    s = solve(None, Program.parse(text))
    instance = bind(Program.parse(text), mmopt.Workload.from_matrix([[1.0]]))
    saved = {**s.derived_from, **({"line cap": 0 * s.derived_from["line cap"]} if by_hand else {})}
    derived = recomputed(instance, s.variables, saved)
    sign = 1.0 if s.sense == "minimize" else -1.0
    for row in shown_terms(derived.terms):
        if row["name"] != "term of x":
            continue
        ends = [printed(end) for end in str(row["range"]).split(" to ")]
        residual = sign * printed(str(row["residual"]))
        if "entries" in str(row["as"]):  # else it is at least that
            products = [
                np.where(residual == 0, 0.0, residual * np.nan_to_num(end, posinf=1e99)) for end in ends
            ]
            largest = np.abs(products).max(initial=1e-9)
            assert largest < 1e50, "a finite term has no infinite range"
            least = float(np.minimum(*products).sum())
            assert sign * float(row["value"]) == pytest.approx(least, abs=1e-5 * largest)
        else:
            assert float(row["value"]) == 0 or chosen.startswith("x: psd")


def test_a_line_without_a_multiplier_is_said_to_count_in_the_ranges() -> None:
    s = solve(None, Program.parse(LEAST_SQUARES))
    (node,) = named(trace(s), "multiplier of cap")
    assert float(node.words) == pytest.approx(0.6, abs=1e-6), "of the bound, which needs it"
    without = {name: y for name, y in s.derived_from.items() if name != "line cap"}
    (node,) = named(trace(replace(s, derived_from=without)), "multiplier of cap")
    assert node.words.startswith("0: ")


@pytest.mark.parametrize("name", ["l2_strategy", "eigen_design"])
def test_the_numbers_of_a_certificate_make_its_bound(name: str) -> None:
    s = solve(PREFIX, name)
    (bound,) = [node for node in named(trace(s, PREFIX), "evaluation")[-1].nodes if node.name == "bound"]
    values = {node.name: node.facts["value"] for node in bound.nodes if "value" in node.facts}
    root, d = values["‖W diag(√d)‖∗"], values["sum(d)"]
    assert root**2 / d == pytest.approx(s.bound, rel=1e-12)
    assert values["‖W diag(√d)‖∗² / sum(d)"] == pytest.approx(s.bound, rel=1e-12)
    multiplier = np.array(next(node.facts["values"] for node in bound.nodes if "values" in node.facts))
    assert d == pytest.approx(multiplier.sum(), rel=1e-12)
    scaled = np.linalg.svd(PREFIX.root * np.sqrt(multiplier), compute_uv=False).sum()
    assert root == pytest.approx(scaled, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("l2_strategy", {"solver": "clarabel"}),
        ("l2_strategy", {}),
        ("l2_strategy_lmi", {"solver": "clarabel"}),
        ("fitness_for_use", {}),
        ("eigen_design", {}),
        ("minimax_variance", {}),
    ],
)
def test_multipliers_below_a_bound_are_those_of_its_certificate(name: str, options: dict[str, Any]) -> None:
    """The certificate at what is shown is the bound; at others it is not."""
    s = solve(PREFIX, name, **options)
    shown = multipliers(trace(s))
    is_shared = Program.load(name).bound == "l2_strategy"
    assert shown and all(key.endswith(" of l2_strategy") == is_shared for key in shown)
    values = {
        key.removeprefix("of ").removesuffix(" of l2_strategy"): np.array(node.facts["values"])
        for key, node in shown.items()
    }
    instance = bind(Program.load("l2_strategy" if is_shared else name), PREFIX)
    assert bound_of(instance, values) == pytest.approx(s.bound, rel=1e-12)
    first = next(iter(values))
    for worse in ({**values, first: values[first] ** 2}, {first: np.zeros_like(values[first])}):
        assert bound_of(instance, worse) != pytest.approx(s.bound, rel=1e-6)
    (node, *_) = shown.values()
    assert node.words.strip("[]").split(", ") == [f"{y:.6g}" for y in np.ravel(node.facts["values"])]


def test_multipliers_below_a_derived_bound_are_those_that_it_was_derived_from() -> None:
    """Not the solver's; of many the norm, the least and the largest, in their cone."""
    w = Workload.from_matrix(np.tri(3))
    s = solve(w, Program.parse(OWN))
    (small,) = multipliers(trace(s)).values()
    instance = bind(Program.parse(OWN), w)
    values = np.array(small.facts["values"])

    def derived(y: np.ndarray[Any, Any]) -> Any:
        return recomputed(instance, s.variables, {**s.derived_from, "line small": y})

    assert derived(values).bound == pytest.approx(s.bound, rel=1e-12)
    assert derived(2 * values).bound != pytest.approx(s.bound, rel=1e-6)
    assert not np.array_equal(values, s.multipliers["small"])
    outside = derived(values - np.array([0.0, 1e-7, 1e-7]))
    assert outside.multipliers["small"].min() == 0.0, "what is kept is what the bound was computed from"
    one = solve(w, Program.parse(f"{OWN}    total: sum(x) <= 0.3\n"))
    total = multipliers(trace(one))["of total"]
    assert (
        total.facts == {"entries": 1, "values": float(one.derived_from["line total"])}
        and total.facts["values"]
    )
    assert total.words == f"{total.facts['values']:.6g}"
    many = solve(Workload.from_matrix(np.tri(8)), Program.parse(OWN))
    (small,) = multipliers(trace(many)).values()
    y = many.derived_from["line small"]
    assert small.facts == {"entries": 8, "norm": pytest.approx(np.linalg.norm(y))} | {
        "least": y.min(),
        "largest": y.max(),
    }
    assert small.words.startswith("entries 8, norm ")


def test_a_bound_by_a_sign_or_of_factors_has_no_multipliers_of_its_own() -> None:
    zero = OWN.replace("sum((V @ x - 1)**2) + norm(x, 1)", "norm(x, 1)")
    s = solve(Workload.from_matrix(np.tri(3)), Program.parse(zero))
    unused = {**s.derived_from, "line small": np.ones(3)}  # less than the sign proves
    assert s.bound == s.derived_bound == 0 and not multipliers(trace(replace(s, derived_from=unused)))
    side = mmopt.Domain.of(a=[str(i) for i in range(30)], b=[str(i) for i in range(20)])
    tree = trace(solve(side.product(a="prefix", b="prefix"), "l2_strategy"))
    assert not multipliers(tree)
    assert [list(multipliers(node.nodes[0])) for node in tree.nodes if node.name.startswith("step")] == [
        ["of sensitivity"],
        ["of sensitivity"],
    ]


def test_a_solver_that_was_stopped_may_reach_the_gap_after_all() -> None:
    """Its points are replaced by one of a problem for the bound: no warning speaks of an earlier gap."""
    program = Program.parse(LEAST_SQUARES)
    s = solve(None, program, max_iterations=3)
    tree = trace(s)
    assert s.gap is not None and s.gap <= 1e-6 and s.status.stop == "gap reached" and not s.warnings
    (point,), (replaced,) = named(tree, "point"), named(tree, "replaced")
    assert point.facts["gap"] > 1e-3 and replaced.facts["objective"] == s.objective
    assert [row.facts["missed before"] for row in named(tree, "repair")][-1] == s.status.violation
    early = solve(None, program, max_iterations=3, derive=False)
    assert early.status.stop == "iteration limit" and "iteration limit of 3" in early.warnings[0]


def test_what_was_missed_before_a_move_inside_is_one_figure_everywhere() -> None:
    s = solve(None, Program.parse(LYAPUNOV))
    (repair,) = named(trace(s), "repair")
    assert repair.facts["missed before"] == s.status.violation == s.summary()["status"]["violation"] > 0
    assert repair.facts["missed after"] == 0 < repair.facts["P moved by part"]
    moved = "made to fit the declared types and moved inside the constraints to prove that they hold"
    assert repair.facts["name"] == moved and "up to 1e-10" in repair.words and s.status.violation <= 1e-10


def test_terms_next_to_nothing_do_not_alarm() -> None:
    """A solver's -1e-12 misses x >= 0 by all of its terms: the figure is how far the point was moved."""
    text = "program own\nchoose\n    {}\nminimize\n    {}\nsubject to\n    signs: x >= 0\n    cap: {} <= 2\n"
    for s in (
        solve(None, Program.parse(text.format("x: vector[2]", "(x[0] - 3)**2 + (x[1] + 1)**2", "sum(x)"))),
        solve(None, Program.parse(text.format("x: scalar\n    y: scalar", "(x + 1)**2 + (y - 3)**2", "y"))),
    ):
        (repair,) = named(trace(s), "repair")
        assert repair.facts["missed before"] == s.status.violation < 1e-6
        assert {f"{name} moved by part" for name in s.variables} <= repair.facts.keys()
    instance = bind(Program.parse(text.format("x: scalar\n    y: scalar", "x + y", "y")), ONE_CELL)
    for missed, x, figure in ((1.0, -1e-2, 1e-2), (1e-4, -1e-6, 1e-4), (0.5, -3.0, 0.5)):
        best = Best(instance, unrepaired={"x": np.float64(x), "y": np.float64(1)}, missed=missed)
        best.point = Candidate({"x": np.float64(0), "y": np.float64(1)}, {}, 1.0, missed, 0.0)
        assert best.scored(best.point)["violation"] == pytest.approx(figure)


def test_a_bound_can_be_computed_by_hand_from_the_slopes_shown() -> None:
    """A tangent of slope s of the sum of entropies is exp(-s - 1) at 0, entry by entry."""
    text = (
        "program own\ngiven\n    v: vector[n]\nchoose\n    p: vector[n] >= 0\nmaximize\n    sum(entropy(p))\n"
        "subject to\n    one: sum(p) == 1\n    mean: v @ p == 4.5\n"
    )
    s = solve(None, Program.parse(text), givens={"v": np.arange(1.0, 7.0)})
    constant = next(node for node in named(trace(s), "constant") if "value" in node.facts)
    slope = np.array(json.loads(constant.facts["slope of tangent 1 (entropy)"]))
    by = {name: float(node.facts["values"]) for name, node in multipliers(trace(s)).items()}
    value = np.exp(-slope - 1).sum() + by["of one"] + 4.5 * by["of mean"]
    assert value == pytest.approx(constant.facts["value"], abs=1e-5)
    assert "affine majorant at 0, tangents for curved atoms" in constant.words


def test_a_direction_of_numbers_is_shown() -> None:
    endless = Program.parse(
        "program own\nchoose\n    x: scalar\n    y: scalar\nmaximize\n    x + 3*y\nsubject to\n"
        "    py: y >= 0\n    first: x + 2*y <= 3\n"
    )
    for solver in ("clarabel", "highs"):
        with pytest.raises(mmopt.SolverError) as refused:
            solve(None, endless, solver=solver)
        tree = trace_to_failure(endless, None, None, refused.value)
        shown = [float(named(tree, f"direction of {name}")[0].words) for name in "xy"]
        assert shown == pytest.approx([-1, 0.5], rel=1e-3)
        assert "'x' falling by 1 a step" in str(refused.value)


INFEASIBLE = """\
program no_way
choose
    x: vector[2] >= 0
minimize
    x[0]**2 + x[1]**2
subject to
    low: x[0] + 2*x[1] >= 3
    high: sum(x) <= 1
"""


def test_a_failure_has_the_solver_its_proof_and_its_direction() -> None:
    """By hand: 1 * low + 2 * high is 1 + x0 <= 0."""
    with pytest.raises(mmopt.SolverError) as refused:
        solve(None, Program.parse(INFEASIBLE))
    assert {name: float(y) for name, y in refused.value.multipliers.items()} == pytest.approx(
        {"low": 1, "high": 2}, abs=1e-6
    )
    tree = trace_to_failure(Program.parse(INFEASIBLE), None, None, refused.value)
    (solver,), (failed,) = named(tree, "solver"), named(tree, "error")
    below = {node.name: node for node in (*solver.nodes, *failed.nodes)}
    assert int(below["iterations"].words) > 0 and below["solver status"].words and solver.seconds is not None
    assert [below[f"multiplier {name}"].words for name in ("low", "high")] == ["1", "2"]
    assert below["sum"].facts["value"] == pytest.approx(1, abs=1e-6)
    assert below["term of x"].facts["its largest entry"] == pytest.approx(1, abs=1e-6)
    assert " from the constraints relaxed by up to " in below["term of x"].facts["by"]
    endless = Program.parse(INFEASIBLE.replace("**2", "").replace("+ x[1]", "- 2*x[1]").replace("high", "# "))
    with pytest.raises(mmopt.SolverError) as refused:
        solve(None, endless)
    direction = refused.value.direction["x"]
    assert (
        np.abs(direction).max() == 1
        and direction @ [1, -2] < 0 <= direction @ [1, 2]
        and direction.min() >= 0
    )
    tree = trace_to_failure(endless, None, None, refused.value)
    assert named(tree, "direction of x")[0].facts["values"] == direction.tolist()
    assert named(tree, "solver")[0].seconds is not None


def test_every_program_has_its_way(subtests: pytest.Subtests) -> None:
    """Whatever solves it by default: a kernel got no cones."""
    for name in ("a_optimal_design", "fitness_for_use", "minimax_variance", "augment", "fitness_softmax"):
        with subtests.test(name):
            s = solve(PREFIX, name)
            tree = trace(s, PREFIX)
            assert (tree.name, tree.nodes[-1].name) == (name, "evaluation")
            for node in each(tree):
                assert node.name and (node.name != "kernel" or "gets" not in node.facts)
