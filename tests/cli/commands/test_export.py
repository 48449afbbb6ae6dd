"""``mmopt export``, and ``mmopt certify --point`` for what comes back.

Guards programs.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.exchange.cbf_reader import Cbf


def test_a_problem_goes_out_and_its_point_comes_back(run: Any, files: Path) -> None:
    done = run("export", "l2_strategy", "total.yaml", "--out", "problem.cbf")
    assert (done.status, done.out) == (0, "")
    assert done.err == "saved: problem.cbf (cbf: 36 columns, 72 rows)\n"
    text = (files / "problem.cbf").read_text(encoding="ascii")
    assert run("export", "l2_strategy", "total.yaml").out == text
    value, x = Cbf(text).solve()
    np.save(files / "x.npy", x)
    done = run("certify", "total.yaml", "--program", "l2_strategy", "--point", "x.npy", "--json")
    assert done.status == 0
    found = json.loads(done.out)
    assert found["solver"] == "given" and found["objective"] == pytest.approx(value, rel=1e-6)
    assert found["gap"] < 1e-6


def test_the_form_is_that_of_the_ending(run: Any, files: Path) -> None:
    for name, said in (("a.dat-s", "sdpa"), ("A.SDPA", "sdpa"), ("a.npz", "npz"), ("a.cbf", "cbf")):
        assert f"({said}: " in run("export", "l2_strategy", "total.yaml", "--out", name).err
    assert run("export", "l2_strategy", "total.yaml", "--format", "sdpa").out.startswith('"l2_strategy: ')


def test_givens_are_filled_in(run: Any, files: Path) -> None:
    asked = ("export", "query_weighting", "total.yaml", "--given", "Q=identity")
    done = run(*asked)
    assert done.status == 0 and "# column 0: v[0]\n" in done.out
    assert done.out != run(*asked[:3]).out


def test_what_a_function_prints_is_no_result(
    run: Any, files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It writes to the descriptor below Python, too."""
    done = run("solve", "total.yaml", "--program", "l2_strategy", "--json", "--solver", "own_solvers:loud")
    assert json.loads(done.out)["solver"] == "own_solvers:loud"
    below = capfd.readouterr()
    assert "starting\n" in done.err + below.err and "working\n" in below.err and below.out == ""
