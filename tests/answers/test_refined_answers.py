"""Refined answers: rules that hold, errors that do not grow, optima that are proved, folders that say so.

Guards refined_answers.py, read_and_recheck_folder.py.
"""

import itertools
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import mmopt
from mmopt.answers import Release, load_release, refined_answers as refined_counts
from mmopt.answers.refined_answers import PROGRAM, nearest_counts
from mmopt.driver.templates import templates
from mmopt.errors import OptionError, ResultError, SolverError, TimeLimitError, TooLargeError
from mmopt.mechanism import build_manifest, measure, plan
from mmopt.mechanism.release_writing import REFINED, STATED
from mmopt.privacy import Privacy
from mmopt.proof import certify
from mmopt.strategies import Strategy
from mmopt.workloads import Workload
from tests.answers.test_release_result import ASKED, PLAN, SOLUTION, released

PAIR = Workload.of(domain={"a": {"values": [1, 2]}}, workload=[{"marginal": ["a"]}])
NEAR = 1e-6  # relative: the gap that is proved on these


def of(counts: np.ndarray, seed: int, rows: np.ndarray, epsilon: float = 0.2) -> Release:
    workload = Workload.from_matrix(rows)
    planned = plan(workload, Strategy(np.eye(rows.shape[1]), 2), Privacy(epsilon=epsilon, delta=1e-6))
    answers = measure(planned, counts, seed)
    return Release.of(planned, answers, build_manifest(planned, answers))


@pytest.mark.draws(2)
def test_errors_in_standard_errors_never_grow(rng: np.random.Generator) -> None:
    """For every draw: the true answers obey the rules, and a projection moves no farther from them."""
    n = int(rng.integers(2, 9))
    rows = np.vstack([np.eye(n), np.tri(n), rng.integers(-1, 3, (int(rng.integers(1, 4)), n))])
    counts = rng.poisson(rng.exponential(5.0, n) * (rng.random(n) < 0.5))
    release = of(counts, int(rng.integers(2**32)), rows[rows.any(axis=1)])
    queries = release.plan.workload.queries
    true, errors = queries @ counts, release.answers["standard_error"]
    before = np.sum(((release.answers["estimate"] - true) / errors) ** 2)
    for totals in (None, float(counts.sum()), {None: counts.sum(), 0: counts[0]}):
        found = release.refine(totals=totals)
        refined, about = found.answers["refined"], found.manifest["refined"]
        assert np.sum(((refined - true) / errors) ** 2) <= before * (1 + 1e-9) + 1e-9
        assert (refined[: 2 * n] >= 0).all()
        assert about["grade"] == "proved" and about["gap"] <= NEAR
        assert about["bound"] <= about["objective"]
        # The objective is that of the answers that are published, up to what they are rounded.
        far = np.sum(((refined - release.answers["estimate"]) / errors) ** 2)
        assert far == pytest.approx(about["objective"], rel=1e-6, abs=1e-7)
        whole = release.refine(totals=totals, whole=True).answers["refined"]
        assert np.array_equal(whole, np.rint(whole)) and (whole[: 2 * n] >= 0).all()
        assert np.array_equal(np.cumsum(whole[:n]), whole[n : 2 * n]), "hierarchies add up"
        if totals is not None:
            assert whole[:n].sum() == counts.sum() == pytest.approx(refined[:n].sum(), abs=2e-6)
        assert np.array_equal(found.answers["estimate"], release.answers["estimate"])


