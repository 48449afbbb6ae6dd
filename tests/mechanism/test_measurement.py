"""A measurement is exact but for noise of the predicted spread; wrong plans and data are refused.

Guards measured_and_simulated_releases.py.
"""

import dataclasses
import math

import numpy as np
import pytest

from mmopt.errors import DataError, OptionError, PrivacyError
from mmopt.mechanism import measure, plan
from mmopt.privacy import Privacy
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.strategies import Neighbours, Strategy
from mmopt.workloads import Workload
from tests.mechanism.test_intervals import release

TRI = Workload.from_matrix(np.tri(6))
DATA = np.array([3, 0, 7, 1, 0, 12])
TOO_MANY = "the data vector counts more rows than the limit, 2147483648 (confidential, do not publish)"
PLAN = plan(TRI, Strategy(np.eye(6)), Privacy(rho=0.5))
GAUSSIAN = plan(TRI, Strategy(np.eye(6)), Privacy(epsilon=1.0, delta=1e-6))
LAPLACE = plan(TRI, Strategy(np.eye(6), 1), Privacy(epsilon=1.0))


def workloads() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {
        "prefix": np.tri(6),
        "duplicated columns": np.repeat(np.tri(3), 2, axis=1),
        "zero column": np.hstack([np.zeros((4, 2)), np.tri(4)]),
        "rank 2, signed": rng.integers(-3, 4, (7, 2)) @ rng.integers(-2, 3, (2, 6)),
        "marginals": np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))]),
        "real": rng.normal(size=(5, 6)),
    }


def test_without_noise_the_answers_are_exact(subtests):
    for name in workloads():
        with subtests.test(name):
            queries = workloads()[name]
            workload = Workload.from_matrix(queries)
            for x in (DATA, DATA * 10**7):
                found = plan(workload, Strategy(queries), Privacy(rho=0.5))
                exact = found.integer.estimate(found.integer.answers(x))
                limit = 1e-6 if name == "real" else 1e-12
                np.testing.assert_allclose(
                    exact, queries @ x, rtol=0, atol=limit * np.abs(queries).max() * x.sum()
                )


def test_simulated_errors_have_the_predicted_spread(subtests):
    for name in ("duplicated columns", "rank 2, signed", "real"):
        with subtests.test(name):
            queries = workloads()[name]
            workload = Workload.from_matrix(queries)
            found = plan(workload, Strategy(queries), Privacy(epsilon=1.0, delta=1e-6))
            truth = queries @ DATA
            runs = [measure(found, DATA, simulate=seed) for seed in range(150)]
            errors = np.array([run.estimates - truth for run in runs]) / found.standard_errors
            # 150 seeded runs, five deviations.
            assert np.abs(errors.mean(axis=0)).max() < 5 / math.sqrt(150)
            assert np.abs((errors**2).mean(axis=0) - 1).max() < 5 * math.sqrt(2 / 150)
            covered = np.mean([(run.low <= truth) & (truth <= run.high) for run in runs])
            assert covered == pytest.approx(runs[0].coverage.mean(), abs=0.05)
            assert not any(run.private for run in runs)


def test_simulated_laplace_errors_have_the_predicted_spread_and_coverage(subtests):
    for name in workloads():
        with subtests.test(name):
            queries = workloads()[name]
            workload = Workload.from_matrix(queries)
            strategy = Strategy(np.vstack([np.eye(6), np.full((1, 6), 0.5)]), 1)
            found = plan(workload, strategy, Privacy(epsilon=0.1))
            truth = queries @ DATA
            runs = [measure(found, DATA, simulate=seed) for seed in range(150)]
            errors = np.array([run.estimates - truth for run in runs]) / found.standard_errors
            # z² of a Laplace variable deviates by sqrt(5), of sums of them by less.
            assert np.abs(errors.mean(axis=0)).max() < 5 / math.sqrt(150)
            assert np.abs((errors**2).mean(axis=0) - 1).max() < 5 * math.sqrt(5 / 150)
            covered = np.mean([(run.low <= truth) & (truth <= run.high) for run in runs], axis=0)
            assert covered.min() >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)


def test_opendp_noise_end_to_end():
    # Laplace noise: 30 scales are left once in 10^13.
    for found, most in ((PLAN, 8), (LAPLACE, 30)):
        answers = measure(found, DATA)
        assert answers.private
        assert (np.abs(answers.estimates - TRI.queries @ DATA) < most * answers.standard_errors).all()
        assert (measure(found, DATA).estimates != answers.estimates).any()


def test_estimates_are_consistent():
    """Prefix sums and their differences come from one estimate of the cells."""
    queries = np.vstack([np.tri(6), np.eye(6)])
    workload = Workload.from_matrix(queries)
    answers = measure(plan(workload, Strategy(np.eye(6)), Privacy(rho=0.01)), DATA, simulate=1)
    np.testing.assert_allclose(np.cumsum(answers.estimates[6:]), answers.estimates[:6], atol=1e-9)


