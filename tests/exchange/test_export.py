"""Files for other programs: read back by readers that share nothing with the writers, to an equal optimum.

Guards export.py, solvers/conic_problem.py.
"""

import io
import math
from pathlib import Path
from typing import Any

import clarabel
import highspy
import numpy as np
import pytest
import scipy.sparse as sp
import sdpap

import mmopt
from mmopt import OptionError, TooLargeError, Workload, certify, solve
from mmopt.exchange import FORMATS, Exported, export
from mmopt.exchange.export import psd_entries
from mmopt.language import program_names, shipped
from mmopt.solvers.conic_problem import Cones, ConicProblem
from tests.exchange.cbf_reader import Cbf
from tests.solvers.separate import separate

TARGETS = Workload.from_matrix(np.tri(3), targets=[1.0, 2.0, 1.0])
# Programs for each kind of cone.
LINEAR, LARGEST = separate("x", 3), separate("x", 5, maximize=True)
EQUAL = separate("x", more="balance: sum(x) == 2 * sum(c)", repair="x / sum(x) * 2 * sum(c)")
SQUARES, CURVED, POWERS = separate("x**2", -1), separate("exp(x / 3)"), separate("x**2.7")
# What forms can say each, and its optimum for TARGETS, where it is plain.
EVERY, MATRICES = {"cbf", "npz"}, {"cbf", "npz", "sdpa"}
CASES: dict[str, tuple[Any, set[str], float | None]] = {
    "linear": (LINEAR, {*MATRICES, "mps"}, 9.0),
    "maximize": (LARGEST, {*MATRICES, "mps"}, -1.0),
    "equality": (EQUAL, {*MATRICES, "mps"}, 12.0),
    "squares": (SQUARES, {*MATRICES, "mps"}, 13.0),
    "second-order": ("query_weighting", MATRICES, None),
    "blocks": ("l2_strategy_lmi", MATRICES, None),
    "dual": ("fitness_dual", MATRICES, None),
    "targets": ("fitness_for_use", MATRICES, None),
    "power": (POWERS, EVERY, 3**2.7 + 2**2.7 + 1.0),
    "exponential": (CURVED, EVERY, sum(math.exp(k / 3) for k in (1, 2, 3))),
}


def by_cbf(found: Exported) -> tuple[float, np.ndarray]:
    return Cbf(str(found.content)).solve()


def by_sdpa(found: Exported, folder: Path) -> tuple[float, np.ndarray]:
    """By the reader of SDPA's authors, to c @ z over A @ z = b, whose multipliers are the columns."""
    a, b, c, k, _ = sdpap.importsdpa(str(found.save(folder / "problem.dat-s")))
    a, b, c = (np.asarray(m.todense(), dtype=float) for m in (a, b, c))
    # Columns of z: entries >= 0, then full matrices. Here the multipliers y: c - A.T @ y in these cones.
    parts, right, cones = [a[:, : k.l].T], [c[: k.l, 0]], [clarabel.NonnegativeConeT(k.l)] if k.l else []
    at = k.l
    for side in k.s:
        rows = [at + i * side + j for j in range(side) for i in range(j + 1)]
        weight = np.array([1.0 if i == j else np.sqrt(2.0) for j in range(side) for i in range(j + 1)])
        parts.append(a[:, rows].T * weight[:, None])
        right.append(c[rows, 0] * weight)
        cones.append(clarabel.PSDTriangleConeT(side))
        at += side**2
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    stacked = sp.csc_array(np.vstack(parts))
    empty = sp.csc_array((len(b), len(b)))
    solver = clarabel.DefaultSolver(empty, -b[:, 0], stacked, np.hstack(right), cones, settings)
    y = np.array(solver.solve().x)
    # What the format cannot say stands in the comment.
    (said,) = [line for line in str(found.content).splitlines() if "the program's value is" in line] or [""]
    sign = -1.0 if "-(" in said else 1.0
    offset = float(said.split(" + ")[1].rstrip(")")) if " + " in said else 0.0
    return sign * (-float(b[:, 0] @ y) + offset), y


def by_mps(found: Exported, folder: Path) -> tuple[float, np.ndarray]:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(found.save(folder / "problem.mps"))) == highspy.HighsStatus.kOk
    highs.run()
    sign = -1.0 if "minus the optimum" in str(found.content) else 1.0
    return sign * highs.getObjectiveValue(), np.array(highs.getSolution().col_value)


def by_npz(found: Exported) -> tuple[float, np.ndarray]:
    assert isinstance(found.content, bytes)
    data = np.load(io.BytesIO(found.content))
    a = sp.csc_array((data["A_data"], data["A_indices"], data["A_indptr"]), shape=data["A_shape"])
    x = _scs(a, data)
    sign = -1.0 if data["sense"] == "maximize" else 1.0
    return sign * float(data["c"] @ x + data["offset"]), x


