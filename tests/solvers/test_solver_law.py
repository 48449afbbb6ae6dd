"""The law of the solvers: every row of the tables takes the cones and the options that it claims.

Guards choice_and_forecast.py, conic_solvers.py.
"""

import ctypes
import itertools
import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import cvxpy
import numpy as np
import pytest
from dense_row_space import ways

from mmopt import OptionError, Program, Workload, solve
from mmopt.compiler import bind, cones, lower
from mmopt.driver.accepted_options_and_inputs import OPTIONS_OF_SOLVERS, READ_BY_CLASS
from mmopt.driver.task_and_plan import plan_solve
from mmopt.errors import UnsuitableError
from mmopt.language import Checked, shipped
from mmopt.language.syntax.syntax_tree import Apply
from mmopt.limits import Stop
from mmopt.solvers import (
    KERNELS,
    LBFGS,
    SOLVERS,
    Clock,
    Kernel,
    Options,
    SolverRow,
    choice_and_forecast,
    choose_solver,
    claims,
    missing_cones,
    predicted,
    run,
)
from mmopt.solvers.conic_problem import Handover
from mmopt.solvers.pairs_kernel import SECOND_ORDER
from tests.solvers.separate import NEEDS, separate

ONE = {"starts": 2, "seed": 7, "arrays": "numpy"}

PREFIX = Workload.from_matrix(np.tri(3) / 3)


def of_cone(kind: str) -> Program:
    """A program with a certificate that needs the cone."""
    if kind == "psd":
        return Program.load("l2_strategy")
    return separate(NEEDS[kind])


@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
def test_every_cone_that_a_row_claims_is_solved_and_certified(
    subtests: pytest.Subtests, capfd: pytest.CaptureFixture[str]
) -> None:
    """And nothing is printed, from below Python neither."""
    for row in SOLVERS:
        with subtests.test(row.name):
            # "zero" stands in every problem that cvxpy hands over, if only empty.
            for kind in {*NEEDS, "psd"} | row.cones - {"zero"}:
                program = of_cone(kind)
                if kind not in row.cones:
                    with pytest.raises(UnsuitableError, match=f"it lacks the .*{kind}"):
                        solve(PREFIX, program, solver=row.name)
                    continue
                s = solve(PREFIX, program, solver=row.name)
                assert s.solver == row.name and s.solver_version == row.version
                assert s.gap is not None and 0 <= s.gap <= row.tolerance, (kind, s)
                # A certificate of the test's own is claimed, whoever solves.
                assert s.status.feasible and s.bound_grade == ("proved" if kind == "psd" else "claimed")
            ctypes.CDLL(None).fflush(None)
            assert capfd.readouterr() == ("", "")


def test_every_row_has_a_forecast_and_a_shipped_program(subtests: pytest.Subtests) -> None:
    programs = map(Program.load, ("l2_strategy", "query_weighting", "gamma_2"))
    shipped = [cones(one.checked, one.sizes()) for one in (bind(p, PREFIX) for p in programs)]
    for row in SOLVERS:
        with subtests.test(row.name):
            known = predicted(bind(of_cone("nonnegative"), PREFIX), row)
            assert known.solver == row.name and 0 < known.seconds < 10 and 1e6 < known.memory < 1e9
            assert any(not missing_cones(row, needed) for needed in shipped)


# What a solver has no setting for, and what becomes of it.
WITHOUT = {
    ("scs", "threads"),  # one thread
    ("cvxopt", "threads"),
    ("qoco", "threads"),
    ("clarabel", "history"),  # which it always has
}


