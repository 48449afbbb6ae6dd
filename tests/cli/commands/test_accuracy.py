"""``mmopt accuracy``: the same figures as plan, release and simulation; files, and what is refused.

Guards accuracy_release_simulate.py.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.cli import solve_and_plan
from mmopt.limits import time_left
from mmopt.mechanism.release_writing import ANSWERS_FILE, MANIFEST_FILE
from mmopt.results import Solution

WISHES = """\
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65, 115]}
workload:
  - {name: by sex, marginal: [sex], within: 30}
  - {name: up to an age, product: {age: prefix}, max_variance: 400}
"""
PRIVACIES = {
    "both": "privacy: {epsilon: 1.0, delta: 1.0e-6}\n",
    "pure": "privacy: {epsilon: 0.8}\n",
    "rho": "privacy: {rho: 0.05}\n",
    "targets alone": "",
}


def text_of(files: Path, kind: str, privacy: str) -> str:
    if kind == "wishes":
        return WISHES + PRIVACIES[privacy]
    return (files / "total.yaml").read_text(encoding="utf-8").split("privacy:")[0] + PRIVACIES[privacy]


def test_a_time_limit_is_for_all_searches(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []

    def planned(*_: object, **__: object) -> None:
        left.append(time_left())
        raise mmopt.WorkloadError("no plan")

    monkeypatch.setattr(solve_and_plan, "accuracy", planned)
    assert run("accuracy", "total.yaml", "--time-limit", "1000").status == 2 and 0 < left[0] <= 1000


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("kind", "privacy"),
    [(kind, p) for kind in ("total", "wishes") for p in PRIVACIES if (kind, p) != ("total", "targets alone")],
)
def test_every_command_says_the_same(run: Any, files: Path, kind: str, privacy: str) -> None:
    """Accuracy, solve, plan, simulation and release: one number, to all digits that are printed."""
    (files / "w.yaml").write_text(text_of(files, kind, privacy), encoding="utf-8")
    told = json.loads(run("accuracy", "w.yaml", "--json").out)
    assert run("solve", "w.yaml", "--out", "s.npz", "--json").status == 0
    released = run("release", "w.yaml", "people.csv", "--simulate", 1, "--out", "r", "--json")
    assert released.status == 0, released
    with (files / "r" / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    errors = told["queries"]["standard_error"]
    assert [float(row["standard_error"]) for row in rows] == [float(f"{error:.12g}") for error in errors]
    assert [row["label"] for row in rows] == told["queries"]["label"]
    spans = [(float(row["high"]) - float(row["low"])) / 2 for row in rows]
    assert spans == pytest.approx(told["queries"]["half_width"], rel=1e-9)
    manifest = json.loads((files / "r" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["privacy"]["epsilon"] == told["epsilon"] and manifest["privacy"]["rho"] == told["rho"]
    (simulated,) = json.loads(run("simulate", "w.yaml", "people.csv", "--trials", 2, "--json").out)["runs"]
    assert simulated["whole"]["predicted"] == told["rmse"] and simulated["noise"] in told["noise"]
    request = mmopt.load_request("w.yaml")
    solution = Solution.load(Path("s.npz"))
    plan = mmopt.plan(request.workload, solution, request.privacy, absolute=solution.by_targets)
    assert plan.rmse == told["rmse"]
    assert plan.standard_errors.tolist() == told["queries"]["standard_error"]
    again = run("accuracy", "w.yaml", "--strategy", "s.npz", "--json")
    assert json.loads(again.out)["queries"] == told["queries"]
    asked = [meets for meets in told["queries"].get("meets", []) if meets is not None]
    assert all(asked) and len(asked) == (len(rows) if kind == "wishes" else 0)


def test_tables_and_files(run: Any, files: Path) -> None:
    done = run("accuracy", "total.yaml", "--out", "q.csv", "--chart", "q.svg", "--confidence", "0.9")
    assert done.status == 0, done
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.err.startswith(
        "chosen: p_identity with Laplace noise: rmse 2.5747; l2_strategy with Gaussian "
    )
    assert done.err.endswith("written: q.csv (5 rows)\nchart: q.svg\n")
    shown = " ".join(done.out.split())
    for words in (
        "standard error of queries least rms largest ± 90%",
        "chosen p_identity with Laplace noise: rmse 2.5747",
        "privacy cost epsilon = 1, pure (delta = 0)",
        "query standard error ± 90%",
        "age < 65",
    ):
        assert words in shown, words
    with (files / "q.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    told = json.loads(run("accuracy", "total.yaml", "--confidence", "0.9", "--json").out)["queries"]
    assert [float(row["half_width"]) for row in rows] == told["half_width"]
    assert not {"meets", "within", "max_variance"} & rows[0].keys(), "nothing is asked for"
    assert (files / "q.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_program_and_a_strategy_that_are_named(run: Any, files: Path, saved: Path) -> None:
    named = json.loads(run("accuracy", "total.yaml", "--program", "l2_strategy", "--json").out)
    assert named["chosen"].startswith("l2_strategy with Gaussian noise: rmse 5.80")
    kept = run("accuracy", "total.yaml", "--strategy", saved, "--json")
    assert json.loads(kept.out)["queries"]["standard_error"] == pytest.approx(
        named["queries"]["standard_error"], rel=1e-5
    )
    assert kept.err.startswith(f"strategy: from '{saved}' (l2_strategy, gap reached)\n")
    weighted = run("accuracy", "total.yaml", "--program", "laplace_weighting", "--given", "Q=identity")
    assert weighted.status == 0 and "Laplace noise" in weighted.out


def test_what_is_missed_is_said(run: Any, files: Path) -> None:
    (files / "w.yaml").write_text(WISHES + "privacy: {rho: 0.00001}\n", encoding="utf-8")
    done = run("accuracy", "w.yaml", "--program", "l2_strategy")
    shown = " ".join(done.out.split())
    assert done.status == 0 and "± 30 at 95% 2 missed" in shown and "variance 400 3 missed" in shown


def test_replaced_rows(run: Any, files: Path) -> None:
    own = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "own.yaml").write_text(f"neighbours: replace-one\n{own}", encoding="utf-8")
    one, other = (json.loads(run("accuracy", name, "--json").out) for name in ("total.yaml", "own.yaml"))
    assert other["neighbours"] == "replace-one"
    *errors, of_total = other["queries"]["standard_error"]
    assert np.all(errors >= np.array(one["queries"]["standard_error"][:-1])) and of_total == 0.0