def _scs(a: Any, data: Any) -> np.ndarray:
    import scs

    cones = {"z": int(data["zero"]), "l": int(data["nonnegative"]), "q": data["second_order"].tolist()}
    cones |= {"s": data["psd"].tolist(), "ep": int(data["exponential"]), "p": data["power"].tolist()}
    arrays = {"A": sp.csc_matrix(a), "b": data["b"], "c": data["c"]}
    options = {"verbose": False, "eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 1_000_000}
    return np.asarray(scs.solve(arrays, cones, **options)["x"])


# The reader of SDPA's authors leaves its file open.
@pytest.mark.filterwarnings(
    "ignore:Power atom with exponent:UserWarning",
    "ignore:unclosed file:ResourceWarning",
    "ignore:Exception ignored in. <_io.FileIO:pytest.PytestUnraisableExceptionWarning",
)
def test_read_back_to_an_equal_optimum_and_judged(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for case in CASES:
        with subtests.test(case):
            program, formats, optimum = CASES[case]
            if optimum is None:
                s = solve(TARGETS, program, tolerance=1e-9)
                optimum = s.objective
                assert s.gap is not None and s.gap < 5e-9
            for name in FORMATS:
                if name not in formats:
                    with pytest.raises(OptionError, match=f"cannot be written as {name}, which has no"):
                        export(TARGETS, program, name)
                    continue
                found = export(TARGETS, program, name)
                reader = {"cbf": by_cbf, "npz": by_npz}.get(name)
                value, x = (
                    reader(found) if reader else {"sdpa": by_sdpa, "mps": by_mps}[name](found, tmp_path)
                )
                assert value == pytest.approx(optimum, rel=1e-7), name
                np.save(tmp_path / "x.npy", x)
                back = certify(TARGETS, program=program, point=tmp_path / "x.npy", solve=case == "dual")
                assert back.objective == pytest.approx(optimum, rel=1e-5), name


CONVEX = [name for name in program_names() if shipped(name).written.problem_class == "convex"]


@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
@pytest.mark.some(2)
@pytest.mark.parametrize("name", CONVEX)
def test_every_convex_program_goes_out_and_comes_back(name: str) -> None:
    workload = Workload.from_matrix(np.tri(4), targets=[1.0, 2.0, 1.0, 1.5])
    found = export(workload, name)
    value, x = Cbf(str(found.content)).solve()
    best = solve(workload, name, tolerance=1e-9).objective
    assert value == pytest.approx(best, rel=1e-7)
    assert certify(workload, program=name, point=x).objective == pytest.approx(best, rel=1e-6)


def test_a_format_that_cannot_say_it_names_one_that_can() -> None:
    with pytest.raises(OptionError) as error:
        mmopt.export(TARGETS, CURVED, "sdpa")
    assert str(error.value) == (
        "'separate' cannot be written as sdpa, which has no exponential cone\n  these can say it: cbf, npz"
    )
    with pytest.raises(OptionError) as error:
        mmopt.export(TARGETS, "l2_strategy", "cbff")
    assert str(error.value) == "there is no format 'cbff'\n  did you mean 'cbf'?"
    with pytest.raises(OptionError, match="'p_identity' is of class 'smooth', and a file holds convex"):
        mmopt.export(TARGETS, "p_identity")


def test_what_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.solvers.choice_and_forecast.memory_limit", lambda: 1e6)
    with pytest.raises(TooLargeError, match="'l2_strategy' with scs would need about"):
        export(TARGETS, "l2_strategy")


def test_the_file_says_what_it_is() -> None:
    text = str(export(TARGETS, LARGEST, "mps").content)
    assert text == str(export(TARGETS, LARGEST, "mps").content)  # nothing in it is of the moment
    head = [line for line in text.splitlines() if line.startswith("*")]
    assert head[1] == f"* of a workload of 3 queries over 3 cells, hash {TARGETS.hash}"
    assert head[4:] == [
        "* the program maximizes: its value is minus the optimum here",
        "* column 0: x[0]",
        "* column 1: x[1]",
        "* column 2: x[2]",
    ]
    assert text.isascii() and max(map(len, text.splitlines())) < 200
    matrices = str(export(TARGETS, LARGEST, "sdpa").content)
    assert "\"the program's value is -(the optimum here + -5.0)\n" in matrices
    assert "OBJSENSE\nMAX\n" in str(export(TARGETS, LARGEST, "cbf").content)


@pytest.mark.quick
@pytest.mark.draws(3)
def test_numbers_read_as_the_same_doubles(rng: np.random.Generator) -> None:
    """17 digits; and entries of psd blocks, times √2, are the coefficients of the rows, digit for digit."""
    n, side = 4, 3
    entries = rng.standard_normal((6, n)) * 10.0 ** rng.integers(-8, 8, (6, n))
    # What stands beside the diagonal was multiplied by √2, as cvxpy does.
    weight = np.array([1, math.sqrt(2), math.sqrt(2), 1, math.sqrt(2), 1])
    rows = entries * weight[:, None]
    problem = ConicProblem(sp.csc_array(rows), np.zeros(6), np.zeros(n), Cones(psd=(side,)))
    places = [(i, j) for j in range(side) for i in range(j, side)]
    found = list(psd_entries(problem, problem.cones.blocks[0]))
    assert len(found) == 6 * n
    for i, j, column, value in found:
        k = places.index((i, j))
        assert value * weight[k] == rows[k, column]
        assert float(repr(value)) == value and len(repr(value)) <= len(repr(entries[k, column]))


def test_the_cvxpy_problem_has_the_program_s_names() -> None:
    found = mmopt.cvxpy_problem(TARGETS, "l2_strategy")
    assert list(found.variables) == ["X"] and list(found.constraints) == ["sensitivity"]
    value = found.problem.solve(solver="CLARABEL")
    point = {name: variable.value for name, variable in found.variables.items()}
    s = certify(TARGETS, program="l2_strategy", point=point)
    assert s.objective == pytest.approx(value, rel=1e-6)
    assert s.gap is not None and s.gap < 1e-6
