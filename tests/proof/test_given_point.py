"""Points from elsewhere: by name, as columns of an exported file, with and without multipliers.

Guards certify.py, driver/judge/score_and_meaning.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scs

from mmopt import OptionError, Program, Workload, certify, export, solve, verify
from mmopt.solvers.conic_problem import ConicProblem

PREFIX = Workload.from_matrix(np.tri(4))
TARGETS = Workload.from_matrix(np.tri(4), targets=[1.0, 2.0, 1.0, 1.0])
HINT = "\n  expected the variables by name, or 'columns' (x) and 'rows' (y, optional) of the exported problem"

FILE = "the file '%s' for the point"


def solved(problem: ConicProblem) -> dict[str, Any]:
    k = problem.cones
    cones = {"z": k.zero, "l": k.nonnegative, "q": list(k.second_order), "s": list(k.psd)}
    data = {"A": problem.A, "b": problem.b, "c": problem.c}
    found = scs.solve(data, cones, verbose=False, eps_abs=1e-10, eps_rel=1e-10)
    return {"columns": found["x"], "rows": found["y"]}


def test_a_point_of_the_exported_problem_is_judged_with_its_own_multipliers(
    subtests: pytest.Subtests,
) -> None:
    for workload, program in [
        (PREFIX, "l2_strategy"),
        (PREFIX, "query_weighting"),
        (PREFIX, "l2_strategy_dual"),
        (TARGETS, "fitness_dual"),
    ]:
        with subtests.test(program):
            best = solve(workload, program, tolerance=1e-8)
            point = solved(export(workload, program, "npz").problem)
            s = certify(workload, program=program, point=point, solve=False)
            assert s.solver == "given" and s.status.stop == "certified"
            assert s.objective == pytest.approx(best.objective, rel=1e-6)
            assert s.gap is not None and -1e-12 <= s.gap < 1e-6
            # The same by names: nothing is changed any more.
            again = certify(workload, program=program, point={**s.variables, **s.multipliers}, solve=False)
            assert (again.objective, again.bound) == (s.objective, pytest.approx(s.bound, rel=1e-12))
            assert not [line for line in again.warnings if "repaired" in line]


def test_without_multipliers_a_solver_gives_the_bound() -> None:
    point = {"v": np.ones(4), "u": np.ones(4)}
    alone = certify(PREFIX, program="query_weighting", point=point, solve=False)
    s = certify(PREFIX, program="query_weighting", point=point)
    assert s.bound is not None and alone.bound is not None and alone.bound < s.bound
    assert s.bound == pytest.approx(8.23001821, rel=1e-6)
    assert s.objective >= s.bound


def test_what_was_repaired_is_told() -> None:
    s = certify(PREFIX, program="l2_strategy", point={"X": 2.0 * np.eye(4)}, solve=False)
    assert s.objective == pytest.approx(10.0)
    assert s.warnings[0] == (
        "as given the point violates constraint 'sensitivity' (cell 0) by 3.4e-01, relatively: it was "
        "repaired"
    )
    # A feasible one is judged as it is; what the repair would gain is told.
    s = certify(PREFIX, program="l2_strategy", point={"X": 0.5 * np.eye(4)}, solve=False)
    assert s.objective == pytest.approx(20.0)
    assert s.warnings[0] == "completed by the program's repair its objective would be 10"


def test_files(tmp_path: Path) -> None:
    x = solved(export(PREFIX, "l2_strategy", "npz").problem)
    expected = certify(PREFIX, program="l2_strategy", point=x, solve=False).objective
    named = certify(PREFIX, program="l2_strategy", point=x, solve=False).variables
    np.savez(tmp_path / "a.npz", **x)
    np.save(tmp_path / "a.npy", x["columns"])
    (tmp_path / "a.json").write_text(json.dumps({name: value.tolist() for name, value in named.items()}))
    for name in ("a.npz", "a.npy", "a.json"):
        s = certify(PREFIX, program="l2_strategy", point=tmp_path / name, solve=False)
        assert s.objective == pytest.approx(expected, rel=1e-9)


def test_points_that_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for point, said in [
        ({}, f"the point has no 'X', which 'l2_strategy' chooses{HINT}"),
        ({"Y": np.eye(4)}, "'l2_strategy' has no variable 'Y'\n  known: X, columns, d, sensitivity"),
        ({"X": np.eye(3)}, "'X' of the point has shape (3, 3), expected (4, 4)"),
        ({"X": "text"}, "'X' of the point is neither a number nor an array of numbers"),
        ({"X": np.full((4, 4), np.nan)}, f"'X' of the point is not an array of finite numbers{HINT}"),
        (
            {"X": np.eye(4), "d": [1.0]},
            "the multiplier 'd' has shape (1,), expected finite numbers of shape (4,)",
        ),
        ({"columns": np.ones(20), "X": 1}, f"the point has 'X' in addition to 'columns'{HINT}"),
        (
            np.ones(3),
            "the point has 3 columns; 'l2_strategy' is written with 20 columns and 40 rows\n"
            "  was it exported for this workload and program?",
        ),
        (
            {"columns": np.ones(20), "rows": np.ones(2)},
            "the point has 20 columns and 2 rows; 'l2_strategy' is written with 20 columns and 40 rows\n"
            "  was it exported for this workload and program?",
        ),
        ("none.json", "there is no file 'none.json' for the point"),
        ("text.json", f"{FILE % 'text.json'} is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("list.json", f"the file 'list.json' for the point holds no object of names{HINT}"),
        ("text.npz", f"{FILE % 'text.npz'} is not an archive of NumPy arrays: File is not a zip file"),
    ]:
        with subtests.test(said):
            monkeypatch.chdir(tmp_path)
            (tmp_path / "text.json").write_text("nothing")
            (tmp_path / "list.json").write_text("[1, 2]")
            (tmp_path / "text.npz").write_bytes(b"PK\x03\x04nothing")
            with pytest.raises(OptionError) as error:
                certify(PREFIX, program="l2_strategy", point=point)
            assert str(error.value) == said


def test_a_strategy_made_of_multipliers_needs_them() -> None:
    point = solve(TARGETS, "fitness_dual").variables
    with pytest.raises(OptionError) as error:
        certify(TARGETS, program="fitness_dual", point=point, solve=False)
    assert str(error.value) == (
        "the strategy of 'fitness_dual' is made from multipliers, and the point has none\n"
        "  add them to the point, by their names or as 'rows'"
    )


def test_a_point_or_a_strategy() -> None:
    with pytest.raises(OptionError) as error:
        certify(PREFIX, np.eye(4), point={"X": np.eye(4)})
    assert str(error.value) == "a point and a strategy are given, expected one of them"


def test_a_point_that_no_repair_makes_feasible() -> None:
    text = Program.load("l2_strategy").text
    start, end = text.index("repair"), text.index("strategy\n    factor")
    with pytest.raises(OptionError) as error:
        certify(PREFIX, program=Program.parse(text[:start] + text[end:]), point={"X": 2 * np.eye(4)})
    assert str(error.value) == (
        "the point gives no feasible point of 'l2_strategy': after its repair it violates constraint "
        "'sensitivity' (cell 0) by 3.4e-01, relatively\n"
        "  give the program a 'repair' that makes any point feasible"
    )


OWN = """program student
given
    W: matrix[m, n] = workload.matrix
