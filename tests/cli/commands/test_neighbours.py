"""Every set of neighbours, from the workload file through a release to what is read of it.

Guards answers/accuracy_budget_and_default_strategy.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmopt import Privacy, Strategy, Workload, accuracy, budget, certify, load_release, verify
from mmopt.comparison import Stated, combinations, outcomes
from mmopt.language import Program
from mmopt.strategies import Neighbours
from tests.cli.tasks_here import Here

STREAM = """\
domain:
  week: {range: [0, 6], width: 1}
data: {outside: drop}
workload:
  - {name: so far, product: {week: prefix}}
privacy: {PRIVACY}
"""
GAUSSIAN, LAPLACE = "{epsilon: 1.0, delta: 1.0e-6}", "{epsilon: 1.0}"
VISITS = "week\n" + "0\n" * 40 + "3\n" * 30 + "5\n" * 20
SETS = {
    "add-remove": ("add-remove", "one row added or removed", "largest {norm} norm of a column"),
    "replace-one": (
        "replace-one",
        "one row replaced",
        "largest {norm} norm of a difference of two columns, or a column, as a row may be dropped",
    ),
    "{rows: 2}": (
        "rows 2",
        "up to 2 rows of one person, added or removed; that nobody has more is assumed, not checked",
        "2 times the largest {norm} norm of a column",
    ),
    "{participation: {separation: 2, at_most: 3}}": (
        "participation separation 2 at most 3",
        "the rows of one person: one in a step, added or removed, in at most 3 steps (the cells in "
        "order), any two at least 2 apart; that nobody has more is assumed, not checked",
        "upper bound: {sum} over the columns of the steps of one person",
    ),
}
SUMS = {"L1": "largest sum of L1 norms", "L2": "root of the largest sum of |aᵢ · aⱼ|"}


def own(files: Path, neighbours: str, privacy: str = GAUSSIAN, name: str = "own.yaml") -> str:
    text = STREAM.replace("{PRIVACY}", privacy)
    said = f"neighbours: {neighbours}\n" if neighbours else ""
    (files / name).write_text(text + said, encoding="utf-8")
    (files / "visits.csv").write_text(VISITS, encoding="utf-8")
    return name


@pytest.mark.some(1)
@pytest.mark.parametrize("first", [0, 1])
def test_a_release_says_what_it_protects(
    run: Any, files: Path, first: int, subtests: pytest.Subtests
) -> None:
    """Under both noises in turn."""
    for number, (said, (name, change, sensitivity)) in enumerate(SETS.items(), first):
        privacy, program = ((GAUSSIAN, "l2_strategy"), (LAPLACE, "p_identity"))[number % 2]
        with subtests.test(said, program=program):
            file = own(files, said, privacy)
            done = run("release", file, "visits.csv", "--program", program, "--out", name)
            assert done.status == 0, done
            manifest = json.loads((files / name / "manifest.json").read_text(encoding="utf-8"))
            norm = manifest["strategy"]["norm"]
            told = manifest["privacy"]
            assert told["neighbours"] == name
            assert told["sensitivity"] == sensitivity.format(norm=norm, sum=SUMS[norm])
            scaled = f"the strategy was chosen for add-remove; its sensitivity to {name} sets the noise"
            assert told.get("scaled", "") == ("" if name in ("add-remove", "rows 2") else scaled)
            shown = " ".join(run("show", name).out.split())
            for text in (" ".join(done.out.split()), shown):
                assert f"neighbours {name}: tables that differ by {change}" in text
                assert (scaled in text) == ("scaled" in told)
            w = Workload.load(file)
            assert verify(files / name / "strategy.npz", w).holds
            again = load_release(files / name, workload=w)
            assert again.plan is not None and str(again.plan.neighbours) == name
            assert (f" for {name}," in repr(again)) == (name != "add-remove")


def test_two_rows_of_a_person_double_every_error(run: Any, files: Path) -> None:
    one, two = (own(files, said, "{rho: 0.1}", f"{i}.yaml") for i, said in enumerate(("", "{rows: 2}")))
    answered = [json.loads(run("accuracy", file, "--json").out) for file in (one, two)]
    errors = [np.array(found["queries"]["standard_error"]) for found in answered]
    np.testing.assert_allclose(errors[1], 2 * errors[0], rtol=1e-9)
    (files / "pure.yaml").write_text(STREAM.replace("{PRIVACY}", LAPLACE), encoding="utf-8")
    w = Workload.load(one)
    cells = certify(w, Strategy(np.eye(w.n), 1), solve=False)
    scales = [accuracy("pure.yaml", strategy=cells, neighbours={"rows": k}).plan.noise for k in (1, 2)]
    assert scales[1] == pytest.approx(2 * scales[0], rel=1e-9)
    (first,), (second,) = (
        outcomes(
            w,
            combinations(["l2_strategy"]),
            stated=Stated(Privacy(rho=0.1), Neighbours.of({"rows": k})),
            isolated=Here(),
        )
        for k in (1, 2)
    )
    assert second.rmse == pytest.approx(2 * first.rmse, rel=1e-9)


def test_a_budget_for_persons_is_k_squared_times_that_for_rows(run: Any, files: Path) -> None:
    text = STREAM.replace("prefix}", "prefix}, max_variance: 30").replace("[0, 6]", "[0, 3]")
    (files / "wish.yaml").write_text(text.replace("{PRIVACY}", "{rho: 0.1}"), encoding="utf-8")
    one, three = (budget("wish.yaml", neighbours={"rows": k}) for k in (1, 3))
    assert three.cost == pytest.approx(9 * one.cost, rel=1e-9)
    assert one.bound is not None and three.bound == pytest.approx(9 * one.bound, rel=1e-9)
    at_delta = [budget("wish.yaml", delta=1e-6, neighbours={"rows": k}) for k in (1, 3)]
    for found in at_delta:
        assert found.bound is not None and found.bound <= found.cost
        saved = found.savings([1.0])
        assert 0 < saved[0] < 1
    pure = [budget("wish.yaml", pure=True, neighbours={"rows": k}) for k in (1, 3)]
    assert pure[1].bound == pytest.approx(3 * pure[0].bound, rel=1e-9) and pure[1].bound <= pure[1].cost
    assert pure[1].cost == pytest.approx(3 * pure[0].cost, rel=1e-4)


def test_the_program_s_own_set_holds_where_the_file_says_none(run: Any, files: Path) -> None:
    text = Program.load("l2_strategy").text
    for old, new in (
        ("program l2_strategy", "program pairs"),
        ("diag(X) <= 1", "diag(X) <= 1 / 4"),
        ("X + diag(1 - diag(X))", "(X + diag(1 - diag(X))) / 4"),
        ("**2 / sum(d)", "**2 * 4 / sum(d)"),
    ):
        assert old in text
        text = text.replace(old, new)
    (files / "pairs.program").write_text(f"{text}\nneighbours\n    rows 2\n", encoding="utf-8")
    silent, stated = own(files, "", name="silent.yaml"), own(files, "add-remove", name="stated.yaml")
    plain = own(files, "{rows: 2}", name="pairs.yaml")
    found = [
        json.loads(run("accuracy", file, "--program", program, "--json").out)
        for file, program in (
            (silent, "pairs.program"),
            (plain, "l2_strategy"),
            (stated, "pairs.program"),
            (stated, "l2_strategy"),
        )
    ]
    assert [one["neighbours"] for one in found] == ["rows 2", "rows 2", "add-remove", "add-remove"]
    assert found[0]["rmse"] == pytest.approx(found[1]["rmse"], rel=1e-5)
    assert found[2]["rmse"] == pytest.approx(found[3]["rmse"], rel=1e-5)
    done = run("release", stated, "visits.csv", "--program", "pairs.program", "--out", "out")
    assert "the strategy was chosen for rows 2; its sensitivity to add-remove sets the noise" in " ".join(
        done.out.split()
    )
    solved = run("solve", silent, "--program", "pairs.program", "--out", "pairs.npz")
    told = " ".join(solved.out.split())
    assert "neighbours rows 2: tables that differ by up to 2 rows of one person" in told
    assert run("verify", "pairs.npz", silent).status == 0
    other = own(files, "{rows: 2}", name="two.yaml")
    assert run("certify", other, "identity", "--program", "pairs.program").status == 0
