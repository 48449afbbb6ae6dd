"""p_identity through the pipeline: by the kernel, under other names, and by the general search."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt import Program, UnsuitableError, Workload, solve
from mmopt.errors import OptionError

TEXT = Program.load("p_identity").text


def test_the_kernel_takes_it_and_the_file_scores_it() -> None:
    w = Workload.from_matrix(np.tri(32))
    s = solve(w, "p_identity")
    assert s.solver == "p_identity"
    assert s.status.stop.startswith("local optimum, 18 starts, 6 followed, spread ")
    theta = s.variables["Theta"]
    assert theta.shape == (8, 32) and (theta >= 0).all()
    whole = np.vstack([np.eye(32), theta])
    a = whole / whole.sum(axis=0)
    assert s.objective == pytest.approx(np.trace(w.gram @ np.linalg.inv(a.T @ a)), rel=RECOMPUTED)
    assert s.error == pytest.approx(s.objective, rel=RECOMPUTED)
    assert s.bound == s.error_bound < s.objective


def test_under_other_names_and_with_another_number_of_rows() -> None:
    text = TEXT.replace("Theta", "Extra").replace("matrix[p, n]", "matrix[rows, n]").replace("W", "Queries")
    s = solve(Workload.from_matrix(np.tri(16)), Program.parse(text), givens={"size": 6})
    assert s.solver == "p_identity" and s.variables["Extra"].shape == (3, 16)


def test_an_edited_program_goes_to_the_general_search() -> None:
    text = TEXT.replace("eye(n)", "2 * eye(n)")
    s = solve(Workload.from_matrix(np.tri(6)), Program.parse(text), starts=2)
    assert s.solver == "lbfgs"
    assert solve(Workload.from_matrix(np.tri(6)), "p_identity").objective <= s.objective * (1 + 1e-6)


def test_the_general_search_by_name_and_what_is_refused() -> None:
    w = Workload.from_matrix(np.tri(6))
    general, kernel = solve(w, "p_identity", solver="lbfgs", starts=3), solve(w, "p_identity")
    assert general.solver == "lbfgs" and kernel.objective <= general.objective * (1 + 1e-6)
    with pytest.raises(OptionError) as wrong:
        solve(w, "p_identity", solver="weighting")
    assert str(wrong.value).startswith(
        "'p_identity' is of class 'smooth', which is searched by lbfgs, not by weighting"
    )
    with pytest.raises(UnsuitableError):
        solve(w, "l2_strategy", solver="p_identity")


def test_limits_are_said(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.random((9, 7)))
    s = solve(w, "p_identity", max_iterations=5)
    assert (s.status.stop, s.iterations) == ("iteration limit", 5)
    assert solve(w, "p_identity", time_limit=1e-9).status.stop == "time limit"
    assert solve(w, "p_identity", starts=1).status.stop == "local optimum, 1 start"


@pytest.mark.quick
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_cells(n: int) -> None:
    """The identity is the best that is known there."""
    s = solve(Workload.from_matrix(np.tri(n)), "p_identity")
    assert s.objective <= n * (n + 1) / 2 * (1 + 1e-6)
