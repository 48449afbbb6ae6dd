from __future__ import annotations

import math

import numpy as np
import pytest

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.mechanism.exact import root_above
from mmopt.mechanism.noise import add_noise, check_scale, simulate
from mmopt.mechanism.privacy import gaussian_rho


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
