"""A comparison predicts of a release what the release's plan says."""

import math

import numpy as np
import pytest
from tolerances import INTEGERS, ROUNDING

from mmopt import OptionError, Privacy, PrivacyError, Solution, Workload, WorkloadError, compare, plan, solve
from mmopt.comparison import Isolated, Stated, baseline_factors, combinations, outcomes
from mmopt.comparison.predicted_errors import Predicted, predicted, predicted_baseline
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_scale
from mmopt.strategies import Neighbours, Strategy
from mmopt.strategies.baselines import baseline, baseline_names, evaluate
from tests.strategies.asked import random_asked, with_targets

APPROXIMATE = Stated(Privacy(epsilon=1.0, delta=1e-6))
PURE = Stated(Privacy(epsilon=0.5))
ZERO = Stated(Privacy(rho=0.1))
OTHERS = [Stated(APPROXIMATE.privacy, Neighbours.of(said)) for said in ("replace-one", {"rows": 3})]
EACH = [APPROXIMATE, PURE, ZERO, *OTHERS]
PROGRAMS = ("l2_strategy", "laplace_weighting")


def test_the_error_is_that_of_the_plan(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for stated in EACH:
        with subtests.test(str(stated)):
            workload = random_asked(rng)
            for name in PROGRAMS:
                solution = solve(workload, name)
                known = predicted(workload, solution, stated)
                if solution.strategy.norm in stated.norms:
                    try:
                        planned = plan(workload, solution, stated.privacy, stated.neighbours)
                    except WorkloadError as error:  # queries drawn without an integer basis
                        assert (known.rmse, known.reason) == (None, error.message)
                        continue
                    assert (known.rmse, known.reason, known.is_continuous) == (planned.rmse, "", False)
                else:
                    assert known.rmse is None and known.error(1.0) is None
            assert predicted(workload, solution, None).error(1.25) == 1.25


@pytest.mark.quick
def test_a_noise_that_is_not_allowed() -> None:
    w = Workload.from_matrix(np.tri(3))
    assert PURE.norms == (1,) and ZERO.norms == (2,) and APPROXIMATE.norms == (2, 1)
    assert predicted(w, Strategy(np.eye(3), 2), PURE).reason == (
        "Gaussian noise does not satisfy pure epsilon: it needs a delta"
    )
    assert predicted(w, Strategy(np.eye(3), 1), ZERO).reason == (
        "Laplace noise is calibrated for epsilon, and rho is stated"
    )
    assert predicted(w, Strategy(np.eye(3)[:2], 2), ZERO).reason.startswith("the strategy does not support")


@pytest.mark.some(1)
@pytest.mark.parametrize("stated", EACH, ids=str)
def test_a_baseline_is_planned_as_a_strategy(stated: Stated, rng: np.random.Generator) -> None:
    workload = random_asked(rng)
    for name in baseline_names():
        for cost in evaluate(name, workload, stated.norms).costs:
            known = predicted_baseline(workload, name, cost, stated)
            whole = plan(workload, baseline(name, workload, cost.norm), stated.privacy, stated.neighbours)
            if name == "workload":  # each answer has the noise that was added to it; least squares have less
                # But for what rounding the strategy to integers costs.
                assert known.rmse is not None and known.rmse >= whole.rmse * (1 - INTEGERS)
            else:
                assert known.rmse == whole.rmse


def test_a_large_baseline_is_planned_in_factors() -> None:
    """Over 240,000 cells: the error is that of continuous noise, or less.

    On integers Laplace noise has less variance, and rows that are alike, as in this wavelet, are one.
    """
    w = Workload.load("examples/marginals/workload.yaml")
    for name in ("identity", "hierarchical", "wavelet", "datacube"):
        for cost in evaluate(name, w, (2, 1)).costs:
            known = predicted_baseline(w, name, cost, APPROXIMATE)
            assert known.rmse is not None and not known.is_continuous
            noise = continuous_gaussian_scale(1.0, 1e-6) if cost.norm == 2 else math.sqrt(2)
            assert 0.9 < known.rmse / (noise * cost.rmse) < 1.0001


@pytest.mark.quick
def test_noise_on_the_answers() -> None:
    """Two queries that share a cell have sensitivity 2: Laplace noise of scale 4, at epsilon 0.5, on both."""
    w = Workload.from_matrix(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    (cost,) = evaluate("workload", w, (1,)).costs
    variance = 0.5 / math.sinh(1 / 8) ** 2
    known = predicted_baseline(w, "workload", cost, PURE).rmse
    assert known == pytest.approx(math.sqrt(variance), rel=ROUNDING)
    # A third of that is measured as these integers; of irrational numbers no multiple is integer.
    third = Workload.from_matrix(w.queries / 3.0)
    (cost,) = evaluate("workload", third, (1,)).costs
    known = predicted_baseline(third, "workload", cost, PURE).rmse
    assert known == pytest.approx(math.sqrt(variance) / 3.0, rel=ROUNDING)
    root = math.sqrt(2.0)
    w = Workload.from_matrix(np.array([[1.0, root, 0.0], [0.0, 1.0, root], [root, 0.0, 1.0]]))
    (cost,) = evaluate("workload", w, (1,)).costs
    known = predicted_baseline(w, "workload", cost, PURE).rmse
    assert known == pytest.approx(root * (1.0 + root) / 0.5, rel=1e-6)


def worst(workload: Workload, solution: Solution, stated: Stated, spent: float) -> float:
    """The largest variance over its target at this privacy cost."""
    own, asked = stated.privacy, np.isfinite(workload.targets)
    cost = {"rho" if own.rho else "epsilon": spent}
    planned = plan(workload, solution, Privacy(**cost, delta=own.delta))  # type: ignore[arg-type]
    return float((planned.standard_errors[asked] ** 2 / workload.targets[asked]).max())


def test_what_the_targets_cost_is_enough_and_not_much_more(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for stated in EACH[:3]:
        workload = with_targets(random_asked(rng), rng)
        for name in PROGRAMS:
            solution = solve(workload, name)
            if solution.strategy.norm in stated.norms:
                with subtests.test(str(stated), name=name):
                    cost = predicted(workload, solution, stated).cost
                    assert cost is not None
                    assert worst(workload, solution, stated, cost * (1.0 + 1e-9)) <= 1 + 1e-8
                    # Noise on integers has less variance than its scale says where that is small.
                    assert worst(workload, solution, stated, 0.9 * cost) > 1 or cost > 1


@pytest.mark.quick
def test_too_many_rows_for_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise on real numbers, marked so; none where rows are replaced, whose sensitivity would be needed."""
    w = Workload.from_matrix(np.tri(4))
    solution = solve(w, "l2_strategy")
    exact = predicted(w, solution, ZERO)
    monkeypatch.setattr("mmopt.comparison.predicted_errors.plan", _too_large)
    about = predicted(w, solution, ZERO)
    assert about.is_continuous and not exact.is_continuous and exact.rmse is not None
    assert about.rmse == pytest.approx(solution.rmse / math.sqrt(0.2), rel=ROUNDING)
    assert about.rmse == pytest.approx(exact.rmse, rel=1e-6)
    (cost,) = evaluate("identity", w, (1,)).costs
    assert predicted_baseline(w, "identity", cost, PURE) == Predicted(
        cost.rmse * math.sqrt(8.0), is_continuous=True
    )
    of_a_person = predicted(w, solution, Stated(ZERO.privacy, Neighbours.of("rows 3")))
    assert of_a_person.is_continuous and of_a_person.rmse == pytest.approx(3 * (about.rmse or 0.0), rel=1e-12)
    replaced = Stated(ZERO.privacy, Neighbours.of("replace-one"))
    assert predicted(w, solution, replaced) == Predicted(reason="too many rows")


def _too_large(*_: object, **__: object) -> None:
    from mmopt.errors import TooLargeError

    raise TooLargeError("too many rows")


def test_in_the_process_as_here(processes: Isolated) -> None:
    w = Workload.from_matrix(np.tri(4), targets=np.array([9.0, 9.0, 4.0, math.inf]))
    chosen = combinations(PROGRAMS)
    each = list(outcomes(w, chosen, stated=APPROXIMATE, isolated=processes))
    for outcome in each:
        assert outcome.solution is not None
        assert outcome.predicted == predicted(w, outcome.solution, APPROXIMATE)
        assert outcome.summary()["rmse"] == outcome.rmse != outcome.summary()["unit_rmse"]
    assert [outcome.noise for outcome in each] == ["Gaussian", "Laplace"]
    beside = baseline_factors(each[:1], w, ["wavelet"], stated=APPROXIMATE, isolated=processes)
    costs = evaluate("wavelet", w, (2, 1)).costs
    assert [one.predicted for one in beside] == [
        predicted_baseline(w, "wavelet", cost, APPROXIMATE) for cost in costs
    ]
    gaussian, laplace = beside
    assert gaussian.against is each[0] and laplace.against is None and math.isnan(laplace.error)


def test_privacies_that_are_none() -> None:
    w = Workload.from_matrix(np.tri(2))
    with pytest.raises(PrivacyError) as wrong:
        compare(w, ["l2_strategy"], privacy={"epsilon": -1.0})
    assert str(wrong.value) == "epsilon must be a finite number > 0, not -1.0"
    with pytest.raises(OptionError) as error:
        Stated({"epsilon": 1.0})  # type: ignore[arg-type]
    assert str(error.value) == "privacy is of type dict, expected Privacy"
    with pytest.raises(OptionError) as error:
        compare(w, ["l2_strategy"], privacy=PURE.privacy, neighbours="same")  # type: ignore[arg-type]
    of_a_person = "{'rows': k} or {'participation': {'separation': b, 'at_most': k}}"
    assert error.value.message == f"neighbours is 'same', expected 'add-remove', 'replace-one', {of_a_person}"
