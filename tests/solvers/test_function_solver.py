"""A solver of one's own: it solves like any other, nothing of it is believed, and nonsense is named.

Guards limits.py, conic_problem.py, conic_solvers.py.
"""

import math
import signal
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from own_solvers import by_scs, in_steps, simplex

from mmopt import OptionError, SolverError, Workload, solve
from mmopt.errors import UnsuitableError
from mmopt.limits import Stop
from mmopt.solvers import conic_problem, solver_row
from mmopt.solvers.conic_problem import KINDS, ConicProblem
from tests.solvers.separate import CERTIFICATES, separate

PREFIX = Workload.from_matrix(np.tri(3))
EXPECTED = "\n  expected (x, y), or a dictionary with x and y (pydoc mmopt.solvers.conic_problem)"


@pytest.mark.some(2)
@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
@pytest.mark.parametrize("program", ["l2_strategy", "query_weighting", *CERTIFICATES])
@pytest.mark.parametrize("solver", [by_scs, "own_solvers:by_scs"], ids=["function", "name"])
def test_a_function_solves_every_cone(program: str, solver: Any) -> None:
    for maximize in (False, True) if program in CERTIFICATES else (False,):
        asked = separate(program, 2, maximize) if program in CERTIFICATES else program
        s = solve(PREFIX, asked, solver=solver)
        assert (s.solver, s.solver_version) == ("own_solvers:by_scs", "1.2")
        assert s.status.stop == Stop.REACHED and s.gap is not None and 0 <= s.gap <= 1e-6
        assert s.objective == pytest.approx(solve(PREFIX, asked).objective, rel=1e-5)


def test_a_linear_program_by_a_function_that_says_what_it_takes() -> None:
    s = solve(PREFIX, separate("x", 2), solver=simplex)
    assert s.gap is not None and s.gap <= 1e-12 and s.iterations >= 0
    assert s.objective == pytest.approx(8.0, rel=1e-12)
    with pytest.raises(UnsuitableError) as error:
        solve(PREFIX, "l2_strategy", solver=simplex)
    assert str(error.value) == (
        "'l2_strategy' does not work with own_solvers:simplex: it lacks the psd cone\n"
        "  these have it: clarabel, scs, cvxopt, sdpa"
    )


