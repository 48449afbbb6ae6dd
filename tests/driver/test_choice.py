"""Which solver runs: chosen by the program's lines, named in the result, and as the user says."""

import sys

import numpy as np
import pytest
import tolerances
from cases import named

import mmopt
from mmopt import Program, Workload, solve
from mmopt.driver.solve_plan import Progress
from mmopt.errors import OptionError, SolverError
from mmopt.solvers import KERNELS, SOLVERS

PREFIX = Workload.from_matrix(np.tri(6), targets=np.arange(1.0, 7.0))
# Those that are proved optimal; a kernel that searches has its tests in tests/solvers.
NAMED = dict.fromkeys(name for kernel in KERNELS for name in kernel.programs)
TOLERANCE = {kernel.name: kernel.tolerance for kernel in KERNELS}
CLAIMED = [name for name in NAMED if Program.load(name).klass == "convex"]


@pytest.mark.some(4)
@pytest.mark.parametrize("name", CLAIMED)
@pytest.mark.parametrize("case", ["all ranges", "rank deficient", "zero columns", "duplicated columns"])
def test_it_agrees_with_a_conic_solver(name: str, case: str) -> None:
    ours, conic = solve(named(case), name), solve(named(case), name, solver="clarabel")
    assert conic.solver == "clarabel" and ours.status.stop == "gap reached"
    assert ours.value == pytest.approx(conic.value, rel=tolerances.GAP)
    if name == "banded_strategy" and case != "all ranges":  # its kernel needs cells that are told apart
        assert ours.solver == "clarabel"
    else:
        assert ours.gap <= TOLERANCE[ours.solver]
        assert ours.solver_version == mmopt.__version__


def test_what_no_kernel_knows_goes_to_a_conic_solver() -> None:
    edited = Program.load("l2_strategy").text.replace("diag(X) <= 1", "diag(X) <= 2")
    edited = edited.replace("X = X / max(diag(X))", "X = 2 * X / max(diag(X))")
    edited = edited.replace("diag(1 - diag(X))", "diag(2 - diag(X))").split("certificate")[0]
    found = solve(PREFIX, Program.parse(edited))
    assert found.solver in {row.name for row in SOLVERS}
    plain = solve(PREFIX, "l2_strategy")
    assert found.objective == pytest.approx(plain.objective / 2, rel=tolerances.GAP)


def test_a_kernel_that_does_not_know_the_program() -> None:
    with pytest.raises(SolverError) as error:
        solve(PREFIX, "design_weighting", solver="nuclear", givens={"D": np.eye(6)})
    assert error.value.message == "the kernel 'nuclear' does not know 'design_weighting'"
    assert error.value.hint.startswith("it solves l2_strategy, l2_strategy_lmi")


def test_limits_are_kept() -> None:
    found = solve(PREFIX, "fitness_for_use", max_iterations=3)
    assert found.iterations == 3 and found.status.stop == "iteration limit"
    assert "stopped at the iteration limit of 3" in found.warnings[0]


def test_a_gap_out_of_reach_is_said() -> None:
    found = solve(PREFIX, "fitness_for_use", tolerance=1e-16)
    assert found.status.stop == "gap not reached" and found.warnings


def test_progress_before_the_first_certified_point(subtests: pytest.Subtests) -> None:
    """A kernel's own count brackets what comes out, in the scale of the program."""
    for name in KERNELS[0].programs:
        with subtests.test(name):
            seen: list[Progress] = []
            found = solve(PREFIX, name, progress=seen.append)
            certified = [p.certified for p in seen]
            assert certified == sorted(certified) and certified[-1]
            for point in seen:
                ends = sorted([point.objective, point.bound or 0.0])
                low, high = sorted([found.objective, found.bound])
                assert ends[0] <= low * (1 + 1e-6) and high <= ends[1] * (1 + 1e-6)


def test_arrays_of_another_library(subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy", "fitness_budget"]:
        with subtests.test(name):
            ours, strict = solve(PREFIX, name), solve(PREFIX, name, arrays="array_api_strict")
            assert strict.options["arrays"] == "array_api_strict"
            assert strict.objective == pytest.approx(ours.objective, rel=tolerances.RECOMPUTED)


def test_arrays_that_nobody_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "l2_strategy", arrays="nonesuch:cuda")
    assert str(error.value) == (
        "no library of arrays 'nonesuch' is installed here\n"
        "  known: numpy, cupy, torch, torch:cuda; install it, or leave --arrays out"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionError, match="no library of arrays 'torch' is installed here"):
        solve(PREFIX, "l2_strategy", arrays="torch:cuda")
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "l2_strategy", solver="scs", arrays="cupy")
    assert str(error.value) == (
        "scs computes with its own arrays, not with those of 'cupy'\n  these take any: nuclear"
    )