def by_enumeration(rows: np.ndarray, values: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> float:
    """The least square over counts >= 0 with these sums, by every set of counts that are 0."""
    n, best = rows.shape[1], np.inf
    for bits in range(2**n):
        free = np.array([bits >> i & 1 == 1 for i in range(n)])
        a, k = rows[:, free], sums[:, free]
        system = np.block([[2 * a.T @ a, k.T], [k, np.zeros((len(k), len(k)))]])
        x = np.linalg.lstsq(system, np.concatenate([2 * a.T @ values, totals]), rcond=None)[0][: free.sum()]
        if (x >= -1e-9).all() and np.allclose(k @ x, totals, atol=1e-7):
            best = min(best, float(np.sum((a @ x - values) ** 2)))
    return best


def test_the_optimum_is_that_of_every_set_of_zeros(rng: np.random.Generator) -> None:
    for _ in range(4):
        n = int(rng.integers(2, 6))
        rows, values = rng.normal(size=(n, n)) + 2 * np.eye(n), rng.normal(size=n) * 5
        sums = np.ones((int(rng.integers(0, 2)), n))
        totals = np.full(len(sums), 4.0)
        near = nearest_counts(rows, values, np.ones(n), sums, totals)
        found, counts = near.solution, near.counts
        assert (counts >= 0).all() and np.allclose(sums @ counts, totals, atol=2e-6)
        best = by_enumeration(rows, values, sums, totals)
        assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-6)
        assert found.bound <= best * (1 + 1e-9) + 1e-9


@pytest.mark.quick
def test_no_multipliers_of_known_answers_prove_too_much(subtests: pytest.Subtests) -> None:
    """At right ones (3 and 0) the bound is the optimum, at wrong ones it is lower."""
    for above, below in itertools.product([0.0, 3.0, 10.0], [0.0, 10.0]):
        with subtests.test(f"{above}, {below}"):
            rows, values, total = np.eye(2), np.array([1.0, 2.0]), np.array([6.0])
            best = by_enumeration(rows, values, np.ones((1, 2)), total)
            assert best == pytest.approx(4.5)
            judged = certify(
                Workload.from_matrix(np.vstack([rows, np.ones((1, 2))])),
                program=PROGRAM,
                point={"x": np.array([2.5, 3.5])},
                multipliers={"above": np.array([0, 0, above]), "below": np.array([0, 0, below])},
                givens={"y": np.concatenate([values, total]), "known": np.array([0.0, 0.0, 1.0])},
                solve=False,
            )
            assert judged.objective == pytest.approx(best)
            # With e, how exactly known answers are kept, counts may be nearer than they are at e = 0.
            slack = 1e-6 * (above + below)
            if (above, below) == (3.0, 0.0):
                assert judged.bound == pytest.approx(best - slack, abs=1e-9)
            assert judged.bound is not None and judged.bound <= best - slack + 1e-9


@pytest.mark.quick
def test_without_the_total_in_the_queries_no_number_of_rows_is_claimed() -> None:
    """A cell that no query looks at holds what is left of a total, however much that is."""
    rows, values = np.array([[1.0, 0.0]]), np.array([5.25])
    near = nearest_counts(rows, values, np.ones(1), np.ones((1, 2)), np.array([1000.0]))
    found, counts = near.solution, near.counts
    assert counts == pytest.approx([5.25, 994.75], abs=1e-4)
    assert found.objective == pytest.approx(0.0, abs=1e-6) and found.bound <= found.objective
    assert found.status.feasible and found.gap is not None and found.gap <= NEAR


def test_a_refined_release_is_saved_shown_and_loaded_again(tmp_path: Path) -> None:
    release = released(3)
    saved = load_release(release.save(tmp_path / "out"), ASKED)
    found = saved.refine(whole=True, totals={None: 1500, "sex=F": 300})
    folder = found.save(tmp_path / "refined")
    back = load_release(folder, ASKED)
    assert back.answers.names[-2:] == ("refined", "private") and not back.private
    assert np.array_equal(back.answers["refined"], found.answers["refined"])
    assert back.answers.metadata["refined"] == REFINED
    assert back.answers["refined"][-2:].tolist() == [300.0, 1200.0]
    about = back.manifest["refined"]
    listed = json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]
    assert about["of"]["answers_sha256"] == listed["answers.csv"]["sha256"]
    assert about["totals"] == [{"of": "all rows", "value": 1500.0}, {"of": "'sex=F'", "value": 300.0}]
    rows = dict(back.rows())
    assert rows["refined"] == (
        "non-negative, all rows: 1500, 'sex=F': 300, whole (8 of them less than 1 from the value before); "
        f"{REFINED}; totals {STATED}"
    )
    assert rows["optimum"].endswith(" standard errors of its best value")
    with pytest.raises(OptionError) as caught:
        back.refine()
    assert str(caught.value) == ("the release is already refined\n  refine the release that it was made from")
    # Answers and manifest have to say the same.
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["refined"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResultError) as contradiction:
        load_release(folder)
    assert str(contradiction.value) == (
        f"'{folder}' contradicts itself: refined is None by its manifest, {REFINED} by its answers\n"
        "  it was changed since; copy it again from where it was released"
    )


