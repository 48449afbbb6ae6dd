"""Baselines beside programs: the same units, the right program and bound, and never below it.

Guards baselines_against_programs.py.
"""

import math
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from named_workloads import EXAMPLE_4
from processes import linux_only
from tolerances import FINE, GAP_INTERIOR, PRINTED, ROUNDING

from mmopt import ContradictionError, OptionError, ResultError, Workload, baseline_factors, certify, solve
from mmopt.comparison import Isolated, Outcome, standards
from mmopt.comparison.baselines_against_programs import PrivacyFactors, least_costs
from mmopt.comparison.isolated_tasks import Costed
from mmopt.comparison.worker import Costing
from mmopt.report.explain.explanation_text_and_latex import captured
from mmopt.report.solution_and_comparison_tables import comparison_report
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import Evaluated, baseline_names, evaluate
from mmopt.workloads import factors_and_products as f
from tests.strategies.asked import line, random_asked, with_targets

W = Workload.from_matrix(np.tri(4), weights=np.array([1.0, 2.0, 3.0, 1.0]))
LONG = line(f.prefix(2048))  # some baselines take seconds


def solved(workload: Workload, *programs: str) -> list[Outcome]:
    found = [(name, solve(workload, name)) for name in programs]
    return [Outcome(name, s.solver, s, stop=s.status.stop) for name, s in found]


def refused(name: str) -> Outcome:
    return Outcome(name, "", None, "no targets", "no targets", "does not apply")


def test_the_units_are_those_of_the_programs(rng: np.random.Generator, processes: Isolated) -> None:
    workload = random_asked(rng)
    outcomes = [refused("fitness_for_use"), *solved(workload, "l2_strategy", "laplace_weighting")]
    found = baseline_factors(outcomes, workload, isolated=processes)
    expected = {name: evaluate(name, workload, (2, 1)) for name in baseline_names()}
    assert list(dict.fromkeys(one.name for one in found)) == list(baseline_names())
    best = {2: outcomes[1], 1: outcomes[2]}
    assert standards(outcomes) == best
    for one in found:
        cost, known = one.cost, expected[one.name]
        if cost is None:
            assert one.reason == known.reason and math.isnan(one.error)
            continue
        assert cost in known.costs and one.against is best[cost.norm]
        solution = best[cost.norm].solution
        assert solution is not None
        assert one.error == pytest.approx(cost.error / solution.error, rel=ROUNDING)
        assert one.rmse == pytest.approx(cost.rmse / solution.rmse, rel=ROUNDING)
        assert one.over_bound == pytest.approx(cost.error / one.bound, rel=ROUNDING)
        assert one.over_bound >= 1 - FINE
        if cost.norm == 2:  # the best there is
            assert one.error >= 1 - GAP_INTERIOR
    assert [sum(one.cost is not None and one.cost.norm == norm for one in found) for norm in (1, 2)] == [
        sum(bool(one.costs) for one in expected.values())
    ] * 2


def test_example_4(subtests: pytest.Subtests, processes: Isolated) -> None:
    """PVLDB 2012, Example 4: the optimum is 15.018, and what is certified of the baseline is its cost."""
    for name, error in [("identity", 36.0), ("haar", 21.0)]:
        with subtests.test(name, error=error):
            (outcome,) = outcomes = solved(EXAMPLE_4, "l2_strategy")
            (found,) = baseline_factors(outcomes, EXAMPLE_4, [name], isolated=processes)
            assert found.cost is not None and outcome.solution is not None
            assert found.cost.error == pytest.approx(error, rel=ROUNDING)
            assert found.cost.error == pytest.approx(certify(EXAMPLE_4, name, solve=False).error, rel=FINE)
            assert found.cost.rmse == pytest.approx(certify(EXAMPLE_4, name, solve=False).rmse, rel=FINE)
            assert found.error == pytest.approx(error / 15.01802, rel=PRINTED)
            assert found.bound == outcome.solution.error_bound


def test_beside_the_best_of_each_norm(processes: Isolated) -> None:
    first, second = outcomes = solved(W, "query_weighting", "l2_strategy")
    assert standards(outcomes) == {2: second}
    assert standards([first, refused("l2_strategy")]) == {2: first}
    (found,) = baseline_factors([first, refused("l2_strategy")], W, ["identity"], isolated=processes)
    assert found.against is first and first.solution is not None
    # The bound is the best that is known, whoever has proved it.
    assert second.solution is not None
    loose = replace(second, solution=replace(second.solution, error_bound=1.0))
    (found,) = baseline_factors([first, loose], W, ["identity"], isolated=processes)
    assert found.against is loose and found.bound == first.solution.error_bound


