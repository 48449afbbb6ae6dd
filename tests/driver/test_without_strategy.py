"""A program that says neither strategy nor covariance: an optimum with its bound, and nothing to release."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import legendre
from tolerances import GAP

import mmopt
from mmopt import Program, Solution, Workload

DESIGN = """
program my_design
given
    V: matrix[k, n] = workload.matrix
choose
    d: vector[n] >= 0
maximize
    logdet(V @ diag(d) @ V.T)
subject to
    whole: sum(d) <= 1
"""


def cubics() -> Workload:
    """1, x, x², x³ at nine places, the D-optimal zeros of (1 - x²) P₃'(x) among them (Guest 1958)."""
    inner = legendre.legroots(legendre.legder([0, 0, 0, 1]))
    places = np.sort([-1.0, 1.0, *inner, -0.7, -0.2, 0.0, 0.3, 0.8])
    return Workload.from_matrix(np.vander(places, 4, increasing=True).T)


Solved = tuple[Workload, Solution]


@pytest.fixture(scope="module")
def solved() -> Solved:
    w = cubics()
    return w, mmopt.solve(w, Program.parse(DESIGN))


def test_the_optimum_is_that_of_theory_and_its_bound_is_proved(solved: Solved) -> None:
    _, s = solved
    best = legendre.legroots(legendre.legder([0, 0, 0, 1]))
    v = np.vander([-1.0, 1.0, *best], 4)
    optimum = float(np.linalg.slogdet(v.T @ v / 4)[1])
    assert s.bound_grade == "proved"
    assert s.objective <= optimum + GAP and s.bound >= optimum - GAP
    assert s.gap <= 1e-5
    assert s.kind_of_gap == "their distance: the objective has a logarithm"


def test_no_figure_of_a_strategy_is_shown(solved: Solved) -> None:
    _, s = solved
    assert not s.has_strategy
    shown = {name for name, _ in s.rows()}
    assert not shown & {"total error", "error bound", "error gap", "rmse", "sensitivity"}
    assert not set(s.summary()) & {"error", "rmse", "sensitivity", "error_bound"}
    assert dict(s.rows())["program"] == "my_design"


@pytest.mark.slow
def test_a_comparison_says_that_there_is_none(solved: Solved) -> None:
    (row,) = mmopt.compare(solved[0], [Program.parse(DESIGN)], privacy={"rho": 1.0})
    assert (row.noise, row.rmse, row.predicted.reason) == ("", None, "the program has no strategy")


def test_nothing_is_released(solved: Solved) -> None:
    w, s = solved
    with pytest.raises(mmopt.PrivacyError) as caught:
        mmopt.plan(w, s, {"rho": 1.0})
    assert str(caught.value) == (
        "the solution of 'my_design' has no strategy: the program does not define one\n"
        "  write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)"
    )


def test_a_file_says_whether_there_is_a_strategy_and_is_verified(tmp_path: Path, solved: Solved) -> None:
    w, s = solved
    s.save(tmp_path / "d.npz")
    loaded = Solution.load(tmp_path / "d.npz")
    assert not loaded.has_strategy and mmopt.verify(loaded, w).holds
    (wrong,) = [row for row in mmopt.verify(replace(loaded, has_strategy=True), w).rows if not row.holds]
    assert (wrong.what, wrong.stated, wrong.recomputed) == ("has_strategy", "True", "False")


LEAST_NORM = """program least_norm
given
    A: matrix[m, n]
    b: vector[m]
choose
    x: vector[n]
minimize
    norm(A @ x - b)
"""


def test_figures_of_data_that_only_the_caller_has_are_proved_and_shown_without_a_strategy() -> None:
    givens = {"A": np.vander(np.linspace(-1, 1, 8), 3), "b": np.zeros(8)}
    found = mmopt.solve(np.eye(2), Program.parse(LEAST_NORM), givens=givens, solver="clarabel")
    assert (found.objective_grade, found.bound_grade) == ("proved", "proved")
    assert "e-30" not in str(found)
    checked = mmopt.verify(found, np.eye(2), Program.parse(LEAST_NORM))
    assert checked.holds and len(checked.shown) < len(checked.rows)
    shown = str(checked)
    assert not any(
        word in shown for word in ("strategy", "sensitivity", "total error", "error bound", "rmse")
    )


def test_what_is_asked_of_the_data_is_said_of_them() -> None:
    program = Program.parse(LEAST_NORM.replace("choose", "require\n    large: b >= 2\nchoose"))
    with pytest.raises(mmopt.errors.OptionError) as refused:
        mmopt.solve(np.eye(2), program, givens={"A": np.eye(2), "b": np.ones(2)})
    assert refused.value.hint == "pass other values of b"


def test_a_certificate_that_is_loose_is_called_so() -> None:
    text = """program loose
given
    a: vector[n]
choose
    x: vector[n] >= 0
minimize
    a @ x
subject to
    whole: sum(x) == 1
certificate mu: scalar from dual(whole)
    mu - 100
"""
    found = mmopt.solve(np.eye(2), Program.parse(text), givens={"a": np.ones(3)}, solver="clarabel")
    assert dict(found.rows())["derived bound"].endswith("; the certificate is loose here)")
