"""Solvers that are taken by name because cvxpy finds them installed.

Guards conic_solvers.py.
"""

import importlib.metadata
import importlib.util

import cvxpy
import numpy as np
import pytest
from cvxpy.reductions.solvers import defines

from mmopt import OptionError, SolverError, Workload, solve
from mmopt.errors import UnsuitableError
from mmopt.solvers import KERNELS, SOLVERS, solver_row
from mmopt.solvers.conic_solvers import cvxpy_row, installed_others
from tests.solvers.separate import separate

PREFIX = Workload.from_matrix(np.tri(3))
LINEAR, SQUARES, EXPONENTIAL = map(separate, ("x", "x**2", "exp(x / 3)"))


def test_a_linear_program(subtests: pytest.Subtests) -> None:
    for name in ["glpk", "highs", "osqp", "scipy"]:
        with subtests.test(name):
            s = solve(PREFIX, LINEAR, solver=name.upper())
            assert (s.solver, s.solver_version) == (name, cvxpy_row(name).version)  # type: ignore[union-attr]
            assert s.gap is not None and s.gap <= 1e-6


def test_a_quadratic_objective() -> None:
    for name in ["osqp", "highs"]:
        s = solve(PREFIX, SQUARES, solver=name)
        assert s.gap is not None and s.gap <= 1e-6 and s.objective == pytest.approx(14, rel=1e-6)


def test_cones_are_those_that_cvxpy_declares() -> None:
    with pytest.raises(UnsuitableError) as error:
        solve(PREFIX, "l2_strategy", solver="osqp")
    assert str(error.value) == (
        "'l2_strategy' does not work with osqp: it lacks the psd cone\n"
        "  these have it: clarabel, scs, cvxopt, sdpa"
    )
    with pytest.raises(UnsuitableError, match="it lacks the second-order cone"):
        solve(PREFIX, SQUARES, solver="scipy")
    with pytest.raises(UnsuitableError, match="it lacks the exponential cone"):
        solve(PREFIX, EXPONENTIAL, solver="highs")
    for name, interface in {**defines.SOLVER_MAP_QP, **defines.SOLVER_MAP_CONIC}.items():
        if interface.is_installed() and name.lower() in installed_others():
            row = cvxpy_row(name)
            assert row is not None and row.cones >= {"zero", "nonnegative"}
            assert ("second-order" in row.cones) == (cvxpy.SOC in interface.SUPPORTED_CONSTRAINTS)


def test_versions_are_of_the_package() -> None:
    for name, package in {"highs": "highspy", "osqp": "osqp", "scipy": "scipy"}.items():
        assert solver_row(name).version == importlib.metadata.version(package)
    # CVXOPT brings a GLPK whose own version nobody says.
    assert solver_row("glpk").version == f"through cvxopt {importlib.metadata.version('cvxopt')}"


def test_an_unknown_solver_lists_what_is_there_and_what_pip_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.solvers.conic_solvers.installed_others", lambda: ["glpk", "highs"])
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in ("qoco", "sdpap") else find(name)
    )
    kernels = ", ".join(kernel.name for kernel in KERNELS)
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "l2_strategy", solver="simplex")
    assert str(error.value) == (
        "there is no solver 'simplex'\n"
        f"  installed: conic, {kernels}, lbfgs, clarabel, scs, cvxopt\n"
        "  through cvxpy: glpk, highs\n"
        "  not installed: pip install qoco sdpa-python\n"
        "  a function of your own: module:function"
    )
    with pytest.raises(OptionError) as near:
        solve(PREFIX, "l2_strategy", solver="hihgs")
    assert str(near.value) == "there is no solver 'hihgs'\n  did you mean 'highs'?"


def test_one_that_cvxpy_knows_and_that_is_not_installed() -> None:
    absent = next(name for name in ("GUROBI", "MOSEK", "COPT") if name not in cvxpy.installed_solvers())
    with pytest.raises(SolverError) as error:
        solve(PREFIX, "l2_strategy", solver=absent.lower())
    first, *rest = str(error.value).splitlines()
    assert first == f"the solver '{absent.lower()}' is not installed; cvxpy can call it where it is"
    assert rest[0] == f"  installed: {', '.join(row.name for row in SOLVERS)}"