def test_where_nothing_is_solved_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    assert baseline_factors([refused("fitness_for_use")], W) == []


def test_a_program_without_a_strategy_has_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its solution has a strategy that measures the cells, which is compared with nothing."""
    (outcome,) = solved(W, "l2_strategy")
    assert outcome.solution is not None and outcome.rmse is not None
    without = replace(outcome, solution=replace(outcome.solution, has_strategy=False))
    monkeypatch.setattr(subprocess, "Popen", None)
    assert baseline_factors([without], W) == [] and standards([without]) == {}
    assert without.rmse is None and without.summary()["unit_rmse"] is None
    text = captured([comparison_report([without])], 100)
    assert "Certificates" in text and "Strategies" not in text and "error" not in text


def test_never_below_the_bound(processes: Isolated) -> None:
    (outcome,) = solved(W, "l2_strategy")
    assert outcome.solution is not None
    doctored = replace(outcome, solution=replace(outcome.solution, error_bound=1e6))
    with pytest.raises(ContradictionError) as error:
        baseline_factors([outcome, doctored], W, ["identity"], isolated=processes)
    assert str(error.value) == (
        "the baseline 'identity' has total error 18, less than the certified bound 1000000 of all "
        "strategies\n  one of the two is a bug in mmopt: please report it with the workload"
    )


def test_refused_before_anything_starts(subtests: pytest.Subtests) -> None:
    for case, (arguments, kind, message) in {
        "name": (
            {"names": ["wavlet"]},
            OptionError,
            "there is no baseline 'wavlet'\n  did you mean 'wavelet'?",
        ),
        "time": ({"time_limit": 0.0}, OptionError, "a time limit is a positive number of seconds, not 0.0"),
        "memory": (
            {"memory_limit": -1.0},
            OptionError,
            "a memory limit is a positive number of GiB, not -1.0",
        ),
        "workload": (
            {"workload": EXAMPLE_4},
            ResultError,
            f"the outcomes are for another workload: its hash is {W.hash[:16]}…, that of the one given "
            f"{EXAMPLE_4.hash[:16]}…",
        ),
    }.items():
        with subtests.test(case), pytest.MonkeyPatch.context() as patch:
            outcomes = solved(W, "l2_strategy")
            patch.setattr(subprocess, "Popen", None)
            with pytest.raises(kind) as error:
                baseline_factors(outcomes, arguments.pop("workload", W), **arguments)
            assert str(error.value) == message


@linux_only
def test_one_that_takes_too_long_or_too_much_ends_nothing(processes: Isolated) -> None:
    outcomes = pretended(LONG)
    (slow,) = baseline_factors(outcomes, LONG, ["greedy_h"], time_limit=0.01, isolated=processes)
    assert slow.reason.startswith("stopped after ") and slow.reason.endswith(" by the time limit of 0.01 s")
    assert slow.title == "Binary hierarchy, blocks weighted for the workload (GreedyH)"
    large, last = baseline_factors(
        outcomes, LONG, ["greedy_h", "identity"], memory_limit=0.05, isolated=processes
    )
    assert large.reason == "needed more than 0.05 GiB"
    assert last.cost is not None


class Interrupted(Isolated):
    """Ctrl-C is pressed while it evaluates the first baseline."""

    def cost(self, task: Costing) -> Costed:
        self.interrupted = True
        return Costed(Evaluated(task.baseline, "", "", (), "interrupted"), {})


def test_ctrl_c_gives_what_there_is() -> None:
    stopped, left = baseline_factors(pretended(LONG), LONG, ["greedy_h", "identity"], isolated=Interrupted())
    assert (stopped.cost, stopped.reason) == (None, "interrupted")
    assert (left.cost, left.reason) == (None, "not evaluated: the comparison was interrupted")


def pretended(workload: Workload) -> list[Outcome]:
    """A solution of a small workload, as if it were of this one."""
    (outcome,) = solved(EXAMPLE_4, "l2_strategy")
    assert outcome.solution is not None
    return [replace(outcome, solution=replace(outcome.solution, workload_hash=workload.hash))]


@pytest.mark.slow
def test_without_fork(processes: Isolated) -> None:
    outcomes, names = solved(W, "l2_strategy"), ["wavelet"]
    with Isolated(forks=False) as isolated:
        found = baseline_factors(outcomes, W, names, isolated=isolated)
    assert found == baseline_factors(outcomes, W, names, isolated=processes)
    assert not isolated.interrupted


TARGETED = Workload.from_matrix(
    np.vstack([np.tri(4), [0.0, 1.0, 1.0, 0.0]]), targets=np.array([1.0, 2.0, 4.0, 3.0, math.inf])
)


def test_beside_the_least_of_each_norm() -> None:
    l2, fitness, laplace = outcomes = solved(TARGETED, "l2_strategy", "fitness_for_use", "laplace_weighting")
    least = least_costs(outcomes, TARGETED)
    assert {norm: outcome for norm, (_, outcome) in least.best.items()} == {2: fitness, 1: laplace}
    assert fitness.solution is not None and fitness.solution.bound is not None
    assert least.bound == math.sqrt(fitness.solution.bound)
    assert least.best[2][0] == pytest.approx(least.bound, rel=GAP_INTERIOR)
    # Without it there is no bound, and the best is what there is.
    other = least_costs([l2, laplace], TARGETED)
    assert l2.solution is not None and math.isnan(other.bound)
    assert other.best[2] == (privacy_cost(l2.solution.strategy, TARGETED), l2)


def test_of_formulations_that_cost_as_little_it_is_fitness_for_use() -> None:
    lmi, penalty, fitness = outcomes = solved(TARGETED, "fitness_lmi", "fitness_penalty", "fitness_for_use")
    costs = [privacy_cost(o.solution.strategy, TARGETED) for o in outcomes if o.solution is not None]
    assert costs == pytest.approx([costs[2]] * 3, rel=9e-7)
    for order in ([lmi, penalty, fitness], [fitness, penalty, lmi]):
        assert least_costs(order, TARGETED).best[2] == (costs[2], fitness)


def test_a_bound_is_that_of_the_shipped_program_only() -> None:
    (fitness,) = solved(TARGETED, "fitness_for_use")
    assert fitness.solution is not None
    edited = replace(fitness.solution, program_text=fitness.solution.program_text + "# mine")
    for outcome in (replace(fitness, solution=edited), replace(fitness, program="own.program")):
        assert math.isnan(least_costs([outcome], TARGETED).bound)
    for name in ("fitness_lmi", "fitness_refined"):
        assert least_costs(solved(TARGETED, name), TARGETED).bound == pytest.approx(
            math.sqrt(fitness.solution.objective), rel=GAP_INTERIOR
        )
    for name in ("l2_strategy", "fitness_penalty", "fitness_dual"):  # on another scale, or of something else
        assert math.isnan(least_costs(solved(TARGETED, name), TARGETED).bound)


def test_without_targets_there_is_nothing() -> None:
    least = least_costs(
        solved(Workload.from_matrix(np.tri(3)), "l2_strategy"), Workload.from_matrix(np.tri(3))
    )
    assert least.best == {} and math.isnan(least.bound)


def test_factors_and_json(rng: np.random.Generator, processes: Isolated) -> None:
    w = with_targets(random_asked(rng), rng)
    outcomes = solved(w, "l2_strategy", "fitness_for_use")
    least = least_costs(outcomes, w)
    begun: list[str] = []
    found = baseline_factors(outcomes, w, ["identity", "wavelet"], isolated=processes, begin=begun.append)
    assert begun == ["identity", "wavelet"]
    for one, known in zip(found, (evaluate(name, w, (2,)) for name in begun), strict=True):
        (cost,) = known.costs
        assert one.privacy is not None and cost.privacy_cost is not None
        assert one.privacy.against is least.best[2][1]
        assert one.privacy.over_best == pytest.approx(cost.privacy_cost / least.best[2][0], rel=ROUNDING)
        assert one.privacy.over_best >= 1 - GAP_INTERIOR and one.privacy.over_bound >= 1 - FINE
        shown = one.summary()
        assert shown["privacy_cost"] == cost.privacy_cost
        assert shown["privacy_against"]["program"] in ("l2_strategy", "fitness_for_use")
        assert shown["privacy_factor"] == one.privacy.over_best
        assert shown["privacy_bound_factor"] == one.privacy.over_bound


def test_never_below_the_bound_of_privacy_cost(processes: Isolated) -> None:
    (outcome,) = solved(TARGETED, "fitness_for_use")
    assert outcome.solution is not None
    doctored = [replace(outcome, solution=replace(outcome.solution, bound=100.0))]
    with pytest.raises(ContradictionError) as error:
        baseline_factors(doctored, TARGETED, ["identity"], isolated=processes)
    # Cell by cell the first query has variance 1 of 1, the second 2 of 2, the last 4 of 3.
    assert str(error.value) == (
        "the baseline 'identity' meets all targets at privacy cost 1.154700538, less than the certified "
        "bound 10 of all strategies\n  one of the two is a bug in mmopt: please report it with the workload"
    )


def test_without_an_outcome_nothing_is_known() -> None:
    assert set(PrivacyFactors().summary().values()) == {None}
