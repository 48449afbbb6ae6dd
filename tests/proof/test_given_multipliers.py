"""Multipliers from elsewhere for a program without a certificate: a bound read off its lines.

Guards certify.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import own_solvers
import pytest

import mmopt

TEXT = """
program lp
choose
    x: vector[3] >= 0
maximize
    x[0] + 2 * x[1] + 3 * x[2]
subject to
    whole: sum(x) == 1
    most: x[2] <= 0.5
"""
SENSES = pytest.mark.parametrize("sense", ["maximize", "minimize"])


def brought(program: mmopt.Program) -> dict[str, Any]:
    found = own_solvers.simplex(mmopt.export(None, program).problem)
    return {"columns": np.asarray(found["x"]), "rows": np.asarray(found["y"])}


@SENSES
def test_rows_of_a_file_prove_a_bound_without_a_solve(sense: str) -> None:
    program = mmopt.Program.parse(TEXT.replace("maximize", sense))
    found = mmopt.certify(program=program, point=brought(program), solve=False)
    assert found.bound_grade == "proved" and found.gap is not None and 0.0 <= found.gap < 1e-8
    assert mmopt.verify(found, [[1]]).holds


@SENSES
def test_multipliers_of_a_solution_prove_its_bound(sense: str) -> None:
    program = mmopt.Program.parse(TEXT.replace("maximize", sense))
    s = mmopt.solve(program=program)
    found = mmopt.certify(program=program, point=s.variables, multipliers=s.multipliers, solve=False)
    assert found.bound == pytest.approx(s.objective, abs=1e-7)


def test_bad_multipliers_prove_less_and_a_solve_more() -> None:
    program = mmopt.Program.parse(TEXT)
    point = {"x": [0.0, 0.5, 0.5]}
    weak = mmopt.certify(program=program, point=point, multipliers={"most": 0.1}, solve=False)
    assert weak.bound is not None and weak.bound > 4.0 and weak.objective == pytest.approx(2.5)
    best = mmopt.certify(program=program, point=point, multipliers={"most": 0.1})
    assert best.bound == pytest.approx(2.5, abs=1e-5)


def test_refused(subtests: pytest.Subtests) -> None:
    for multipliers, said in [
        ({"mosst": 1.0}, "the bound of 'lp' has no multiplier 'mosst'\n  did you mean 'most'?"),
        ({"most": [1.0, 2.0]}, "the multiplier 'most' has shape (2,), expected finite numbers of shape ()"),
    ]:
        with subtests.test(said):
            with pytest.raises(mmopt.OptionError) as caught:
                program = mmopt.Program.parse(TEXT)
                mmopt.certify(program=program, point={"x": [0.0, 0.5, 0.5]}, multipliers=multipliers)
            assert str(caught.value) == said


def test_multipliers_that_prove_nothing_are_told() -> None:
    program = mmopt.Program.parse(
        "program own\nchoose\n    x: vector[2]\nminimize\n    x[1]\nsubject to\n    c: norm(x) <= x[0]\n"
    )
    found = mmopt.certify(program=program, point={"x": [1.0, 0.0]}, multipliers={"c": 0.0}, solve=False)
    assert found.bound is None
    assert found.warnings[-1] == (
        "the given multipliers prove no bound from the constraints: nothing says how large 'x' can be: a "
        "line such as 'limit_x: abs(x) <= …' would; without solve=False a solve may prove one"
    )


def test_rows_are_read_from_a_file(tmp_path: Path) -> None:
    program = mmopt.Program.parse(TEXT)
    path = tmp_path / "point.json"
    path.write_text(json.dumps({name: list(map(float, v)) for name, v in brought(program).items()}))
    assert mmopt.certify(program=program, point=path, solve=False).gap < 1e-8  # type: ignore[operator]