def test_intervals_and_names():
    answers = measure(PLAN, DATA, simulate=1, confidence=0.5)
    # Prefix sums of counts with the discrete Gaussian of parameter 1: whole numbers, whole widths.
    for values in (answers.estimates, answers.low, answers.high):
        np.testing.assert_array_equal(values, np.rint(values))
    np.testing.assert_array_equal(answers.high - answers.low, [2, 2, 2, 2, 2, 4])
    assert answers.labels == tuple(TRI.labels())
    assert len(answers.groups) == 6


def test_bad_data_vectors(subtests):
    for x, message in [
        (np.zeros(5, dtype=int), "the data vector has shape (5,), the workload's domain has 6 cells"),
        (
            np.array([0, 1, 2, 3, 4, math.nan]),
            "the data vector has type float64, expected integer counts\n"
            "  counts of rows are integers: convert with .astype('int64') after checking for NaN",
        ),
        (
            np.array([0, 0, -1, 0, 0, 0]),
            "cell 2 of the data vector is -1 (confidential, do not publish), expected 0 or above",
        ),
        (np.full(6, MAX_ROWS), TOO_MANY),
        (np.full(6, 2**62), TOO_MANY),
    ]:
        with subtests.test(message):
            with pytest.raises(DataError) as caught:
                measure(PLAN, x, simulate=0)
            assert str(caught.value) == message


def test_arguments_of_other_kinds_are_named():
    cases = [
        (
            DataError,
            {"x": np.ma.array(DATA, mask=[1, 0, 0, 0, 0, 0])},
            "the data vector is a masked array, and what",
        ),
        (OptionError, {"simulate": -1}, "the seed is -1, expected 0 or above"),
        (OptionError, {"confidence": "0.9"}, "confidence is '0.9', expected a number above 0 and below 1"),
    ]
    for kind, changed, message in cases:
        with pytest.raises(kind) as caught:
            measure(**{"plan": PLAN, "x": DATA, **changed})
        assert str(caught.value).startswith(message)


def test_as_many_rows_as_the_limit_still_fit():
    x = np.zeros(6, dtype=np.int64)
    x[0] = MAX_ROWS
    answers = measure(PLAN, x, simulate=0)
    np.testing.assert_allclose(answers.estimates, MAX_ROWS, atol=30)


def test_bad_confidence():
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(OptionError) as caught:
            measure(PLAN, DATA, simulate=0, confidence=confidence)
        said = f"confidence is {confidence!r}, expected a number above 0 and below 1\n  for example 0.95"
        assert str(caught.value) == said


def test_a_plan_changed_by_hand_is_refused(subtests):
    assert measure(GAUSSIAN, DATA).private
    for honest, changed, message in [
        (PLAN, {"rho": 0.4}, r"costs rho 0\.5\d*, the release claims 0\.4"),
        (LAPLACE, {"epsilon": 0.5}, r"costs epsilon (1\.0|0\.99)\d*, the release claims 0\.5"),
        (GAUSSIAN, {"epsilon": 1e-3}, "costs epsilon .*, the release claims 0.001"),
        (GAUSSIAN, {"delta": 1e-9}, "costs epsilon .*, the release claims 1.0"),
        (GAUSSIAN, {"delta": 0.0}, "delta is 0.0, expected"),
        (GAUSSIAN, {"delta": None}, "costs epsilon None, the release claims"),
        (GAUSSIAN, {"epsilon": None}, "the release claims None"),
        (GAUSSIAN, {"epsilon": math.nan}, "the release claims nan"),
        (GAUSSIAN, {"scale": GAUSSIAN.scale / 2}, "costs rho"),
        (GAUSSIAN, {"rho": None}, "costs rho .*, the release claims None"),
        (GAUSSIAN, {"rho": None, "delta": 0.0}, "delta is 0.0, expected"),
        (LAPLACE, {"rho": 1e-3}, "costs rho None, the release claims 0.001"),
        (LAPLACE, {"delta": None}, "costs delta 0.0, the release claims None"),
        (LAPLACE, {"delta": -1.0}, "costs delta 0.0, the release claims -1.0"),
    ]:
        with subtests.test(message), pytest.raises(PrivacyError, match=message):
            measure(dataclasses.replace(honest, **changed), DATA)


def test_other_neighbours_than_the_integers_were_rounded_for_are_refused(subtests):
    for form, norm in (("cells", 1), ("product", 2), ("union", 1), ("marginals", 2)):
        with subtests.test(f"{form}, {norm}"):
            queries, strategy, x = release(form, norm)
            privacy = Privacy(epsilon=1.0) if norm == 1 else Privacy(rho=0.5)
            assert measure(plan(queries, strategy, privacy, "replace-one"), x).private
            honest = plan(queries, strategy, privacy)
            assert measure(honest, x).private
            forged = dataclasses.replace(honest.integer, neighbours=Neighbours.of("replace-one"))
            with pytest.raises(
                PrivacyError, match=r"squared sensitivities are .* under replace-one|this noise costs"
            ):
                measure(dataclasses.replace(honest, integer=forged), x)