def test_the_example_of_the_reference_solves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines after '::' in the docstring, as a module of the current folder."""
    example = (conic_problem.__doc__ or "").split("::\n")[1].split("\nUse it as ``mmopt.solve(")[0]
    (tmp_path / "written_by_a_user.py").write_text(textwrap.dedent(example))
    monkeypatch.syspath_prepend(tmp_path)
    s = solve(PREFIX, separate("x", 2, maximize=True), solver="written_by_a_user:simplex")
    assert s.gap is not None and s.gap <= 1e-12 and s.objective == pytest.approx(-4.0)


def test_a_generator_is_stopped_at_the_gap() -> None:
    s = solve(PREFIX, separate("x**2", 2), solver=in_steps, tolerance=1e-3)
    assert (s.status.raw, s.iterations) == ("at 1e-05", 14)


def test_a_quadratic_objective_as_such() -> None:
    seen: list[ConicProblem] = []

    def quadratic(problem: ConicProblem) -> Any:
        seen.append(problem)
        return by_scs(problem)

    quadratic.quadratic = True  # type: ignore[attr-defined]
    quadratic.cones = ("zero", "nonnegative")  # type: ignore[attr-defined]
    s = solve(PREFIX, separate("x**2", 2), solver=quadratic)
    assert s.gap is not None and s.gap <= 1e-6 and s.objective == pytest.approx(2 + 9 + 4 + 1, rel=1e-6)
    assert seen[0].P is not None and seen[0].cones.kinds == {"nonnegative"}
    with pytest.raises(UnsuitableError, match="it lacks the exponential cone"):
        solve(PREFIX, separate("exp(x / 3)", 2), solver=quadratic)


def raises(problem: ConicProblem) -> Any:
    return {}["nothing"]


def empty(problem: ConicProblem) -> Iterator[Any]:
    yield from ()


def shaped(x: Any = 0.0, y: Any = 0.0, **more: Any) -> Callable[[ConicProblem], Any]:
    """A function that returns numbers of the right lengths, but for what is said."""

    def function(problem: ConicProblem) -> Any:
        m, n = problem.A.shape
        return {"x": np.zeros(n) if x == 0.0 else x, "y": np.zeros(m) if y == 0.0 else y, **more}

    return function


COLUMNS = "as x, which is 3 numbers (A has 3 columns)"
ROWS = "as y, which is 6 numbers (A has 6 rows)"


@pytest.mark.quick
def test_nonsense_is_named_with_what_was_returned(subtests: pytest.Subtests) -> None:
    for function, said in [
        (lambda problem: None, "returned None"),
        (lambda problem: "solved", "returned 'solved'"),
        (lambda problem: (1, 2, 3), "returned a tuple of 3"),
        (lambda problem: {"z": 1}, "returned a dict with 'z'"),
        (lambda problem: ([1.0], [2.0]), f"returned an array of shape (1,) {COLUMNS}"),
        (shaped(x=[1.0, 2.0, 3.0, 4.0]), f"returned an array of shape (4,) {COLUMNS}"),
        (lambda problem: SimpleNamespace(x=[1.0, 2.0, 3.0]), f"returned None {ROWS}"),
        (lambda problem: ("abc", None), f"returned 'abc' {COLUMNS}"),
        (lambda problem: ([[1.0], [2.0, 3.0]], 1), f"returned a list of 2 {COLUMNS}"),
        (lambda problem: (np.ones(3) * 1j, 1), f"returned a ndarray {COLUMNS}"),
        (shaped(y=[0, 0, math.nan, 0, math.inf, 0]), "returned y[2] = nan; 2 of 6 are not finite numbers"),
        (shaped(status=1), "returned 1 as status, which is a text"),
        (shaped(iterations=-3), "returned -3 as iterations, which is a whole number"),
        (shaped(x=None, status="solved"), f"returned None {COLUMNS}"),
        (empty, "yielded nothing"),
    ]:
        with subtests.test(function=function):
            with pytest.raises(SolverError) as error:
                solve(PREFIX, separate("x", 2), solver=function)
            name = f"{__name__}:{function.__qualname__}"
            assert str(error.value) == f"the solver '{name}' {said}{EXPECTED}"


def test_what_it_raises_is_told_with_its_place() -> None:
    with pytest.raises(SolverError) as error:
        solve(PREFIX, separate("x", 2), solver=raises)
    line = raises.__code__.co_firstlineno + 1
    assert str(error.value) == (
        f"the solver '{__name__}:raises' raised KeyError: 'nothing' "
        f'({__file__}, line {line}: return {{}}["nothing"])'
    )
    assert isinstance(error.value.__cause__, KeyError)


def test_its_word_that_there_is_no_solution_is_not_believed() -> None:
    for word in ["infeasible", "unbounded"]:
        with pytest.raises(SolverError) as error:
            solve(PREFIX, separate("x", 2), solver=shaped(x=None, status=word))
        assert "own" in str(error.value) or "shaped" in str(error.value)
        assert "has no feasible point" not in str(error.value)


def test_a_wrong_point_is_judged_by_the_program_alone() -> None:
    """x = 1 misses every line, y = 0 proves nothing: what is shown is the repaired point."""
    s = solve(PREFIX, separate("x", 2), solver=shaped(x=[1.0, 1.0, 1.0]))
    assert s.objective == pytest.approx(2 + 9.0) and s.status.stop == Stop.MISSED
    assert s.status.violation > 0.4


def test_time_limit_and_iterations_are_handed_on() -> None:
    seen: list[ConicProblem] = []

    def patient(problem: ConicProblem) -> Any:
        seen.append(problem)
        return by_scs(problem)

    solve(PREFIX, separate("x", 2), solver=patient, time_limit=50.0, max_iterations=9, tolerance=1e-3)
    options = seen[0].options
    assert 0 < options.time_limit <= 50 and (options.max_iterations, options.tolerance) == (9, 1e-3)
    assert seen[0].names == ("x[0]", "x[1]", "x[2]")


def test_ctrl_c_ends_a_function_without_a_point_and_keeps_one_that_there_is() -> None:
    def pressed(problem: ConicProblem) -> Any:
        signal.raise_signal(signal.SIGINT)
        return by_scs(problem)

    with pytest.raises(KeyboardInterrupt):
        solve(PREFIX, separate("x**2", 2), solver=pressed)

    def later(problem: ConicProblem) -> Iterator[Any]:
        yield by_scs(problem, 1e-2)
        signal.raise_signal(signal.SIGINT)
        yield by_scs(problem, 1e-3)
        raise AssertionError("it goes on after Ctrl-C")

    assert solve(PREFIX, separate("x**2", 2), solver=later, tolerance=1e-12).status.is_interrupted


def test_names_that_lead_nowhere(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name, said in [
        (
            "nowhere:solve",
            "there is no module 'nowhere' for the solver 'nowhere:solve'\n"
            "  it is looked for where Python looks, and in '{folder}'",
        ),
        ("here:nothing", "the module 'here' has no function 'nothing'\n  its functions: one"),
        ("here:number", "the module 'here' has no function 'number'\n  its functions: one"),
        (
            "broken:one",
            "the module 'broken' of the solver 'broken:one' cannot be imported: "
            "ZeroDivisionError: division by zero ({folder}/broken.py, line 1: 1 / 0)",
        ),
        (
            "lacking:one",
            "the module 'lacking' of the solver 'lacking:one' cannot be imported: "
            "No module named 'no_such_library'\n  install what it needs in mmopt's environment",
        ),
        (
            "here:picky",
            "the cones of the solver 'here:picky' are {{'soc'}}, expected some of "
            f"{', '.join(KINDS)}\n  for example function.cones = {{{{'zero', 'nonnegative'}}}}",
        ),
    ]:
        with subtests.test(name), pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            patch.syspath_prepend(tmp_path)
            (tmp_path / "here.py").write_text(
                "def one(problem): pass\nnumber = 3\nclass Picky:\n    cones = {'soc'}\n"
                "    def __call__(self, problem): pass\npicky = Picky()\n"
            )
            (tmp_path / "broken.py").write_text("1 / 0\n")
            (tmp_path / "lacking.py").write_text("import no_such_library\n")
            with pytest.raises((OptionError, SolverError)) as error:
                solver_row(name)
            assert str(error.value) == said.format(folder=tmp_path)


def test_a_module_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [path for path in __import__("sys").path if path])
    (tmp_path / "of_this_folder.py").write_text("def one(problem): pass\n")
    assert solver_row("of_this_folder:one").name == "of_this_folder:one"
