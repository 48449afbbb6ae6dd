"""Programs side by side: what cannot be solved is an entry with its reason.

Guards program_comparison.py.
"""

import contextlib
import itertools
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from own_solvers import by_scs

from mmopt import Error, OptionError, Program, Solution, Workload, compare, solve
from mmopt.comparison import Isolated, combinations, outcomes, with_formulations
from mmopt.comparison.program_comparison import CLASSES
from mmopt.driver import Progress
from mmopt.language import program_names
from mmopt.solvers import SOLVERS

W = Workload.from_matrix(np.tri(4), targets=np.ones(4))
TEXT = Program.load("l2_strategy").text


@pytest.fixture
def shared(processes: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that loads the solvers is one that other tests use."""
    module = sys.modules["mmopt.comparison.program_comparison"]
    monkeypatch.setattr(module, "Isolated", lambda verbose: contextlib.nullcontext(processes))


def untimed(solution: Solution) -> Solution:
    """Without seconds, which no two solves share."""
    steps = {name: untimed(step) for name, step in solution.steps.items()}
    history = tuple({name: row[name] for name in row if name != "seconds"} for row in solution.history)
    return replace(solution, seconds={}, stages=(), history=history, steps=steps)


@pytest.mark.nightly
def test_all_programs_by_default_and_the_same_as_solve() -> None:
    seen: list[Progress] = []
    outcomes = compare(W, progress=seen.append)
    loaded = [Program.load(name) for name in program_names()]
    problems = [p.name for p in loaded if not (p.formulation_of or p.neighbours or p.meaning.kind == "none")]
    assert sorted(o.program for o in outcomes) == problems
    classes = [Program.load(o.program).problem_class for o in outcomes]
    assert [problem_class for problem_class, _ in itertools.groupby(classes)] == list(
        CLASSES
    )  # those that search come last
    for o in outcomes:
        if o.solution is None:  # a program that asks for more than a workload
            with pytest.raises(Error) as error:
                solve(W, o.program)
            assert o.problem == str(error.value)
            continue
        assert (o.problem, o.reason, o.stop) == ("", "", o.solution.status.stop)
        assert untimed(o.solution) == untimed(solve(W, o.program, time_limit=60.0))
        assert not o.solution.strategy.matrix.flags.writeable
        assert o.formulation_of == Program.load(o.program).formulation_of
    assert [p for p in seen if p.certified] == [point for o in outcomes for point in o.history]
    (o,) = [o for o in outcomes if o.program == "l2_strategy"]
    assert o.solution is not None and o.solution.gap == o.history[-1].gap


@pytest.mark.usefixtures("shared")
def test_every_program_with_every_solver_at_every_tolerance() -> None:
    outcomes = compare(W, ["l2_strategy", Program.load("query_weighting")], ["qoco", "scs"], [1e-2, 1e-3])
    assert [(o.program, o.solver, o.tolerance, o.solution is None) for o in outcomes] == [
        ("l2_strategy", "qoco", 1e-2, True),
        ("l2_strategy", "qoco", 1e-3, True),
        ("l2_strategy", "scs", 1e-2, False),
        ("l2_strategy", "scs", 1e-3, False),
        ("query_weighting", "qoco", 1e-2, False),
        ("query_weighting", "qoco", 1e-3, False),
        ("query_weighting", "scs", 1e-2, False),
        ("query_weighting", "scs", 1e-3, False),
    ]
    for o in outcomes:
        if o.solution is not None:
            assert o.solution.options["tolerance"] == o.tolerance
            assert o.solution.gap is not None and o.solution.gap <= o.tolerance
            assert o.memory is not None or sys.platform != "linux"
    assert outcomes[0].problem == (
        "'l2_strategy' does not work with qoco: it lacks the psd cone\n"
        "  these have it: clarabel, scs, cvxopt, sdpa"
    )
    solved = outcomes[-1]
    assert solved.solution is not None
    assert solved.summary().items() >= solved.solution.summary().items()  # rmse too: no privacy is stated
    (point,) = solved.summary()["points"][-1:]
    assert (point["gap"], point["seconds"]) == (solved.history[-1].gap, solved.history[-1].seconds)


@pytest.mark.usefixtures("shared")
def test_outcomes_carry_their_histories() -> None:
    """Certified points as they came, and with the solution the solver's own count."""
    (one,) = compare(np.tri(4), ["query_weighting"], ["scs"], history=True)
    assert one.solution is not None and len(one.solution.history) > 50
    certified = [row for row in one.solution.history if row["certified"]]
    assert [row["objective"] for row in certified] == [point.objective for point in one.history]
    assert one.summary()["history"] == [dict(row) for row in one.solution.history]


@pytest.mark.usefixtures("shared")
def test_all_solvers_are_those_that_take_the_program() -> None:
    """The others have one outcome together, which no process was started for."""
    conic = {row.name for row in SOLVERS if row.is_installed}
    for name, own, unable in (
        ("query_weighting", {"weighting"}, {"sdpa"}),
        ("p_identity", {"p_identity", "lbfgs"}, conic),
        ("singular_value_bound", {""}, set()),
    ):
        *solved, last = compare(W, [name], ["all"])
        if unable:
            assert (last.stop, last.was_tried, last.solver) == ("does not apply", False, "")
            others = last.reason.removeprefix("not with ").partition(":")[0].split(", ")
            assert unable <= set(others) and not own & set(others)
        else:
            solved = [last]
        by = {o.solver if own != {""} else "" for o in solved}
        assert by >= own and by - own >= (conic - unable if own != {""} else set())
        assert all(o.solution is not None for o in solved if o.solver in own | conic)
    with pytest.raises(OptionError, match="no solver 'all'"):
        compare(W, ["query_weighting"], ["all", "scs"])


@pytest.mark.usefixtures("shared")
def test_what_a_workload_or_a_caller_lacks() -> None:
    own = Program.parse(TEXT.replace(" = workload.root", ""))
    targets, missing = compare(Workload.from_matrix(np.tri(4)), ["fitness_for_use", own])
    assert targets.stop == "does not apply" and not targets.was_tried
    assert targets.problem == (
        "the program needs accuracy targets, and no query of the workload has one\n"
        "  add within or max_variance to the queries, or pass targets= to Workload.from_matrix"
    )
    assert targets.reason == targets.problem.replace("\n  ", "; ")
    assert missing.stop == "refused" and not missing.was_tried
    assert missing.reason.startswith("'l2_strategy' needs the given 'W' (")


@pytest.mark.usefixtures("shared")
def test_givens_go_to_the_programs_that_declare_them() -> None:
    own = Program.parse(TEXT.replace(" = workload.root", ""))
    givens = {"Q": np.eye(4), "W": np.tri(4)}
    outcomes = compare(W, [own, "query_weighting"], givens=givens)
    assert [o.solution is not None and list(o.solution.givens) for o in outcomes] == [["W"], ["Q", "W"]]
    passed = outcomes[0].solution
    assert passed is not None and passed.givens["W"].tolist() == np.tri(4).tolist()


@pytest.mark.usefixtures("shared")
def test_a_search_that_nobody_named_is_left_out_where_it_would_take_long() -> None:
    six = Workload.from_matrix(np.tri(6))
    (combination,) = (c for c in combinations() if c.program.name == "min_error")
    assert not combination.was_named
    (left_out,) = outcomes(six, [combination], time_limit=0.1)
    assert (left_out.stop, left_out.was_tried) == ("too large", False)
    assert re.fullmatch(
        r"a search that may take \d+ s over 6 cells, as predicted; it is tried where it is named "
        r"\(--programs min_error\), or where every combination may take \d+ s \(--time-limit\)",
        left_out.reason,
    )
    # Named, it is tried; and so it is where there is time.
    (tried,) = compare(six, ["min_error"], time_limit=0.1)
    assert tried.was_tried
    (tried,) = outcomes(six, [combination], time_limit=1000.0, max_iterations=1)
    assert tried.was_tried


@pytest.mark.usefixtures("shared")
def test_time_for_all() -> None:
    late = compare(W, ["query_weighting", "l2_strategy"], total_time=1e-9)
    for outcome in late:
        assert (outcome.stop, outcome.was_tried) == ("not started", False)
        assert outcome.reason == outcome.problem == "not started: the 1e-09 s for all programs had passed"
    begun: list[str] = []
    chosen = combinations(["query_weighting", "l2_strategy"])
    in_time = list(outcomes(W, chosen, total_time=1e9, time_limit=math.inf, begin=begun.append))
    assert all(outcome.solution is not None for outcome in in_time)
    assert begun == ["query_weighting (1 of 2)", "l2_strategy (2 of 2)"]


def test_formulations_of_a_program_and_of_its_base() -> None:
    names = [
        p.name for p in with_formulations([Program.load("l2_strategy_lmi"), Program.load("query_weighting")])
    ]
    assert names[0] == "l2_strategy_lmi" and "l2_strategy" in names
    assert len(set(names)) == len(names)
    found = {p: Program.load(p).formulation_of or p for p in program_names()}
    assert set(names) == {p for p, base in found.items() if base in ("l2_strategy", "query_weighting")}
    assert [str(c) for c in combinations(["l2_strategy"], ["SCS"], 1e-3)] == ["l2_strategy with scs at 0.001"]


def test_refused_before_anything_starts(subtests: pytest.Subtests) -> None:
    for arguments, message in [
        ({"programs": ["l2_stratgy"]}, "there is no program 'l2_stratgy'\n  did you mean 'l2_strategy'?"),
        ({"solvers": ["sdp"]}, "there is no solver 'sdp'\n  did you mean 'sdpa'?"),
        ({"tolerance": [1e-4, 2]}, "a tolerance lies between 0 and 1, not 2"),
        ({"time_limit": 0.0}, "a time limit is a positive number of seconds, not 0.0"),
        ({"total_time": 0.0}, "a time limit is a positive number of seconds, not 0.0"),
        ({"memory_limit": 0.0}, "a memory limit is a positive number of GiB, not 0.0"),
        ({"max_iterations": 0}, "'max_iterations' is at least 1, not 0"),
        (
            {"programs": ["query_weighting"], "givens": {"q": 1.0}},
            "no program compared has a given 'q'\n  did you mean 'Q'?",
        ),
    ]:
        with subtests.test(str(arguments)), pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", None)
            with pytest.raises(OptionError) as error:
                compare(W, **arguments)
            assert str(error.value).split(" (your own program")[0] == message
            with pytest.raises(
                OptionError, match=r"^there is no option .tolerence.\n  did you mean .tolerance.\?"
            ):
                compare(W, tolerence=1e-3)


def test_a_function_that_cannot_be_imported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(OptionError) as error:
        compare(W, ["l2_strategy"], [lambda problem: None])
    assert re.fullmatch(
        r"the solver '.*<lambda>' cannot be imported by another process, and each combination has its own\n"
        r"  write it into a file, own.py, and pass 'own:function'; mmopt.solve takes any function",
        str(error.value),
    )


@pytest.mark.usefixtures("shared")
def test_solvers_of_ones_own() -> None:
    good, bad = compare(W, ["l2_strategy"], [by_scs, "own_solvers:nonsense"])
    assert good.solver == "own_solvers:by_scs" and good.solution is not None and good.solution.gap < 1e-6
    assert bad.stop == "no result" and bad.problem.startswith(
        "the solver 'own_solvers:nonsense' returned None"
    )


@pytest.mark.slow
def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('running')\n"
        "import numpy as np, mmopt\n"
        "w = mmopt.Workload.from_matrix(np.tri(4))\n"
        "print([o.solution.status.stop for o in mmopt.compare(w, ['query_weighting'])])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, script.rename(tmp_path / "compare.py")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("running\n['gap reached']\n", "")
