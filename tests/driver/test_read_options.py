"""An option that nothing reads is refused by name before any work, and who reads it is said.

Guards run_solver.py, conic_solvers.py, accepted_options_and_inputs.py.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from dense_row_space import ways

from mmopt import OptionError, Program, Workload, certify, compare, solve
from mmopt.driver import solve as solve_module
from mmopt.driver.accepted_options_and_inputs import ALL_SOLVERS, READ_BY_CLASS, is_solved_by, reads_option
from mmopt.errors import Error, UnsuitableError
from mmopt.language import program_names, shipped
from mmopt.limits import Stop
from mmopt.solvers import Kernel, Options

PREFIX = Workload.from_matrix(np.tri(4), targets=[1.0, 2.0, 3.0, 1.5])
VALUES: dict[str, Any] = {
    "tolerance": 1e-2,
    "max_iterations": 2,
    "start": "identity",
    "starts": 2,
    "seed": 0,
    "arrays": "numpy",
    "derive": True,
}
GIVENS = {"Q": "identity", "A": np.eye(4), "R": np.eye(4), "t1": 1.0, "t2": 1.0}


# With neighbours of its own, and with a closed form for these givens.
NOT_HERE = ("common_mechanism", "low_rank_reconstruction")


class Worked(Exception):
    """Work on a program has begun."""


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is bound, reduced or solved."""

    def planned(*args: Any, **more: Any) -> None:
        raise Worked

    monkeypatch.setattr(sys.modules["mmopt.driver.solve_and_tune"], "plan_solve", planned)


def given_of(name: str) -> dict[str, Any]:
    """Givens and parameters that no workload has."""
    program = Program.load(name)
    open_ones = {d.name for d in program.givens if not d.source} | {p.name for p in program.parameters}
    return {key: value for key, value in GIVENS.items() if key in open_ones}


@pytest.mark.quick
@pytest.mark.usefixtures("idle")
def test_every_option_is_read_or_refused_before_any_work(subtests: pytest.Subtests) -> None:
    assert set(VALUES) == set(READ_BY_CLASS) - {"solver"}
    assert solve_module is vars(solve)["__wrapped__"]
    for name in program_names():
        checked = shipped(name)
        for option, value in VALUES.items():
            with subtests.test(name, option=option):
                if reads_option(checked, option):
                    continue
                with pytest.raises(OptionError) as refused:
                    solve(PREFIX, name, givens=given_of(name), **{option: value})
                assert f" has no option '{option}'" in refused.value.message
                assert refused.value.hint.startswith(("it is an option of class", "these have it: "))


@pytest.mark.quick
@pytest.mark.usefixtures("idle")
def test_a_solver_solves_the_program_or_is_refused_before_any_work(subtests: pytest.Subtests) -> None:
    for name in program_names():
        checked = shipped(name)
        able = [row.name for row in ALL_SOLVERS if is_solved_by(checked, row)]
        assert bool(able) is (checked.program.problem_class != "closed form")
        with subtests.test(name, solver="nonsense"), pytest.raises(OptionError, match="no solver 'nonsense'"):
            solve(PREFIX, name, solver="nonsense", givens=given_of(name))
        for row in ALL_SOLVERS:
            # A conic solver for a program of its class: which cones it lacks is seen with the sizes.
            is_conic = not isinstance(row, Kernel) and row.cones
            if row.name in able or (is_conic and checked.program.problem_class in ("convex", "rank")):
                continue
            with subtests.test(name, solver=row.name):
                with pytest.raises(UnsuitableError, match=f"{row.name}.* does not") as refused:
                    solve(PREFIX, name, solver=row.name, givens=given_of(name))
                words = f"these do: {', '.join(able)}" if able else "it is a closed form"
                assert words in refused.value.hint


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The options that are read while something is solved, but for those that only check or keep them."""
    found: set[str] = set()

    def noted(self: Options, name: str) -> Any:
        by = sys._getframe(1).f_code.co_name
        if by not in ("__post_init__", "_asdict_inner", "__eq__", "__repr__"):
            found.add(name)
        return object.__getattribute__(self, name)

    monkeypatch.setattr(Options, "__getattribute__", noted)
    yield found


@pytest.mark.parametrize("name", [n for n in program_names() if n not in NOT_HERE])
@pytest.mark.some(6)
def test_what_is_taken_is_read(name: str, read: set[str], subtests: pytest.Subtests) -> None:
    """Each option is read with the solver of the program's choice."""
    checked = shipped(name)
    hurried = {
        "time_limit": 20.0,
        **({"starts": 1, "max_iterations": 2} if checked.program.problem_class == "rank" else {}),
    }
    solve(PREFIX, name, givens=given_of(name), **hurried)
    for option in set(VALUES) - {"start", "derive"}:  # which are no Options
        with subtests.test(option):
            assert option in read or not reads_option(checked, option)


def test_a_step_gets_the_solver_and_the_options_that_it_reads() -> None:
    asked = solve(
        PREFIX, "fitness_softmax", solver="lbfgs", tolerance=0.1, starts=1, givens={"growth": 100.0}
    )
    assert {step.solver for step in asked.steps.values()} == {"lbfgs"}
    assert {step.options["starts"] for step in asked.steps.values()} == {1}
    by_kernel = solve(PREFIX, "fitness_refined", solver="nuclear", arrays="numpy")
    assert {step.options["arrays"] for step in by_kernel.steps.values()} == {"numpy"}


