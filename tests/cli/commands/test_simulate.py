"""``mmopt simulate``: tables, JSON, saved solutions, and what is refused; and what shows normalised rows.

Guards accuracy_release_simulate.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt import Strategy, load_request
from mmopt.report import NOT_PRIVATE


def test_programs_with_and_without_normalised_rows(run: Any, files: Path) -> None:
    done = run("simulate", "total.yaml", "people.csv", "--both", "--epsilon", "0.5,1", "--trials", "20")
    assert done.status == 0, done
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.endswith(f"{NOT_PRIVATE}\n")
    shown = " ".join(done.out.split())
    for words in (
        "epsilon = 0.5, delta = 1e-06",
        "epsilon = 1, delta = 1e-06",
        "relative ± expected rmse predicted",
        "by sex",
        "up to an age",
        "all queries",
        "relative: mean of |error| / max(|true|, 1), over 20 draws of noise",
    ):
        assert words in shown, words
    assert shown.count("l2_strategy") == 4 and shown.count("normalised") == 2
    assert not any(file.name.startswith("release") for file in files.iterdir()), "nothing is written"


def test_json_and_saved_solutions(run: Any, files: Path, saved: Path) -> None:
    done = run(
        "simulate", "total.yaml", "people.csv", "--strategies", saved, "--programs", "eigen_design", "--json"
    )
    assert done.status == 0 and NOT_PRIVATE in done.err
    found = json.loads(done.out)
    assert found["private"] is False
    assert [row["strategy"] for row in found["runs"]] == ["total.npz: l2_strategy", "eigen_design"]
    first = found["runs"][0]
    assert first["privacy"] == {"epsilon": 1.0, "delta": 1e-6} and first["trials"] == 100
    request = load_request("total.yaml")
    s = mmopt.Solution.load(saved).strategy
    predicted = first["scale"] * float(np.sqrt(s.variances(request.workload).mean()))
    assert first["whole"]["predicted"] == pytest.approx(predicted)


def test_a_solution_for_other_weights_will_do(run: Any, files: Path, saved: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "scaled.yaml").write_text(f"normalise: rows\n{text}", encoding="utf-8")
    done = run("simulate", "scaled.yaml", "people.csv", "--strategies", saved, "--trials", "2")
    assert done.status == 0
    assert f"'{saved}' was solved for another workload, or for other weights or targets\n" in done.err


def test_laplace_noise_for_strategies_of_norm_1(run: Any, files: Path) -> None:
    w = load_request("total.yaml").workload
    found = mmopt.certify(w, Strategy(np.eye(w.n), 1), solve=False)
    found.save("cells.npz")
    done = run("simulate", "total.yaml", "people.csv", "--strategies", "cells.npz", "--json")
    (row,) = json.loads(done.out)["runs"]
    assert (row["noise"], row["scale"], row["whole"]["expected"]) == ("Laplace", pytest.approx(1.0), None)


def test_normalised_rows_are_shown(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "scaled.yaml").write_text(f"normalise: rows\n{text}", encoding="utf-8")
    shown = " ".join(run("check", "scaled.yaml").out.split())
    assert "normalised rows: each query's weight is divided by its squared length" in shown
    assert "by sex 2 0.333333" in shown and "up to an age 3 0.333333 to 1" in shown
    assert "normalised" not in run("check", "total.yaml").out
    assert (
        "5 queries over 6 cells, rank 4, rows normalised" in run("explain", "l2_strategy", "scaled.yaml").out
    )
    note = "normalise: objective, bound and error are of rows scaled to unit length; rmse is of the queries\n"
    assert note in run("solve", "scaled.yaml").err
    assert note not in run("solve", "total.yaml").err


def test_targets_and_neighbours_of_the_file_are_those_of_the_release(run: Any, files: Path) -> None:
    """Targets set the noise where there is no privacy; a replaced row changes more, and is told so."""
    done = run("simulate", "targets.yaml", "people.csv", "--json")
    (row,) = json.loads(done.out)["runs"]
    assert (row["strategy"], row["privacy"]) == ("fitness_for_use", None)
    by_sex, cells = row["groups"]
    assert by_sex["predicted"] <= 10.0 and cells["predicted"] <= 200.0**0.5
    own = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "own.yaml").write_text(f"neighbours: replace-one\n{own}", encoding="utf-8")
    (row,) = json.loads(run("simulate", "own.yaml", "people.csv", "--trials", "400", "--json").out)["runs"]
    released = json.loads(run("accuracy", "own.yaml", "--json").out)
    assert row["whole"]["predicted"] == pytest.approx(released["rmse"], rel=1e-12)
    assert row["whole"]["rmse"] == pytest.approx(row["whole"]["predicted"], rel=0.25)


def test_a_workload_under_pure_epsilon(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "pure.yaml").write_text(text.replace(", delta: 1.0e-6", ""), encoding="utf-8")
    done = run("simulate", "pure.yaml", "people.csv", "--epsilon", "0.5,1", "--trials", 5, "--json")
    assert done.status == 0, done
    runs = json.loads(done.out)["runs"]
    assert [(r["strategy"], r["noise"], r["privacy"]) for r in runs] == [
        ("p_identity", "Laplace", {"epsilon": e}) for e in (0.5, 1.0)
    ]