def test_totals_that_are_none(subtests: pytest.Subtests) -> None:
    for totals, error, message in [
        (-5, OptionError, "the total of all rows is -5, which no counts add up to"),
        ({"sex=F": -1}, OptionError, "the total of 'sex=F' is -1, which no counts add up to"),
        ({None: "many"}, OptionError, "the total of all rows is 'many', expected a number of rows"),
        (float("nan"), OptionError, "the total of all rows is nan, expected a number of rows"),
        (20.5, OptionError, "the total of all rows is 20.5, expected a number of rows"),
        ({"sex=F": "few"}, OptionError, "the total of 'sex=F' is 'few', expected a number"),
        ({99: 1}, OptionError, "there is no query 99, expected 0 to 7"),
        (
            {"sex=F": 1, 6: 2},
            OptionError,
            "query 6 and 'sex=F' count the same rows, and their totals are 2 and 1",
        ),
        ({"sex=F": 1.5}, OptionError, "the total of 'sex=F' is 1.5, and whole answers cannot add up to it"),
    ]:
        with subtests.test(message):
            with pytest.raises(error) as caught:
                released(3).refine(totals=totals, whole=True)
            assert str(caught.value) == message


def test_totals_that_contradict_each_other(subtests: pytest.Subtests) -> None:
    """No more of them than conflict; queries 0, 1 and 2 are the first ages, each with those before."""
    for totals, conflict, ranges in [
        (
            {None: 100, "sex=F": 300},
            "100 of all rows, 300 of 'sex=F'",
            "all rows at least 300, 'sex=F' 0 to 100",
        ),
        (
            {0: 7, "sex=F": 300, "sex=M": 100, None: 500},
            "300 of 'sex=F', 100 of 'sex=M', 500 of all rows",
            "'sex=F' 400, 'sex=M' 200, all rows 400",
        ),
        ({1: 60, 0: 80.5, 2: 60}, "80.5 of query 0, 60 of query 2", "query 0 0 to 60, query 2 at least 80.5"),
    ]:
        with subtests.test(conflict):
            with pytest.raises(SolverError) as caught:
                released(3).refine(totals=totals)
            assert str(caught.value) == (
                f"no counts have all of these totals: {conflict}\n"
                f"  correct one of them or leave it out; by the others it would be: {ranges}"
            )


def test_no_solution_for_another_reason_is_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SolverError("no refined answers were found")

    monkeypatch.setattr(refined_counts, "solve", fail)
    for totals in (None, {None: 400, "sex=F": 300}):
        with pytest.raises(SolverError) as caught:
            released(3).refine(totals=totals)
        assert str(caught.value) == "no refined answers were found"


