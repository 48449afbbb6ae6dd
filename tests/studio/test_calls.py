"""A page gets plain data for whatever it asks: what is wrong is a problem in words, and no text reads a file.

Guards mmopt/studio/calls.py.
"""

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.language import Program, program_names
from mmopt.studio.calls import (
    CELLS,
    TEXT_BYTES,
    Bound,
    Combinations,
    Offers,
    PageCall,
    Row,
    Solve,
    TextCheck,
    noise_scales,
    solver_names,
    workload_of,
)
from tests.tolerances import FINE, GAP, ROUNDING, SINGLE_STEP

L2 = Program.load("l2_strategy").text
OPTIMUM = 4.60786165  # of L2 for the prefixes of 3 cells
# Not for L2.
UNFIT = (
    *(
        "sectors",
        "weighting",
        "p_identity",
        "signed_rows",
        "softmax",
        "barrier",
        "low_rank",
        "banded",
        "qoco",
        "pairs",
        "many_pairs",
    ),
)
BOUNDED = [n for n in program_names() if (p := Program.load(n)).certificate or p.bound]
LONG = ("min_error", "low_rank", "fitness_refined")
TAGS = {
    *(
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
    ),
    *("msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "menclose"),
}
WRONG_WORKLOADS: list[dict[str, Any]] = [
    {"x": 1},
    *({"kind": value} for value in ("no", "", {}, [], None, 1)),
    *({"cells": value} for value in (1, CELLS + 1, -3, True, 2.5, 1e308, 10**400, "8", None, [8])),
    *({"weight": value} for value in ({}, "a", [1], 1, {"query": 0}, {"times": 2.0}, {"query": 0, "x": 1})),
    *({"weight": {"query": q, "times": 2.0}} for q in (-1, 8, 10**400, 0.5, "0", [], None)),
    *({"weight": {"query": 0, "times": t}} for t in (0, 1e-4, 1e4, -1, 10**400, float("inf"), "2", None)),
    *({"kind": "file", "file": value} for value in ({}, None, "", "junk", "a: [", "x" * (TEXT_BYTES + 1))),
]
REFUSED = "refused", "too large", "does not apply"
HEAD = "program p\nchoose\n    x: scalar\n"
UNLISTED = (
    "own:solve",
    "os:system",
    "../x",
    "/etc/passwd",
    "mmopt.solvers:x",
    "conic",
    "all",
    "",
    "x" * 9000,
)


def answered(call: PageCall) -> dict[str, Any]:
    """The answer, which is JSON without NaN."""
    answer = call.result(lambda *_: None)
    assert json.loads(json.dumps(answer, allow_nan=False))
    return answer


def trees(value: Any) -> Iterator[list[Any]]:
    """The formulas in an answer."""
    if isinstance(value, list) and value[:1] == ["math"]:
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from trees(one)


def tags(tree: list[Any]) -> Iterator[str]:
    yield tree[0]
    for part in tree[2:]:
        if isinstance(part, list):
            yield from tags(part)


def nodes(sides: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for side in sides:
        yield side
        yield from nodes(side["parts"])


def test_every_shipped_program_is_typeset_in_plain_data(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            lines = Program.load(name).text.splitlines()
            answer = answered(TextCheck(text="\n".join(lines)))
            assert answer["problems"] == [] and answer["program"]["name"] == name
            places = [n["place"] for line in answer["program"]["lines"] for n in nodes(line["sides"])]
            assert any(places) == bool(places)
            for row, column, width in filter(None, places):
                assert 1 <= row <= len(lines) and column >= 1 and width >= 1
                assert column - 1 < len(lines[row - 1])
            assert {tag for tree in trees(answer["program"]) for tag in tags(tree)} <= TAGS


def test_mistakes_come_in_order_and_a_wrong_curvature_keeps_the_trees() -> None:
    text = f"{HEAD}minimize x\nsubject to\n    one: sqrt(x) <= 1\n    two: x**2 >= 1\n"
    answer = answered(TextCheck(text=text))
    assert [problem["line"] for problem in answer["problems"]] == [6, 7]
    assert [line["blamed"] is not None for line in answer["program"]["lines"]] == [False, True, True]
    names = answered(TextCheck(text=text.replace("sqrt(x)", "sqrt(y)")))
    assert [problem["line"] for problem in names["problems"]] == [6] and names["program"] is None


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800 <b>", "(" * TEXT_BYTES]
    + [("program p\nchoose\n    x\nminimize " + bracket * TEXT_BYTES)[:TEXT_BYTES] for bracket in "([-"],
)
def test_odd_and_deep_texts_are_mistakes(text: str) -> None:
    assert answered(TextCheck(text=text))["problems"]


def test_a_long_text_is_refused() -> None:
    assert answered(TextCheck(text="x" * (TEXT_BYTES + 1)))["stop"] == "too large"
    assert answered(TextCheck(text="é" * (TEXT_BYTES // 2 + 1)))["stop"] == "too large"
    assert "problems" in answered(TextCheck(text="é" * (TEXT_BYTES // 2)))


def test_html_stays_a_text() -> None:
    html = "<img src=x onerror=alert(1)>"
    program = answered(
        TextCheck(
            text=f'program p\ntitle "{html}"\nchoose\n    x: scalar\nminimize x\nsubject to\n    x >= 1\n'
        )
    )["program"]
    assert program["title"] == html


@pytest.mark.parametrize("kind", ["prefix", "ranges", "tables"])
@pytest.mark.parametrize("cells", [2, 3, CELLS])
def test_each_shape_of_a_workload(kind: str, cells: int) -> None:
    assert 2 <= workload_of(kind, max(cells, 4) if kind == "tables" else cells).n <= CELLS


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({"query": 1.5, "times": 2}, "'Give query': 2.5, expected a whole number from 1 to 4"),
        ({"query": 4, "times": 2}, "'Give query': 5, expected a whole number from 1 to 4"),
        (
            {"query": 0, "times": 0},
            "'a weight of': 0, expected 0.001 to 1,000; empty counts as 0",
        ),
    ],
)
def test_a_wrong_weight_names_its_field(weight: dict[str, Any], message: str) -> None:
    asked = {"cells": 4, "weight": weight}
    problem = answered(Solve(text=Program.load("l2_strategy").text, workload=asked))["problem"]
    assert problem["message"] == message
    # A program that asks nothing of a workload is solved whatever is set beside it.
    own = "program p\nchoose x: vector[2] >= 0\nminimize sum(x)\nsubject to a: x >= 1\n"
    for other in (asked, {"kind": "file", "file": "no: ["}):
        assert answered(Solve(text=own, workload=other))["solution"]["objective"] == pytest.approx(2.0)


def test_a_weight_multiplies_the_squared_error_of_one_query() -> None:
    weights = workload_of("prefix", 4, {"query": 2, "times": 5}).weights
    assert weights.tolist() == [1.0, 1.0, 5.0, 1.0]


def test_what_is_no_workload_is_a_problem(subtests: pytest.Subtests) -> None:
    for workload in WRONG_WORKLOADS:
        with subtests.test(str(workload)[:60]):
            answer = answered(Solve(text=L2, workload=workload, solver="nuclear"))
            assert answer["problem"]["message"] and answer["stop"] in REFUSED


def test_solvers_are_those_listed_and_nothing_else_is_imported(subtests: pytest.Subtests) -> None:
    before, workload = set(sys.modules), {"cells": 3}
    for name in UNLISTED:
        with subtests.test(name[:20]):
            for call in (
                Solve(text=L2, workload=workload, solver=name),
                Row(text=L2, workload=workload, solver=name),
                Combinations(text=L2, workload=workload, solvers=[name]),
            ):
                answer = answered(call)
                assert "no such solver" in json.dumps(answer)
    assert set(sys.modules) == before
    for wrong in ([{}], [[]], [1]):
        assert "problem" in answered(Combinations(text=L2, workload=workload, solvers=wrong))


def chosen_of(solution: dict[str, Any]) -> dict[str, Any]:
    """The multipliers of a solution, as a page sends them."""
    return {m["name"]: np.reshape(m["values"], m["shape"]).tolist() for m in solution["multipliers"]}


def bound_again(text: str, solution: dict[str, Any], workload: dict[str, Any]) -> dict[str, Any]:
    """The bound at the multipliers and near the point that a page gets with a solution."""
    chosen = chosen_of(solution)
    point = None if solution["has_certificate"] else solution["variables"]
    return answered(Bound(text=text, workload=workload, multipliers=chosen, point=point))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in BOUNDED])
def test_the_multipliers_of_a_shipped_solution_prove_its_bound(name: str) -> None:
    text, workload = Program.load(name).text, {"cells": 3}
    solution = answered(Solve(text=text, workload=workload))["solution"]
    assert solution["bounded_by"] == Program.load(name).bound
    if solution["bounded_by"] not in ("", "l2_strategy"):
        assert solution["multipliers"] == []  # those of a step that it solves
        return
    bound = bound_again(text, solution, workload)
    assert bound["bound"] == pytest.approx(solution["bound"], rel=ROUNDING)
    assert bound["grade"] == "proved"


def test_a_row_has_the_value_on_the_scale_that_formulations_share() -> None:
    row = answered(Row(text=Program.load("gamma_f").text, workload={"cells": 3}))["row"]
    assert row["value"] == pytest.approx(OPTIMUM, rel=GAP) and row["objective"] < 0.5 * OPTIMUM


def test_the_bound_off_the_lines_is_read_near_the_point() -> None:
    text = "program p\nchoose\n    x: vector[2] >= 0\nminimize norm(x) + sum(x)\nsubject to\n"
    text += "    one: sum(x) == 1\n    first: x[0] >= 0.75\n"
    solution = answered(Solve(text=text, workload={}))["solution"]
    assert {m["name"] for m in solution["multipliers"]} == {"one", "first"}
    assert len(solution["variables"]["x"]) == 2
    assert [m["lower"] for m in solution["multipliers"]] == [None, 0]  # of an equation, of an inequality
    (one, first) = solution["lines"]
    assert (one["tight"], first["tight"], first["count"]) == (1, 1, 1) and solution["legend"]
    bound = bound_again(text, solution, {})
    assert bound["bound"] == pytest.approx(solution["objective"], rel=GAP)
    assert bound["bound"] <= solution["objective"]
    assert bound["dual"]["value"] == pytest.approx(solution["objective"], rel=GAP) and not bound["is_moved"]
    below = answered(
        Bound(text=text, multipliers={"one": 0.0, "first": -1.0}, point=solution["variables"], workload={})
    )
    assert below["is_moved"]
    assert "no point is given" in json.dumps(bound_again(text, {**solution, "variables": None}, {}))


def test_the_multipliers_of_a_matrix_inequality_are_symmetric() -> None:
    head = "program p\nchoose\n    x: scalar\nminimize x\nsubject to\n"
    lines = "    one: [[x, 1], [1, x]] >> 0\n    two: [[x, 1], [1, x]] << 5 * eye(2)\n    three: x >= -9\n"
    solution = answered(Solve(text=head + lines, workload={}))["solution"]
    assert {m["name"]: m["symmetric"] for m in solution["multipliers"]} == {
        "one": True,
        "two": True,
        "three": False,
    }
    text = Program.load("e_optimal_design").text
    (design,) = answered(Solve(text=text, workload={"cells": 3}))["solution"]["multipliers"]
    assert design["symmetric"]


@pytest.mark.parametrize("solver", solver_names())
def test_each_solver_that_is_listed_solves(solver: str) -> None:
    answer = answered(Solve(text=L2, workload={"cells": 3}, solver=solver))
    if solver in UNFIT:
        assert answer["problem"]["message"]
    else:
        assert answer["solution"]["bound"] == pytest.approx(OPTIMUM, rel=GAP)
        assert answer["solution"]["bound"] <= OPTIMUM * (1 + FINE)


def test_the_bound_at_the_multipliers_of_a_solution_is_its_bound(subtests: pytest.Subtests) -> None:
    workload = {"kind": "prefix", "cells": 4}
    solution = answered(Solve(text=L2, workload=workload, solver="nuclear"))["solution"]
    chosen = chosen_of(solution)
    bound = answered(Bound(text=L2, workload=workload, multipliers=chosen))
    assert bound["bound"] == pytest.approx(solution["bound"], rel=1e-9) and bound["grade"] == "proved"
    name = next(iter(chosen))
    for value in (None, "a", 1, [], [[1], [2, 3]], {"a": {}}, ["a"] * 4, [10**400] * 4, [float("inf")] * 4):
        with subtests.test(str(value)[:30]):
            assert answered(Bound(text=L2, workload=workload, multipliers={name: value}))["problem"][
                "message"
            ]
    huge = {key: (np.ones_like(value) * 1e308).tolist() for key, value in chosen.items()}
    answered(Bound(text=L2, workload=workload, multipliers=huge))


def test_calls_open_no_file_that_a_text_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "planted.csv"
    planted.write_text("cell,count\nhoney-1,1\n")
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    is_on = [True]
    sys.addaudithook(
        lambda event, args: opened.append(str(args[0])) if is_on[0] and event == "open" else None
    )
    texts = [
        L2,
        L2 + f"\nsolve {planted}\n",
        f'program p\ngiven\n    "{planted}"\nminimize load("{planted}")\n',
        str(planted),
    ]
    files = [
        f"domain: {planted}\nworkload: {planted}\n",
        f"domain:\n  cell: {planted}\nworkload: prefix\n",
        f"domain:\n  cell: [a, b]\nworkload:\n  - file: {planted}\n",
        f"table: {planted}\ndomain:\n  cell: [a, b]\nworkload: total\n",
    ]
    try:
        answers = [answered(TextCheck(text=text)) for text in texts]
        answers += [
            answered(Solve(text=text, workload={"kind": "file", "file": file}, solver="nuclear"))
            for text in texts[:2]
            for file in files
        ]
    finally:
        is_on[0] = False
    assert "honey" not in json.dumps(answers)
    assert not [name for name in opened if str(tmp_path) in name or name.startswith("planted")]


def test_noise_scales_are_those_of_the_identity_strategy() -> None:
    for norm in (1, 2):
        scales = [one["scale"] for one in noise_scales(norm)]
        assert all(a > b > 0 for a, b in pairwise(scales))
    laplace = {one["epsilon"]: one["scale"] for one in noise_scales(1)}
    assert laplace[1.0] == pytest.approx(2**0.5)
    for norm in (1, 2):  # where whole numbers are fine steps the noise that is drawn is nearly continuous
        least = noise_scales(norm)[0]
        privacy = {name: least[name] for name in ("epsilon", "delta") if least[name]}
        plan = mmopt.plan(np.eye(2), mmopt.Strategy(np.eye(2), norm=norm), privacy)
        assert plan.standard_errors == pytest.approx(least["scale"], rel=SINGLE_STEP)


def test_the_lists_name_what_is_there() -> None:
    lists = answered(Offers())
    names = [p["name"] for p in lists["programs"]]
    assert names[: len(program_names())] == list(program_names()) and len(set(names)) == len(names)
    assert lists["solvers"] == list(solver_names()) and lists["version"] == mmopt.__version__
    assert [one["level"] for one in lists["quiz"]] == [1] * 7 + [2] * 7 + [3] * 6