def test_start_alone_says_where_a_search_begins(subtests: pytest.Subtests) -> None:
    for option in ("starts", "seed"):
        with subtests.test(option), pytest.raises(OptionError) as refused:
            solve(PREFIX, "p_identity", start="identity", **{option: 3})
        message = f"'{option}' has no effect with 'start': the search starts from there alone"
        assert refused.value.message == message


def test_a_limit_that_a_solver_of_cvxpy_has_no_setting_for_is_refused() -> None:
    linear = Program.parse(
        'program least\ntitle "A linear program"\nclass convex\nchoose\n    x: vector[3] >= 0\n'
        "minimize\n    sum(x)\nsubject to\n    enough: sum(x) >= 1\n"
    )
    with pytest.raises(OptionError) as refused:
        solve(None, linear, solver="highs", max_iterations=5)
    assert refused.value.message == "highs has no option 'max_iterations'"


def test_certify_reads_its_options_or_refuses_them(subtests: pytest.Subtests) -> None:
    text = Program.load("min_error").text
    unbounded = Program.parse(text[: text.index("\nbound\n")])
    for options, kind, message in [
        ({"solver": "nonsense"}, OptionError, "there is no solver 'nonsense'"),
        ({"solver": "weighting"}, UnsuitableError, "the kernel 'weighting' does not know 'l2_strategy'"),
        (
            {"solver": "scs", "solve": False},
            OptionError,
            "--solver, --tolerance and --time-limit have no effect with --no-solve",
        ),
        (
            {"tolerance": 1e-3, "program": unbounded, "norm": 1},
            OptionError,
            "--solver, --tolerance and --time-limit have no effect, as 'min_error' is not convex",
        ),
    ]:
        with subtests.test(message):
            asked: dict[str, Any] = {"program": "l2_strategy", **options}
            with pytest.raises(Error) as refused:
                certify(PREFIX, np.eye(4), **asked)
            assert (type(refused.value), refused.value.message) == (kind, message)


def test_what_does_not_apply_is_no_row_of_figures() -> None:
    found = compare(
        PREFIX,
        ["fitness_softmax", "singular_value_bound"],
        ["clarabel", "softmax"],
        tolerance=[1e-1, 1e-2],
        time_limit=20.0,
        max_iterations=50,
    )
    rows = [(one.program, one.solver, one.tolerance, one.stop) for one in found]
    assert rows == [
        ("fitness_softmax", "clarabel", 0.1, Stop.UNSUITABLE),
        ("fitness_softmax", "clarabel", 0.01, Stop.UNSUITABLE),
        ("fitness_softmax", "softmax", 0.1, Stop.EVERY_STEP),
        ("fitness_softmax", "softmax", 0.01, Stop.EVERY_STEP),
        ("singular_value_bound", "clarabel", None, Stop.UNSUITABLE),
        ("singular_value_bound", "softmax", None, Stop.UNSUITABLE),
    ]
    assert found[0].reason == "clarabel does not solve 'fitness_softmax'; these do: softmax, lbfgs"


def test_compare_refuses_what_no_program_reads() -> None:
    """Those that read an option get it, the others do without."""
    for more, option in (({"tolerance": 1e-3}, "tolerance"), ({"max_iterations": 3}, "max_iterations")):
        with pytest.raises(OptionError) as refused:
            compare(PREFIX, ["singular_value_bound"], **more)
        assert refused.value.message == f"no program compared has an option '{option}'"
    one, other = compare(PREFIX, ["singular_value_bound", "l2_strategy"], max_iterations=1, time_limit=20.0)
    assert (one.stop, other.stop, other.solution.iterations) == (Stop.CLOSED, Stop.ITERATIONS, 1)  # type: ignore[union-attr]


@pytest.mark.quick
@pytest.mark.usefixtures("idle")
def test_who_reads_an_option_is_said(subtests: pytest.Subtests) -> None:
    for name, options, message in [
        (
            "eigen_design",
            {"derive": True},
            "'eigen_design' is of class 'procedure', which has no option 'derive'\n"
            "  it is an option of class convex",
        ),
        (
            "fitness_softmax",
            {"seed": 0},
            "what 'fitness_softmax' solves has no option 'seed'\n"
            "  these have it: p_identity, signed_rows, lbfgs",
        ),
        (
            "softmax_step",
            {"starts": 2},
            "softmax has no option 'starts'\n  these have it: p_identity, signed_rows, lbfgs",
        ),
        (
            "augment",
            {"tolerance": 1e-3},
            "'augment' is of class 'closed form', which has no option 'tolerance'\n"
            "  it is an option of class convex, rank and smooth",
        ),
        (
            "low_rank",
            {"arrays": "numpy"},
            "what 'low_rank' solves has no option 'arrays'\n  these have it: nuclear",
        ),
        (
            "l2_strategy",
            {"solver": "scs", "arrays": "numpy"},
            "scs has no option 'arrays'\n  these have it: nuclear",
        ),
    ]:
        with subtests.test(message), pytest.raises(OptionError) as refused:
            solve(PREFIX, name, givens=given_of(name), **options)
        assert str(refused.value) == message


def test_who_is_chosen_by_the_workload_refuses_what_it_does_not_read() -> None:
    """Another kernel for the program reads the option; this one is chosen by the queries."""
    with pytest.raises(OptionError) as refused:
        solve(ways((4,) * 7, order=1), "l2_strategy", solver="sectors", arrays="numpy")
    assert str(refused.value) == "sectors has no option 'arrays'\n  these have it: nuclear"
    with pytest.raises(OptionError) as refused:
        solve(ways((4,) * 7, order=1), "l2_strategy", arrays="numpy")
    assert refused.value.message == "sectors has no option 'arrays'"
