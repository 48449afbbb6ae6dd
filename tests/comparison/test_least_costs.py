"""The privacy cost of baselines beside programs: the right program and bound, and never below it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from strategies.asked import random_asked, with_targets
from tolerances import FINE, GAP_INTERIOR, ROUNDING

from mmopt import ContradictionError, Workload, baseline_factors, solve
from mmopt.comparison import Isolated, Outcome
from mmopt.comparison.least_costs import PrivacyFactors, least_costs
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import evaluate

W = Workload.from_matrix(
    np.vstack([np.tri(4), [0.0, 1.0, 1.0, 0.0]]), targets=np.array([1.0, 2.0, 4.0, 3.0, math.inf])
)


def solved(workload: Workload, *programs: str) -> list[Outcome]:
    found = [(name, solve(workload, name)) for name in programs]
    return [Outcome(name, s.solver, s, stop=s.status.stop) for name, s in found]


def test_beside_the_least_of_each_norm() -> None:
    l2, fitness, laplace = outcomes = solved(W, "l2_strategy", "fitness_for_use", "laplace_weighting")
    least = least_costs(outcomes, W)
    assert {norm: outcome for norm, (_, outcome) in least.best.items()} == {2: fitness, 1: laplace}
    assert fitness.solution is not None and fitness.solution.bound is not None
    assert least.bound == math.sqrt(fitness.solution.bound)
    assert least.best[2][0] == pytest.approx(least.bound, rel=GAP_INTERIOR)
    # Without it there is no bound, and the best is what there is.
    other = least_costs([l2, laplace], W)
    assert l2.solution is not None and math.isnan(other.bound)
    assert other.best[2] == (privacy_cost(l2.solution.strategy, W), l2)


def test_of_formulations_that_cost_as_little_it_is_fitness_for_use() -> None:
    lmi, penalty, fitness = outcomes = solved(W, "fitness_lmi", "fitness_penalty", "fitness_for_use")
    costs = [privacy_cost(o.solution.strategy, W) for o in outcomes if o.solution is not None]
    assert costs == pytest.approx([costs[2]] * 3, rel=9e-7)
    for order in ([lmi, penalty, fitness], [fitness, penalty, lmi]):
        assert least_costs(order, W).best[2] == (costs[2], fitness)


def test_a_bound_is_that_of_the_shipped_program_only() -> None:
    (fitness,) = solved(W, "fitness_for_use")
    assert fitness.solution is not None
    edited = replace(fitness.solution, program_text=fitness.solution.program_text + "# mine")
    for outcome in (replace(fitness, solution=edited), replace(fitness, program="own.program")):
        assert math.isnan(least_costs([outcome], W).bound)
    for name in ("fitness_lmi", "fitness_refined"):
        assert least_costs(solved(W, name), W).bound == pytest.approx(
            math.sqrt(fitness.solution.objective), rel=GAP_INTERIOR
        )
    for name in ("l2_strategy", "fitness_penalty", "fitness_dual"):  # on another scale, or of something else
        assert math.isnan(least_costs(solved(W, name), W).bound)


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


def test_never_below_the_bound(processes: Isolated) -> None:
    (outcome,) = solved(W, "fitness_for_use")
    assert outcome.solution is not None
    doctored = [replace(outcome, solution=replace(outcome.solution, bound=100.0))]
    with pytest.raises(ContradictionError) as error:
        baseline_factors(doctored, W, ["identity"], isolated=processes)
    # Cell by cell the first query has variance 1 of 1, the second 2 of 2, the last 4 of 3.
    assert str(error.value) == (
        "the baseline 'identity' meets all targets at privacy cost 1.154700538, less than the certified "
        "bound 10 of all strategies\n  one of the two is a bug in mmopt: please report it with the workload"
    )


def test_without_an_outcome_nothing_is_known() -> None:
    assert set(PrivacyFactors().summary().values()) == {None}