def handed(row: SolverRow, options: Options, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings with which the solver itself was called, of every call."""
    seen: list[dict[str, Any]] = []

    def recorded(form: Callable[..., Any], settings: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            seen.append(settings(args, more))
            return form(*args, **more)

        return call

    with monkeypatch.context() as patched:
        if row.name == "clarabel":
            import clarabel

            names = [name for name in dir(clarabel.DefaultSettings()) if not name.startswith("_")]
            own = recorded(
                clarabel.DefaultSolver,
                lambda args, more: {n: v for n in names if not callable(v := getattr(args[-1], n))},
            )
            patched.setattr(clarabel, "DefaultSolver", own)
        elif row.name == "scs":
            import scs

            patched.setattr(scs, "SCS", recorded(scs.SCS, lambda args, more: more))
        else:
            own = recorded(cvxpy.Problem.solve, lambda args, more: more)
            patched.setattr(cvxpy.Problem, "solve", own)
        lowered = lower(bind(of_cone("nonnegative"), PREFIX))
        with Clock(options.time_limit) as clock:
            list(run(row, lowered, options, clock))
    return seen


def test_every_option_reaches_the_solver_or_is_an_error(
    subtests: pytest.Subtests, capfd: pytest.CaptureFixture[str]
) -> None:
    for option, row in itertools.product([f.name for f in fields(Options)], SOLVERS):
        with subtests.test(row.name, option=option), pytest.MonkeyPatch.context() as patch:
            other: Any = {
                "tolerance": 1e-3,
                "max_iterations": 77,
                "threads": 2,
                "verbose": True,
                "history": True,
            }.get(option)
            if option in ONE:
                with pytest.raises(OptionError, match=option):
                    solve(PREFIX, of_cone("nonnegative"), solver=row.name, **{option: ONE[option]})
            elif option == "time_limit":
                lowered = lower(bind(of_cone("nonnegative"), PREFIX))
                with Clock(1e-9) as clock:
                    *_, last = run(row, lowered, Options(time_limit=1e-9), clock)
                assert last.stop == "stopped"
            else:
                plain, asked = (handed(row, o, patch) for o in (Options(), Options(**{option: other})))
                before, after = ({k: v for k, v in c[0].items() if "time" not in k} for c in (plain, asked))
                assert (before != after) is ((row.name, option) not in WITHOUT), (before, after)
                if option in ("max_iterations", "threads") and before != after:
                    assert other in after.values()


def test_an_option_that_is_unknown_is_an_error() -> None:
    with pytest.raises(OptionError, match="tolerence"):
        solve(PREFIX, "l2_strategy", tolerence=1e-3)  # type: ignore[call-arg]
    assert set(ONE) <= set(READ_BY_CLASS) and set(OPTIONS_OF_SOLVERS) <= set(READ_BY_CLASS)


TARGETED = Workload.from_matrix(np.tri(4), targets=[1.0, 2.0, 3.0, 1.5])


def asked_of(kernel: Kernel) -> Workload:
    """Queries that the kernel takes: that of the space of the queries wants more cells than a matrix has."""
    if kernel.name == "many_pairs":
        return Workload.from_matrix(np.tri(SECOND_ORDER + 1))
    return ways((4,) * 7, order=1, target=1.0) if kernel.name == "sectors" else TARGETED


def under_other_names(program: Program) -> Program:
    """A copy of the program in which what is chosen has other names."""
    text = program.text
    for chosen in program.choose:
        text = re.sub(rf"\b{chosen.name}\b", f"own_{chosen.name}", text)
    return Program.parse(text)


def test_every_program_of_a_kernel_is_claimed_solved_and_certified(subtests: pytest.Subtests) -> None:
    for kernel in KERNELS:
        with subtests.test(kernel.name):
            asked = asked_of(kernel)
            for name in kernel.programs:
                program = under_other_names(Program.load(name))
                assert program.problem_class == kernel.program_class
                givens = given_of(name)
                named = bind(shipped(name), asked, givens) if kernel.name != "sectors" else None
                assert named is None or next(claims(named)).program == name
                instance = plan_solve(program, asked, givens, solver=kernel.name).instance
                claim = next(claims(instance))
                assert (claim.name, claim.program) == (kernel.name, name)
                known = predicted(instance, claim)
                assert known.solver == kernel.name and known.seconds > 0 and known.memory > 0
                larger = Workload.from_matrix(np.tri(80), targets=np.ones(80))
                if kernel.name != "sectors" and not givens:
                    more = predicted(bind(program, larger), claim)
                    assert more.seconds > known.seconds and more.memory >= known.memory
                s = solve(asked, program, solver=kernel.name, givens=givens)
                assert s.solver == kernel.name and s.solver_version == claim.version
                assert s.status.feasible and s.gap is not None and s.gap >= 0, name
                assert program.problem_class == "smooth" or s.gap <= kernel.tolerance, (name, s)
                assert set(s.variables) == {d.name for d in program.choose}


def test_a_program_that_is_shipped_is_known_without_reading_others(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def seen(name: str) -> Checked:
        read.append(name)
        return shipped(name)

    monkeypatch.setattr(choice_and_forecast, "shipped", seen)
    assert next(claims(bind(shipped("query_weighting"), PREFIX))).program == "query_weighting"
    assert set(read) == {"query_weighting"}
    read.clear()
    copy = under_other_names(Program.load("p_identity"))  # smooth: of those that are convex none is read
    assert next(claims(bind(copy, PREFIX))).program == "p_identity"
    assert set(read) <= {"p_identity", "softmax_step"}


def given_of(name: str) -> dict[str, Any]:
    """Givens that no workload has: a factor whose other half is asked for."""
    return {d.name: np.eye(4) for d in Program.load(name).givens if not d.source}


def test_a_name_alone_is_not_claimed(subtests: pytest.Subtests) -> None:
    """Whoever changes a line of a program that a kernel knows gets another solver."""
    for kernel in KERNELS:
        with subtests.test(kernel.name):
            for name in kernel.programs:
                program = Program.load(name)
                assert program.objective is not None
                twice = Apply("add", (program.objective, program.objective), program.objective.span)
                changed = bind(replace(program, objective=twice), TARGETED, given_of(name))
                assert next(claims(changed), None) is None
                with pytest.raises(UnsuitableError, match=f"'{kernel.name}' does not know '{name}'"):
                    choose_solver(changed, kernel.name)


def test_options_reach_a_kernel(subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.limits.GRACE", 60.0)  # a busy machine judges points slowly
    for kernel in KERNELS:
        with subtests.test(kernel.name):
            name, asked = kernel.programs[0], asked_of(kernel)
            asks = partial(solve, asked, name, solver=kernel.name, givens=given_of(name))
            few, late = asks(max_iterations=1, tolerance=1e-13), asks(time_limit=1e-9, tolerance=1e-13)
            assert few.iterations <= 1 and few.status.stop in (Stop.ITERATIONS, Stop.REACHED)
            assert late.iterations <= 1 and late.status.stop in (Stop.TIME, Stop.REACHED)
            assert few.status.feasible and late.status.feasible
            rough, fine = asks(tolerance=0.5), asks(tolerance=kernel.tolerance)
            assert rough.options["tolerance"] == 0.5 and rough.iterations <= fine.iterations
            for option, value in ONE.items():
                if option not in kernel.reads:
                    with pytest.raises(OptionError, match=f"no option '{option}'"):
                        asks(**{option: value})


def test_the_search_takes_its_options() -> None:
    assert LBFGS not in SOLVERS and not LBFGS.cones
    with pytest.raises(OptionError, match="arrays"):
        solve(PREFIX, "p_identity", solver=LBFGS.name, arrays="numpy")
    one, two = (solve(PREFIX, "p_identity", solver=LBFGS.name, starts=n, seed=1) for n in (1, 3))
    assert (len(one.history), len(two.history)) == (1, 3)
    assert one.bound is not None and one.bound <= one.objective


def test_multipliers_beyond_the_range_of_doubles_are_no_warning() -> None:
    """A warning is an error here; where they are judged, what is not finite proves nothing."""
    cap = SimpleNamespace(dual_value=np.array([1e300]))
    lowered: Any = SimpleNamespace(
        variables={}, constraints={"cap": [cap]}, places={}, rows={"cap": np.array([1e10])}, corners={}
    )
    _, multipliers = Handover(lowered, "CLARABEL", {}, None, None).current()
    assert np.isposinf(multipliers["cap"]).all()