def test_what_cannot_be_refined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        load_release(released(3).save(tmp_path / "out")).refine()
    assert str(caught.value) == (
        "a release loaded from its folder does not contain its queries, which refining needs\n"
        "  load it with them: mmopt.load_release(folder, workload=Workload.load(file))"
    )
    parts = of(np.array([1, 2]), 0, np.array([[1.0, 0.0], [0.5, 1.0]]))
    with pytest.raises(OptionError) as caught:
        parts.refine(whole=True)
    assert str(caught.value) == (
        "the query 'query 1' has weights that are not whole numbers, so its answers are not whole (1 query "
        "of 2)\n  leave --whole out (whole=True in Python), or such queries out of the workload"
    )
    monkeypatch.setattr("mmopt.workloads.agreeing_tables.MOST_CLASSES", 5)
    monkeypatch.setattr("mmopt.workloads.agreeing_tables.MOST_COUNTS", 5)
    with pytest.raises(TooLargeError) as many:
        released(3).refine()
    assert str(many.value) == (
        "refining on tables takes 8 counts in 2 tables, which is too many\n"
        "  refine a release whose workload asks about fewer attributes at a time, or coarser values"
    )


class Later:
    """A clock that is put forward."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Later:
    """The clock of all deadlines."""
    later = Later()
    monkeypatch.setattr("mmopt.limits.time", later)
    return later


def after_the_solve(monkeypatch: pytest.MonkeyPatch, clock: Later, seconds: float) -> None:
    solved = refined_counts.solve

    def slow(*given: Any, **options: Any) -> Any:
        found = solved(*given, **options)
        clock.seconds += seconds
        return found

    monkeypatch.setattr(refined_counts, "solve", slow)


def test_what_comes_after_the_solve_gets_what_is_left_of_the_time(
    clock: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    milp = scipy.optimize.milp

    def watched(*given: Any, **options: Any) -> Any:
        limits.append(options["options"]["time_limit"])
        return milp(*given, **options)

    monkeypatch.setattr(scipy.optimize, "milp", watched)
    after_the_solve(monkeypatch, clock, 1e6)
    released(3).refine(whole=True)
    released(3).refine(whole=True, time_limit=1e6 + 30)
    assert limits[0] == 60.0 and 0.0 < limits[1] <= 30.0
    clock.seconds = 0.0
    with pytest.raises(TimeLimitError) as caught:
        released(3).refine(whole=True, time_limit=1000)
    assert str(caught.value) == (
        "this takes longer than the time limit, 1000 s, and 202 s more\n"
        "  allow more time, or ask for less: fewer cells, queries or steps"
    )
    assert len(limits) == 2


def test_at_the_limit_the_solver_s_point_is_taken_as_it_is(
    clock: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later than the limit, and before what is added to it: no step of the linear algebra is made."""
    steps: list[object] = []
    monkeypatch.setattr(scipy.linalg, "null_space", lambda *given: steps.append(given))
    after_the_solve(monkeypatch, clock, 1100.0)
    found = released(3).refine(totals=1500, time_limit=1000)
    about = found.manifest["refined"]
    assert steps == [] and about["bound"] <= about["objective"] and (found.answers["refined"] >= 0).all()


def test_options_that_are_none(subtests: pytest.Subtests) -> None:
    for option, message in [
        ({"time_limit": 0}, "a time limit is a positive number of seconds, not 0"),
        ({"time_limit": "1"}, None),
        ({"tolerance": -1.0}, None),
    ]:
        with subtests.test(str(option)):
            with pytest.raises(OptionError) as caught:
                released(3).refine(**option)
            with pytest.raises(OptionError) as solving:
                mmopt.solve(np.eye(2), **option)
            assert str(caught.value) == str(solving.value) and message in (None, str(caught.value))


def test_cells_that_no_query_tells_apart_are_one_count() -> None:
    assert PLAN.workload is ASKED and SOLUTION.workload_hash == ASKED.hash
    release = of(np.array([0, 4, 0, 0]), 1, np.array([[1.0, 1, 0, 0], [0, 0, 1, 0]]))
    found = release.refine(totals=10)
    assert found.manifest["refined"]["counts"] == 3  # cells 0 and 1 together; cell 3 has no query
    assert release.refine().manifest["refined"]["counts"] == 2


def test_totals_are_numbers_of_one_query_each(subtests: pytest.Subtests) -> None:
    release = mmopt.release({"a": [1, 2, 2]}, PAIR, {"rho": 1.0}, simulate=1)
    for totals in ("21", True, {(0, 1): 12}, {True: 3}, {0: None}):
        with subtests.test(str(totals)), pytest.raises(OptionError, match="expected a"):
            release.refine(totals=totals)


