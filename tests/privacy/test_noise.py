from __future__ import annotations

import math

import numpy as np
import pytest

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy.noise import Noise, add_noise, check_scales, simulate
from mmopt.privacy.rounding.integer_strategy import Part
from mmopt.privacy.table_of_noises import GAUSSIAN, LAPLACE, NOISES

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_opendp_confirms_our_costs_over_many_scales(noise: Noise, rng: np.random.Generator):
    for _ in range(60):
        squared = int(np.exp2(rng.uniform(0, 60 / noise.norm))) ** (2 if noise.norm == 1 else 1)
        scale = float(np.exp(rng.uniform(0, 35)))
        zeros = np.zeros(1, dtype=np.int64)
        assert add_noise(noise, zeros, scale, squared, noise.cost(squared, scale)).shape == (1,)


def test_a_cost_that_opendp_does_not_confirm_is_refused():
    zeros = np.zeros(2, dtype=np.int64)
    with pytest.raises(PrivacyError) as caught:
        add_noise(LAPLACE, zeros, 2.0, 9, 1.25)
    assert str(caught.value) == "OpenDP accounts epsilon 1.5 for this noise, the release claims 1.25"
    with pytest.raises(PrivacyError) as caught:
        add_noise(GAUSSIAN, zeros, 1.0, 1, 0.25)
    assert str(caught.value) == "OpenDP accounts rho 0.5 for this noise, the release claims 0.25"
    with pytest.raises(PrivacyError):
        add_noise(GAUSSIAN, zeros, 1.0, 1, math.nan)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 7.5, 400.0])
def test_the_variance_of_discrete_laplace_noise_is_that_of_its_probabilities(scale):
    z = np.arange(-20_000, 20_001)
    weights = np.exp(-np.abs(z) / scale)
    assert LAPLACE.variance(scale) == pytest.approx((weights * z**2.0).sum() / weights.sum(), rel=1e-10)
    assert LAPLACE.variance(scale) < 2 * scale**2


def test_laplace_variance_at_the_ends():
    assert 0.0 < LAPLACE.variance(1e-9) == LAPLACE.variance(0.005) < 1e-86
    assert LAPLACE.variance(2.0**40) == pytest.approx(2.0**81, rel=1e-12)


@pytest.mark.parametrize("scale", [0.05, 0.3, 0.7, 3.9, 4.1])
def test_the_variance_of_discrete_gaussian_noise_is_that_of_its_probabilities(scale):
    z = np.arange(-400, 401)
    weights = np.exp(-np.square(z / scale) / 2)
    assert GAUSSIAN.variance(scale) == pytest.approx((weights * z**2.0).sum() / weights.sum(), rel=1e-12)


def test_simulation_is_seeded_and_has_the_predicted_variance():
    answers = np.arange(20000)
    one, two, other = (simulate(GAUSSIAN, answers, 1000.0, seed) for seed in (5, 5, 6))
    assert (one == two).all() and (one != other).any()
    assert np.std(one - answers) == pytest.approx(1000, rel=0.05)
    assert one.dtype == np.int64


def test_other_than_int64_is_refused():
    for answers in (np.zeros(2), np.array([math.nan]), np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(WorkloadError) as caught:
            add_noise(GAUSSIAN, answers, 1.0, 1, 1.0)
        assert str(caught.value) == (
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )


def test_scales_beyond_the_integers_are_refused():
    check_scales([Part(1, 1, 2**60)], 2.0**50)
    with pytest.raises(PrivacyError) as caught:
        check_scales([Part(1, 1, 2**40)], 2.0**57)
    assert str(caught.value) == (
        f"answers up to {2**40} with noise of scale 1.441e+17 may exceed 2^62, the limit of 64-bit integers\n"
        "  so little privacy budget gives answers of noise only; raise epsilon or rho"
    )
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(PrivacyError) as caught:
            check_scales([Part(1, 1, 0)], scale)
        assert str(caught.value) == f"the noise scale is {scale!r}, expected a finite number above 0"
