"""Conformance: good solvers pass, and for every check there is a broken one that fails it.

Guards checks_and_report.py.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mmopt import OptionError, Program, Solution, SolverError, UnsuitableError, Workload, solve
from mmopt.testing import Dual, conform
from mmopt.testing.conformance.checks_and_report import TWISTS

Fake = Callable[..., Solution]

PROGRAMS = ["l2_strategy", "fitness_for_use", "query_weighting", "l2_strategy_dual"]
PROBLEMS = ["prefix", "rank-deficient"]


@pytest.mark.some(1)
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_conic_solvers_conform(solver: str) -> None:
    report = conform(solver, PROGRAMS, PROBLEMS, seed=3)
    assert report.holds, str(report)
    pairs = len(PROGRAMS) * len(PROBLEMS)
    for check in ("file", "bound", "gap", "conic route"):
        assert report.passed[check] == pairs
    assert report.passed["known"] >= 3 * len(PROBLEMS)
    assert report.passed["metamorphic"] == 2 * pairs
    assert report.solves == 3 * pairs


def test_the_choice_of_solve_conforms() -> None:
    report = conform(None, ["l2_strategy", "eigen_design"], ["example-4"], twists=None)
    assert report.holds and report.subject == "automatic", str(report)
    assert report.passed["metamorphic"] > len(TWISTS)


def changed(change: Callable[[Solution], Solution]) -> Fake:
    """A solver that is right, but for what is then changed."""

    def fake(workload: Workload, program: Program, **options: Any) -> Solution:
        return change(solve(workload, program, solver="clarabel", **options))

    return fake


def failing(fake: Fake, *checks: str, program: str = "l2_strategy", problem: str = "prefix") -> list[str]:
    """The failures, each as "check: what"."""
    report = conform(fake, [program], [problem], checks=checks, twists=None)
    assert not report.holds
    return [f"{failure.check}: {failure.what}" for failure in report.failures]


def test_a_wrong_scale(subtests: pytest.Subtests) -> None:
    """The point is feasible no more; or the objective is not that of the point."""
    for program in ["l2_strategy", "fitness_for_use", "query_weighting"]:
        with subtests.test(program):
            doubled = changed(
                lambda s: replace(s, variables={name: 2.0 * value for name, value in s.variables.items()})
            )
            assert "file: feasible" in failing(doubled, "file", program=program)
            halved = changed(lambda s: replace(s, objective=s.objective / 2))
            assert failing(halved, "file", program=program)[0] == "file: objective"


def test_a_wrong_bound() -> None:
    more = changed(lambda s: replace(s, bound=1.001 * s.bound if s.bound else None))
    assert failing(more, "file") == ["file: bound", "file: gap"]
    assert failing(more, "bound") == ["bound: bound and objective"]
    assert failing(changed(lambda s: replace(s, bound=None)), "bound") == ["bound: bound"]
    multipliers = changed(lambda s: replace(s, multipliers={n: 1 + v for n, v in s.multipliers.items()}))
    assert "file: bound" in failing(multipliers, "file")


def test_a_maximum_whose_bound_is_too_low() -> None:
    less = changed(lambda s: replace(s, bound=0.999 * s.bound if s.bound else None))
    assert failing(less, "bound", program="l2_strategy_dual") == ["bound: bound and objective"]


def test_an_infeasible_point_that_says_so() -> None:
    honest = changed(lambda s: replace(s, status=replace(s.status, feasible=False)))
    assert failing(honest, "file")[0] == "file: the point"


@pytest.mark.quick
def test_a_gap_that_is_not_as_it_says(subtests: pytest.Subtests) -> None:
    for factor, said in ((1.01, "gap reached"), (1.0, "gap not reached")):
        with subtests.test(said):
            fake = changed(
                lambda s, factor=factor, said=said: replace(
                    s, objective=factor * s.objective, status=replace(s.status, stop=said)
                )
            )
            assert failing(fake, "gap") == ["gap: gap of l2_strategy"]


def test_a_gap_that_is_not_reached_and_says_so() -> None:
    honest = changed(
        lambda s: replace(s, objective=1.01 * s.objective, status=replace(s.status, stop="gap not reached"))
    )
    report = conform(honest, ["l2_strategy"], ["prefix"], checks=["gap"])
    assert report.holds
    assert report.notes == ("l2_strategy on prefix: gap 1.0e-02, 'gap not reached'",)


def test_another_optimum(subtests: pytest.Subtests) -> None:
    """Both ends moved: the interval looks good, and is not where the optimum is."""
    for factor in [0.9, 1.1]:
        with subtests.test(str(factor)):
            fake = changed(
                lambda s, factor=factor: replace(
                    s, objective=factor * s.objective, bound=factor * s.bound if s.bound else None
                )
            )
            assert failing(fake, "known")[0] == "known: PODS 2010, Program 5.2"
            assert failing(fake, "conic route") == ["conic route: optimum"]
            # A procedure has no bound of its own: its result is compared.
            assert "conic route: result" in failing(changed(_worse), "conic route", program="eigen_design")


def _worse(s: Solution) -> Solution:
    return replace(s, objective=1.01 * s.objective)


@pytest.mark.some(1)
@pytest.mark.parametrize("twist", TWISTS, ids=lambda twist: twist.name)
def test_an_answer_that_depends_on_how_the_workload_is_written(twist: Any) -> None:
    """Its interval is moved by a number that every other way of writing the workload changes."""

    def moody(workload: Workload, program: Program, **options: Any) -> Solution:
        s = solve(workload, program, solver="clarabel")
        factor = 1 + (zlib.crc32(workload.hash.encode()) % 1000) / 1000
        return replace(s, objective=factor * s.objective, bound=factor * s.bound if s.bound else None)

    program = "l2_strategy" if twist.name == "queries rotated" else "fitness_for_use"
    report = conform(moody, [program], ["signed"], checks=["metamorphic"], twists=None)
    assert f"signed, {twist.name}" in {failure.problem for failure in report.failures}


def test_one_that_raises() -> None:
    def broken(workload: Workload, program: Program, **options: Any) -> Solution:
        raise ValueError("operands could not be broadcast together")

    def stuck(workload: Workload, program: Program, **options: Any) -> Solution:
        raise SolverError("no point")

    def choosy(workload: Workload, program: Program, **options: Any) -> Solution:
        raise UnsuitableError("not this one")

    report = conform(broken, ["l2_strategy"], ["prefix"])
    assert [str(failure) for failure in report.failures] == [
        "l2_strategy on prefix, solved: solve: expected a solution, found ValueError: operands could not be "
        "broadcast together"
    ]
    assert failing(stuck) == ["solved: solve"]
    report = conform(choosy, ["l2_strategy"], ["prefix"])
    assert not report.holds and not report.failures
    assert report.skips[-1].reason == "not this one"


def square(hessian: float, gradient: float = 2.0) -> Dual:
    return Dual(
        lambda x: float(x @ x),
        lambda x: gradient * x,
        np.arange(1.0, 4.0),
        lambda x: hessian * np.eye(3),
    )


def test_derivatives() -> None:
    def duals(workload: Workload, program: Program) -> Dual | None:
        return square(2.0) if workload.n == 8 else None

    report = conform("clarabel", ["l2_strategy"], ["prefix", "signed"], checks=["derivatives"], duals=duals)
    assert report.holds and report.passed == {"derivatives": 1}
    assert [skip.problem for skip in report.skips] == ["signed"]
    assert report.skips[0].reason == "no dual function was passed for it"
    wrong = conform(
        "clarabel", ["l2_strategy"], ["prefix"], checks=["derivatives"], duals=lambda w, p: square(2.1)
    )
    assert not wrong.holds
    assert wrong.failures[0].what.startswith("second derivative along direction 0, entry ")


def test_what_is_skipped() -> None:
    programs = [
        "l2_strategy",
        "min_error",
        "fitness_softmax",
        "augment",
        "design_weighting",
        "query_weighting",
    ]
    report = conform("qoco", [*programs, "query_weighting"], ["identity-and-total"])
    reasons = {skip.program: skip.reason for skip in report.skips if skip.check == "solved"}
    assert reasons == {
        "l2_strategy": "'l2_strategy' does not work with qoco: it lacks the psd cone",
        "min_error": "a search of class rank, which may end anywhere",
        "fitness_softmax": "a search of class smooth, which may end anywhere",
        "augment": "a closed form, which no solver solves",
        "design_weighting": "'design_weighting' does not work with qoco: it lacks the psd cone",
    }
    assert {(skip.check, skip.reason) for skip in report.skips if skip.program == "query_weighting"} == {
        ("derivatives", "no dual function was passed for it"),
        ("known", "nothing is known of the optimum"),
        ("metamorphic", "only programs whose targets are constraints ignore a looser one"),
        ("metamorphic", "the program is not over all strategies"),
        ("metamorphic", "the eigenvectors of the workload are not unique"),
    }
    assert report.holds


def test_a_program_of_ones_own_is_put_to_what_is_known_of_it() -> None:
    text = Program.load("l2_strategy").text.replace("program l2_strategy", "program mine")
    report = conform("clarabel", [Program.parse(text)], ["prefix"])
    assert report.holds and report.passed == {"file": 1, "bound": 1, "gap": 1, "conic route": 1}
    assert "nothing is known of how 'mine' depends on its workload" in {s.reason for s in report.skips}


def test_a_workload_that_the_program_does_not_take() -> None:
    text = Program.load("l2_strategy").text.replace(
        "choose\n", "require\n    square: rank(W) == n\n\nchoose\n", 1
    )
    report = conform("clarabel", [Program.parse(text)], ["rank-deficient"])
    assert not report.holds
    assert [skip.reason.split(":")[0] for skip in report.skips] == ["does not apply"]


def test_larger_than_the_conic_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.testing.conformance.checks_and_report.CONIC", (("clarabel", 4), ("scs", 6)))
    report = conform("clarabel", ["l2_strategy"], ["prefix"], n=7, checks=["conic route"])
    assert [skip.reason for skip in report.skips] == ["more than 6 cells"]
    assert conform("clarabel", ["l2_strategy"], ["prefix"], n=6, checks=["conic route"]).holds


def test_progress_is_told() -> None:
    said: list[str] = []
    conform("clarabel", ["l2_strategy"], ["prefix", "signed"], checks=["gap"], progress=said.append)
    assert said == ["l2_strategy on prefix", "l2_strategy on signed"]


def test_what_is_refused() -> None:
    with pytest.raises(OptionError) as error:
        conform("clarbel")
    assert str(error.value) == "there is no solver 'clarbel'\n  did you mean 'clarabel'?"
    with pytest.raises(OptionError) as error:
        conform("clarabel", checks=["gaps"])
    assert str(error.value) == "there is no check 'gaps'\n  did you mean 'gap'?"
    with pytest.raises(OptionError):
        conform("clarabel", problems=["prefxi"])
    with pytest.raises(OptionError):
        conform("clarabel", ["l2_stratgy"])
    with pytest.raises(OptionError):
        conform("clarabel", options={"tolerance": 2.0})