def test_public_totals_of_a_workload_file_are_kept(tmp_path: Path) -> None:
    """They change no noise, are said to be outside the guarantee, and stay with the saved release."""
    asked = {"domain": {"a": {"values": [1, 2]}}, "workload": [{"marginal": ["a"]}], "privacy": {"rho": 1.0}}
    data = {"a": [1, 2, 2]}
    release, plain = (
        mmopt.release(data, one, simulate=1) for one in ({**asked, "known": {"total": 7, "a=1": 2}}, asked)
    )
    assert np.array_equal(release.answers["estimate"], plain.answers["estimate"])
    assert release.manifest["privacy"] == plain.manifest["privacy"]
    assert release.manifest["known"]["note"] == STATED and "known" not in plain.manifest
    saved = load_release(release.save(tmp_path / "out"), asked)
    assert dict(saved.rows())["known"] == f"all rows: 7, a=1: 2; {STATED}"
    refined = saved.refine()
    assert refined.answers["refined"] == pytest.approx([2.0, 5.0], rel=NEAR)
    assert refined.manifest["refined"]["not_covered"].endswith(STATED)
    loaded = load_release(refined.save(tmp_path / "refined"), asked)
    assert "refined.not_covered" not in loaded.unchecked
    plainly = plain.refine()
    assert "refined" in dict(plainly.rows()) and "not_covered" not in plainly.manifest["refined"]
    other = saved.refine(totals={})
    assert "not_covered" not in other.manifest["refined"] and not other.manifest["refined"]["totals"]
    with pytest.raises(OptionError, match="only some were: no such total is public"):
        mmopt.accuracy({**asked, "known": {"total": 7}}, unit={"column": "who", "rows": 1})


def test_no_total_is_known_of_persons_whose_rows_are_left_out() -> None:
    unit = {"column": "who", "rows": 1}
    release = mmopt.release({"a": [1, 2], "who": ["x", "x"]}, PAIR, {"rho": 1.0}, unit=unit, simulate=1)
    with pytest.raises(OptionError) as refused:
        release.refine(totals=2)
    assert str(refused.value) == (
        "totals are of rows that were counted, and of each person in 'who' only some were: no such total is "
        "public\n  leave totals out"
    )


def test_a_release_of_several_measurements_is_refined(tmp_path: Path) -> None:
    domain = mmopt.Domain.of(a=range(3), b=range(4))
    workload = domain.marginals([1, 2])
    found = templates(workload, names=["sectorwise"])
    solution = found.solution(workload, found.best)
    rows = {"a": [0, 1, 2, 2], "b": [3, 3, 0, 1]}
    saved = mmopt.release(rows, workload, {"rho": 0.5}, strategy=solution).save(tmp_path / "parts")
    again = mmopt.load_release(saved, workload)
    assert len(again.plan.integer.parts) > 1
    assert (np.array(again.refine().answers["refined"]) >= 0).all()


def test_a_solution_that_says_too_much_is_not_released() -> None:
    """Its figures stand in the manifest: a bound that was written into a file is no bound."""
    forged = replace(mmopt.solve(PAIR, "l2_strategy"), bound=12345.0)
    with pytest.raises(ResultError, match="the solution does not hold: bound is 12345 in the file"):
        mmopt.release({"a": [1, 2, 2]}, PAIR, {"rho": 1.0}, strategy=forged)


def test_a_total_of_more_rows_than_are_counted_is_refused() -> None:
    release = mmopt.release({"a": [1, 2, 2]}, PAIR, {"rho": 1.0}, simulate=1)
    with pytest.raises(OptionError) as refused:
        release.refine(totals=1e15)
    assert str(refused.value) == (
        "the total of all rows is 1e+15; a release counts at most 2,147,483,648 rows"
    )
