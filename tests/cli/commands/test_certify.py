"""``mmopt certify`` and ``mmopt verify`` print what holds, and end with status 1 where something does not.

Guards strategies_and_reports.py.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmopt import Solution, Workload

DEFAULT = (
    "program: l2_strategy, by default: not every query has a target, so total error is minimised "
    "(choose another with --program)\n"
)


def test_certify_and_verify(run: Any, files: Path) -> None:
    done = run("certify", "total.yaml", "identity", "--out", "cells")
    assert (done.status, done.err) == (0, f"{DEFAULT}saved: cells.npz\n")
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines() if not line.startswith(" "))
    assert lines["solver"] == "given" and lines["status"].startswith("certified; feasible")
    done = run("verify", "cells.npz", "total.yaml")
    assert (done.status, done.err) == (0, "")
    assert "NO" not in done.out.split() and "checks hold\n" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_json(run: Any, files: Path) -> None:
    done = run("certify", "total.yaml", "identity", "--no-solve", "--json", "--out", "cells.npz")
    found = json.loads(done.out)
    assert (found["solver"], found["status"]["stop"]) == ("given", "certified")
    checked = json.loads(run("verify", "cells.npz", "total.yaml", "--json").out)
    assert checked["holds"] is True and checked["program"] == "l2_strategy"
    assert {row["what"] for row in checked["rows"]} >= {"objective", "bound", "total error"}


def test_a_result_that_does_not_hold_has_status_1(run: Any, files: Path, saved: Path) -> None:
    solution = Solution.load(saved)
    dataclasses.replace(solution, error=solution.error * 2).save("other.npz")
    done = run("verify", "other.npz", "total.yaml")
    assert (done.status, done.err) == (1, "")
    (line,) = [line for line in done.out.splitlines() if line.endswith("NO")]
    assert line.startswith("total error")
    assert run("verify", "other.npz", "total.yaml", "--json").status == 1
    done = run("verify", saved, "targets.yaml")
    assert done.status == 1 and "1 of 1 checks does not hold" in done.out


def test_a_file_and_a_covariance(run: Any, files: Path) -> None:
    w = Workload.load(files / "targets.yaml")
    np.savetxt("a.csv", 2 * np.eye(w.n), delimiter=",")
    np.save("sigma.npy", np.eye(w.n) / 4)
    np.save("basis.npy", np.eye(w.n))
    one = json.loads(run("certify", "targets.yaml", "a.csv", "--no-solve", "--json").out)
    for extra in ([], ["--basis", "basis.npy"]):
        done = run("certify", "targets.yaml", "sigma.npy", "--covariance", *extra, "--no-solve", "--json")
        other = json.loads(done.out)
        assert other["program"] == "fitness_for_use"
        assert other["objective"] == pytest.approx(one["objective"], rel=1e-9)


def test_a_saved_solution(run: Any, files: Path, saved: Path) -> None:
    done = run("certify", "total.yaml", saved, "--no-solve", "--json")
    assert json.loads(done.out)["objective"] == pytest.approx(Solution.load(saved).objective, rel=1e-9)