choose
    X: {kind}[n, n]
minimize
    X[0, 1] + trace(X)
subject to
    a: diag(X) >= 1
    b: X >> 0
"""
PAIR = Workload.from_matrix(np.eye(2))


@pytest.mark.quick
def test_a_point_that_is_not_symmetric_is_refused(subtests: pytest.Subtests) -> None:
    """Its symmetric part keeps every line, and the objective would read one triangle."""
    for kind in ["psd", "symmetric"]:
        with subtests.test(kind):
            program = Program.parse(OWN.format(kind=kind))
            with pytest.raises(OptionError) as error:
                certify(PAIR, program=program, point={"X": [[1.0, -1.9], [1.9, 1.0]]})
            assert str(error.value) == (
                f"'X' is declared {kind} and is not symmetric: entry 0, 1 is -1.9 and entry 1, 0 is 1.9, "
                "in the point\n"
                "  give a symmetric one, (X + X.T) / 2, say"
            )


@pytest.mark.quick
def test_rounding_of_a_point_is_its_symmetric_part(subtests: pytest.Subtests) -> None:
    for kind in ["psd", "symmetric"]:
        with subtests.test(kind):
            point = np.array([[1.0, -0.5 - 4e-9], [-0.5 + 4e-9, 1.0]])
            s = certify(PAIR, program=Program.parse(OWN.format(kind=kind)), point={"X": point}, solve=False)
            kept = s.variables["X"]
            assert isinstance(kept, np.ndarray) and np.array_equal(kept, kept.T)
            assert s.objective == pytest.approx(1.5, rel=1e-10) and verify(s, PAIR).holds


def test_a_point_of_an_own_program_has_a_derived_bound() -> None:
    program, point = Program.parse(OWN.format(kind="psd")), {"X": [[1.0, -0.5], [-0.5, 1.0]]}
    s = certify(PAIR, program=program, point=point)
    assert s.bound == s.derived_bound == pytest.approx(1.0, abs=1e-6) and s.bound_grade == "proved"
    assert s.status.stop == "certified" and verify(s, PAIR).holds
    assert certify(PAIR, program=program, point=point, solve=False).bound is None
