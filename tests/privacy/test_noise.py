from __future__ import annotations

import math

import numpy as np
import pytest

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy.guarantee import gaussian_rho, laplace_epsilon
from mmopt.privacy.noise import (
    add_noise,
    check_scale,
    gaussian_variance,
    laplace_variance,
    log_transform,
    simulate,
)
from mmopt.privacy.rounding.integer_arithmetic import root_above

pytestmark = pytest.mark.quick


def test_opendp_draws_at_the_scale_asked_for():
    # 400 draws: the mean square has relative standard deviation 0.07; one failure in 10^9 runs at 6.
    scale, center = 2.0**30, 2**40
    noise = (add_noise(np.full(400, center), scale, 1.0, gaussian_rho(1, scale)) - center) / scale
    assert abs(noise.mean()) < 6 / 20
    assert abs(np.mean(noise**2) - 1) < 6 * math.sqrt(2 / 400)


def test_opendp_confirms_our_rho_over_many_scales():
    seed = np.random.SeedSequence().generate_state(1)[0]
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(60):
        squared = int(rng.integers(1, 2**60))
        scale = float(np.exp(rng.uniform(0, 35)))
        drawn = add_noise(
            np.zeros(1, dtype=np.int64), scale, root_above(squared), gaussian_rho(squared, scale)
        )
        assert drawn.shape == (1,)


def test_opendp_draws_laplace_noise_at_the_scale_asked_for():
    # 400 draws: |z| / scale has mean and deviation 1, so its mean deviates by 0.05.
    scale, center = 2.0**30, 2**40
    answers = np.full(400, center)
    noise = (add_noise(answers, scale, 1, laplace_epsilon(1, scale), 1) - center) / scale
    assert abs(noise.mean()) < 6 * math.sqrt(2) / 20
    assert abs(np.abs(noise).mean() - 1) < 6 / 20


def test_opendp_confirms_our_epsilon_over_many_scales():
    seed = np.random.SeedSequence().generate_state(1)[0]
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(60):
        length, scale = int(np.exp2(rng.uniform(0, 60))), float(np.exp(rng.uniform(0, 35)))
        zeros = np.zeros(1, dtype=np.int64)
        assert add_noise(zeros, scale, length, laplace_epsilon(length, scale), 1).shape == (1,)


def test_an_epsilon_that_opendp_does_not_confirm_is_refused():
    with pytest.raises(PrivacyError) as caught:
        add_noise(np.zeros(2, dtype=np.int64), 2.0, 3, 1.25, 1)
    assert str(caught.value) == "OpenDP accounts epsilon 1.5 for this noise, the release claims 1.25"


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 7.5, 400.0])
def test_the_variance_of_discrete_laplace_noise_is_that_of_its_probabilities(scale):
    z = np.arange(-20_000, 20_001)
    weights = np.exp(-np.abs(z) / scale)
    assert laplace_variance(scale) == pytest.approx((weights * z**2.0).sum() / weights.sum(), rel=1e-10)
    assert laplace_variance(scale) < 2 * scale**2


def test_laplace_variance_at_the_ends():
    assert 0.0 < laplace_variance(1e-9) == laplace_variance(0.005) < 1e-86
    assert laplace_variance(2.0**40) == pytest.approx(2.0**81, rel=1e-12)


def test_simulated_laplace_noise_has_the_variance_of_the_drawn():
    noise = simulate(np.zeros(40_000, dtype=np.int64), 1000.0, 5, norm=1)
    # z² has a deviation of sqrt(5) times its mean.
    assert np.mean(noise**2.0) == pytest.approx(laplace_variance(1000.0), rel=5 * math.sqrt(5 / 40_000))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("scale", [0.4, 5.0, 31.0, 1000.0])
def test_simulated_noise_is_of_the_drawn_law(norm, scale):
    """Its variance and, by E cos(x z), its law."""
    noise = simulate(np.zeros(40_000, dtype=np.int64), scale, 5, norm=norm)
    variance = laplace_variance(scale) if norm == 1 else gaussian_variance(scale)
    kurtosis = np.mean(noise**4.0) / np.mean(noise**2.0) ** 2
    assert np.mean(noise**2.0) == pytest.approx(variance, rel=5 * math.sqrt(kurtosis / 40_000))
    x = np.array([0.5, 1.0, 3.0]) / max(scale, 1.0)
    drawn = np.cos(x[:, None] * noise).mean(axis=1)
    np.testing.assert_allclose(drawn, np.exp(log_transform(norm, x, np.array(scale))), atol=5 / 40_000**0.5)


def test_simulation_is_seeded_and_has_the_predicted_variance():
    answers = np.arange(20000)
    one, two, other = simulate(answers, 1000.0, 5), simulate(answers, 1000.0, 5), simulate(answers, 1000.0, 6)
    assert (one == two).all() and (one != other).any()
    assert np.std(one - answers) == pytest.approx(1000, rel=0.05)
    assert one.dtype == np.int64


def test_a_claim_that_opendp_does_not_confirm_is_refused():
    with pytest.raises(PrivacyError) as caught:
        add_noise(np.zeros(2, dtype=np.int64), 1.0, 1.0, 0.25)
    assert str(caught.value) == "OpenDP accounts rho 0.5 for this noise, the release claims 0.25"
    with pytest.raises(PrivacyError):
        add_noise(np.zeros(2, dtype=np.int64), 1.0, 1.0, math.nan)


def test_other_than_int64_is_refused():
    for answers in (np.zeros(2), np.array([math.nan]), np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(WorkloadError) as caught:
            add_noise(answers, 1.0, 1.0, 1.0)
        assert str(caught.value) == (
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )


def test_scales_beyond_the_integers_are_refused():
    check_scale(2.0**50, 2**60)
    with pytest.raises(PrivacyError) as caught:
        check_scale(2.0**57, 2**40)
    assert str(caught.value) == (
        f"answers up to {2**40} with noise of scale 1.441e+17 may exceed 2^62, the limit of 64-bit integers\n"
        "  so little privacy budget gives answers of noise only; raise epsilon or rho"
    )
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(PrivacyError) as caught:
            check_scale(scale, 0)
        assert str(caught.value) == f"the noise scale is {scale!r}, expected a finite number above 0"
