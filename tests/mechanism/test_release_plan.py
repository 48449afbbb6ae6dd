"""A plan of a release: its cost is at most what is allowed, and its errors are the strategy's.

Guards privacy/rounding/norms_and_measured_integers.py.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from mmopt.errors import OptionError, PrivacyError, WorkloadError
from mmopt.mechanism import measure, plan
from mmopt.privacy import Privacy, allowed_rho, zcdp_epsilon
from mmopt.privacy.noise import LAPLACE
from mmopt.strategies import Strategy
from mmopt.workloads import Workload
from tests.privacy.rounding.test_integer_dense import all_counted

TRI = Workload.from_matrix(np.tri(8))
TARGETS = Workload.from_matrix(np.tri(8), targets=np.arange(1, 9))  # met exactly by the identity
IDENTITY = Strategy(np.eye(8))


def workload_of(targets):
    return Workload.from_matrix(np.tri(8), targets=targets)


@pytest.mark.quick
def test_the_cost_never_exceeds_what_is_allowed(subtests):
    for neighbours, privacy in itertools.product(
        ["add-remove", "replace-one"], [Privacy(epsilon=1.0, delta=1e-6), Privacy(rho=0.3), Privacy(rho=1e-9)]
    ):
        with subtests.test(f"{privacy}, {neighbours}"):
            found = plan(TRI, Strategy(np.tri(8) + 0.1 * np.eye(8)), privacy, neighbours)
            # Against the claim: the exact cost of the integers at this scale.
            cost = Fraction(found.integer.squared_sensitivity) / (2 * Fraction(found.scale) ** 2)
            assert cost <= Fraction(found.rho) == pytest.approx(cost, rel=1e-13)
            assert found.privacy_cost == pytest.approx(math.sqrt(2 * found.rho))
            if privacy.epsilon is None:
                assert (
                    found.epsilon is None
                    and "Theorem 14" in found.theorem
                    and "Corollary" not in found.theorem
                )
                assert Fraction(found.rho) <= Fraction(found.allowed) <= Fraction(
                    repr(privacy.rho)
                ) and allowed_rho(privacy) == pytest.approx(found.rho, rel=1e-13)
            else:
                assert (
                    found.epsilon
                    <= found.allowed
                    == privacy.epsilon
                    == pytest.approx(found.epsilon, rel=1e-9)
                )
                assert (
                    found.epsilon < zcdp_epsilon(found.rho, found.delta) and "Balle and Wang" in found.theorem
                )


def test_laplace_noise_costs_the_epsilon_and_no_delta(subtests):
    for neighbours, privacy in itertools.product(
        ["add-remove", "replace-one"], [Privacy(epsilon=1.0), Privacy(epsilon=1e-7), Privacy(0.3, 1e-6)]
    ):
        with subtests.test(f"{privacy}, {neighbours}"):
            found = plan(TRI, Strategy(np.tri(8) + 0.1 * np.eye(8), 1), privacy, neighbours)
            length = math.isqrt(found.integer.squared_sensitivity)
            assert length**2 == found.integer.squared_sensitivity
            scale = Fraction(found.parts[0].relative * found.scale)
            assert Fraction(length) / scale <= Fraction(found.epsilon) <= Fraction(privacy.epsilon)
            assert found.epsilon == pytest.approx(privacy.epsilon, rel=1e-13) == found.privacy_cost
            assert (found.rho, found.delta, found.guarantee) == (None, 0.0, "pure epsilon")
            assert "Laplace is epsilon-DP" in found.theorem
            assert "8 queries, epsilon " in repr(found) and "at delta 0" in repr(found)


@pytest.mark.quick
def test_predicted_laplace_errors_are_the_strategy_s(subtests):
    for neighbours in ["add-remove", "replace-one"]:
        with subtests.test(neighbours):
            strategy = Strategy(np.vstack([np.eye(8), 0.5**0.5 * np.ones((1, 8))]), 1)
            found = plan(TRI, strategy, Privacy(epsilon=2.0), neighbours)
            scale = (1 + 0.5**0.5 if neighbours == "add-remove" else 2.0) / 2.0
            np.testing.assert_allclose(
                found.standard_errors**2, 2 * scale**2 * strategy.variances(TRI), rtol=1e-6
            )
            exact = LAPLACE.variance(found.scale) / 4.0**found.integer.bits * found.integer.variances
            np.testing.assert_allclose(found.standard_errors**2, exact, rtol=1e-12)


def test_noise_and_privacy_of_different_kinds_are_refused():
    cases = [
        (
            (TRI, IDENTITY, Privacy(epsilon=1.0)),
            "privacy has epsilon 1.0 and delta None, expected both, or rho\n"
            "  Gaussian noise satisfies no pure epsilon: give a delta in (0, 1), or rho; or solve a "
            "program for Laplace noise: l1_strategy, p_identity, laplace_weighting (weighs a baseline: "
            "--given Q=haar, in Python givens={'Q': 'haar'}) or min_error",
        ),
        (
            (TRI, Strategy(np.eye(8), 1), Privacy(rho=1.0)),
            "privacy is rho = 1 (zCDP), and Laplace noise (a strategy of norm 1) needs an epsilon\n"
            "  give epsilon (delta is not used then), or solve a program for Gaussian noise: l2_strategy",
        ),
        (
            (TRI, IDENTITY, None),
            "no privacy parameters, and the noise is not set by targets\n"
            "  add a line such as 'privacy: {epsilon: 1.0, delta: 1.0e-6}' to the workload file",
        ),
        (
            (TRI, Strategy(np.eye(8), 1), None),
            "no privacy parameters, and the noise is not set by targets\n"
            "  add a line such as 'privacy: {epsilon: 1.0}' to the workload file",
        ),
        (
            (TRI, Strategy(np.eye(8), 1), Privacy(epsilon=1.0), "add-remove", True),
            "no query has a target that could set the scale of Laplace noise\n"
            "  add max_variance or within to the queries, or give an epsilon",
        ),
    ]
    for arguments, message in cases:
        with pytest.raises(PrivacyError) as caught:
            plan(*arguments)
        assert str(caught.value) == message


def test_predicted_errors_are_the_strategy_s_at_the_calibrated_noise():
    strategy = Strategy(np.tri(8))
    found = plan(TRI, strategy, Privacy(rho=0.5))  # rho 1/2: noise scale = sensitivity
    expected = strategy.sensitivity * np.sqrt(strategy.variances(TRI))
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-6)
    assert found.rmse == pytest.approx(math.sqrt(strategy.total_error(TRI) / 8), rel=1e-6)
    assert found.noise == pytest.approx(strategy.sensitivity, rel=1e-6)
    assert "8 queries, rho 0.5, add-remove" in repr(found)


def test_replace_one_calibrates_to_differences():
    add, replace = (plan(TRI, IDENTITY, Privacy(rho=0.5), n).noise for n in ("add-remove", "replace-one"))
    assert replace == pytest.approx(math.sqrt(2) * add)


def test_targets_set_the_noise_and_the_cost():
    found = plan(TARGETS, IDENTITY, None, absolute=True)
    assert (found.standard_errors**2 <= TARGETS.targets).all()
    np.testing.assert_allclose(found.standard_errors**2, TARGETS.targets, rtol=1e-6)
    assert found.rho == pytest.approx(0.5, rel=1e-7)
    assert found.privacy_cost == pytest.approx(1.0, rel=1e-7)
    assert found.epsilon is found.delta is found.allowed is None
    # A privacy that allows more is not used up.
    roomy = plan(TARGETS, IDENTITY, Privacy(epsilon=10.0, delta=1e-6), absolute=True)
    assert roomy.rho == found.rho and roomy.epsilon < zcdp_epsilon(found.rho, 1e-6) < 10


@pytest.mark.quick
def test_rounding_is_charged_to_the_cost_not_to_the_targets():
    rng = np.random.default_rng(3)
    for _ in range(20):
        strategy = Strategy(np.linalg.qr(rng.normal(size=(8, 8)))[0] * rng.uniform(0.5, 2, 8))
        targets = strategy.variances(TRI)
        targets[5] = math.inf
        workload = workload_of(targets)
        found = plan(workload, strategy, None, absolute=True)
        assert (found.standard_errors**2 <= targets).all()
        assert found.noise <= 1
        assert found.rho == pytest.approx(strategy.sensitivity**2 / 2, rel=1e-6)


def test_without_targets_absolute_is_unit_noise():
    found = plan(TRI, Strategy(np.tri(8)), None, absolute=True)
    np.testing.assert_allclose(found.standard_errors, 1.0, rtol=1e-6)


def test_targets_beyond_the_budget_are_refused_with_the_factor_that_suffices():
    privacy = Privacy(epsilon=0.5, delta=1e-4)
    with pytest.raises(PrivacyError) as caught:
        plan(TARGETS, IDENTITY, privacy, absolute=True)
    assert str(caught.value) == (
        "the targets cost epsilon 3.49685 at delta 0.0001, privacy allows epsilon 0.5\n"
        "  multiply every max_variance by 34.71, or allow a larger privacy cost"
    )
    grown = Strategy(np.eye(8) / math.sqrt(34.71))
    assert plan(workload_of(34.71 * np.arange(1, 9)), grown, privacy, absolute=True).epsilon <= 0.5
    with pytest.raises(PrivacyError) as caught:
        plan(TARGETS, IDENTITY, Privacy(rho=0.1), absolute=True)
    assert str(caught.value) == (
        "the targets cost rho 0.500001, privacy allows rho 0.1\n"
        "  multiply every max_variance by 5.001, or allow a larger privacy cost"
    )


def test_a_strategy_that_misses_its_targets_is_refused():
    with pytest.raises(WorkloadError) as caught:
        plan(workload_of(2.0), IDENTITY, None, absolute=True)
    label = TRI.labels()[7]
    assert str(caught.value) == (
        f"query '{label}' has variance 8 at noise of scale 1 on this strategy, its max_variance is 2\n"
        "  solve the strategy with fitness_for_use for these targets"
    )


@pytest.mark.parametrize("norm", [1, 2])
def test_a_total_under_replace_one_is_exact_and_costs_nothing(norm):
    total = all_counted(Workload.from_matrix(np.vstack([np.ones(4), 0.3 * np.ones(4)])))
    privacies = [Privacy(1.0), Privacy(0.5, 1e-6)] if norm == 1 else [Privacy(rho=0.1), Privacy(1.0, 1e-6)]
    strategy = Strategy(np.ones((1, 4)), norm)
    for privacy in privacies:
        found = plan(total, strategy, privacy, "replace-one")
        assert found.privacy_cost == 0.0 and found.spent[1] == 0.0 and found.rmse == 0.0
        answers = measure(found, np.array([5, 0, 2, 3]))
        for numbers in (answers.estimates, answers.low, answers.high):
            assert numbers.tolist() == [10.0, 0.3 * 10]
        assert answers.coverage.tolist() == [1.0, 1.0]
        assert plan(total, strategy, privacy, "add-remove").privacy_cost > 0
    targets = all_counted(Workload.from_matrix(np.ones((1, 4)), targets=1.0))
    found = plan(targets, strategy, None, "replace-one", absolute=True)
    assert found.spent[1] == 0.0 and found.rmse == 0.0


def test_an_exact_total_beside_targets_divides_nothing_by_zero():
    rows = np.vstack([np.eye(3), np.ones(3)])
    for norm, targets in ((1, [9.0, 9.0, 9.0, 1.0]), (2, [9.0, 9.0, 9.0, 1.0]), (2, [np.inf] * 4)):
        asked = all_counted(Workload.from_matrix(rows, targets=np.array(targets)))
        found = plan(asked, Strategy(np.eye(3), norm), None, "replace-one", absolute=True)
        assert found.standard_errors[3] == 0.0
        assert (found.standard_errors**2 <= np.array(targets)).all() and (found.standard_errors[:3] > 0).all()
    of_total = all_counted(Workload.from_matrix(rows, targets=np.array([np.inf, np.inf, np.inf, 1.0])))
    with pytest.raises(PrivacyError, match="no query has a target that could set the scale of Laplace"):
        plan(of_total, Strategy(np.eye(3), 1), None, "replace-one", absolute=True)


def test_arguments_of_other_kinds_are_named():
    rho = Privacy(rho=0.5)
    of_a_person = "{'rows': k} or {'participation': {'separation': b, 'at_most': k}}"
    sets = f"expected 'add-remove', 'replace-one', {of_a_person}"
    cases = [
        ((TRI, IDENTITY, rho, "x"), f"neighbours is 'x', {sets}"),
        ((TRI, IDENTITY, rho, 2), f"neighbours is 2, {sets}"),
        ((TRI, np.eye(8), rho), "the strategy is of type ndarray, expected a strategy, as solution.strategy"),
        ((TRI, IDENTITY, rho, "add-remove", 1), "absolute is of type int, expected True or False"),
    ]
    for arguments, message in cases:
        with pytest.raises(OptionError) as caught:
            plan(*arguments)
        assert caught.value.message == message


def test_a_matrix_and_a_dictionary_will_do():
    same = plan(TRI, IDENTITY, Privacy(rho=0.5))
    assert plan(np.tri(8), IDENTITY, {"rho": 0.5}).rmse == same.rmse
    with pytest.raises(PrivacyError, match=r"privacy is the number 0\.5, and does not say of what"):
        plan(TRI, IDENTITY, 0.5)
    with pytest.raises(WorkloadError, match="a Strategy is not a Workload"):
        plan(IDENTITY, TRI, Privacy(rho=0.5))


def test_a_vanishing_budget_is_refused():
    with pytest.raises(PrivacyError, match="may exceed 2\\^62"):
        plan(TRI, IDENTITY, Privacy(rho=1e-38))
