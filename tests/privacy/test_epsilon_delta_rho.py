"""Conversions between rho, epsilon and delta never claim more privacy than is proved.

Guards epsilon_delta_rho.py.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mmopt.errors import PrivacyError
from mmopt.privacy import Privacy
from mmopt.privacy.epsilon_delta_rho import (
    allowed_rho,
    continuous_gaussian_delta,
    continuous_gaussian_epsilon,
    continuous_gaussian_mu,
    continuous_gaussian_scale,
    float_above,
    zcdp_epsilon,
    zcdp_rho,
)
from mmopt.privacy.noise import GAUSSIAN


@pytest.mark.quick
def test_the_published_scale_for_half_epsilon():
    rho = zcdp_rho(0.5, 1e-4)
    assert 1 / math.sqrt(2 * rho) == pytest.approx(6.5428, abs=5e-5)
    assert allowed_rho(Privacy(epsilon=0.5, delta=1e-4)) == rho
    assert allowed_rho(Privacy(rho=0.25)) == 0.25
    assert zcdp_epsilon(0.0, 1e-6) == zcdp_epsilon(1e-12, 0.5) == 0.0


@given(st.floats(1e-3, 50), st.floats(1e-30, 0.5))
def test_rho_and_epsilon_are_inverse_and_rounded_to_the_safe_side(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    found = zcdp_epsilon(rho, delta)
    assert found <= epsilon
    assert found == pytest.approx(epsilon, rel=1e-12)


@settings(max_examples=10)
@given(st.floats(1e-6, 100), st.floats(1e-30, 0.5))
def test_some_order_proves_the_claimed_delta(rho, delta):
    """Proposition 12 itself, in 80 digits, at orders near the best one: delta(epsilon) <= delta."""
    epsilon = zcdp_epsilon(rho, delta)
    orders = np.exp(np.linspace(math.log(1e-4), math.log(1e6), 400))
    best = min(
        orders, key=lambda u: (u * ((1 + u) * rho - epsilon)) - math.log(u) - (1 + u) * math.log1p(1 / u)
    )
    with localcontext() as context:
        context.prec = 80
        proved = Decimal(2)
        for u in np.linspace(best * 0.95, best * 1.05, 101):
            a, low, cost = 1 + Decimal(float(u)), Decimal(float(u)), Decimal(rho)
            exponent = low * (a * cost - Decimal(epsilon)) + a * (1 - 1 / a).ln() - low.ln()
            proved = min(proved, exponent.exp())
    # The grid misses the best order slightly, hence the relative room.
    assert proved <= Decimal(delta) * Decimal("1.01")


def test_agreement_with_opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), 3), dp.l2_distance(T="f64")
    for rho, delta in [(0.0116, 1e-4), (0.5, 1e-10), (1e-8, 1e-10), (10.0, 0.1)]:
        scale = 2.0**20
        noise = dp.m.make_gaussian(*space, scale=scale)
        theirs = dp.c.make_zCDP_to_approxDP(noise).map(scale * math.sqrt(2 * rho)).epsilon(delta)
        assert zcdp_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-9)


@given(st.integers(1, 2**60), st.floats(1e-3, 1e18))
def test_rho_of_a_scale_is_an_upper_bound(squared, scale):
    exact = Fraction(squared) / (2 * Fraction(scale) ** 2)
    rho = GAUSSIAN.cost(squared, scale)
    assert exact <= Fraction(rho) <= exact * (1 + Fraction(1, 10**14))


@given(st.fractions())
def test_float_above(value):
    above = float_above(value)
    assert Fraction(above) >= value
    assert Fraction(math.nextafter(above, -math.inf)) < value


def test_continuous_gaussian():
    assert continuous_gaussian_scale(0.5, 1e-4) == pytest.approx(5.8937878, abs=5e-8)
    assert continuous_gaussian_scale(0.5, 1e-4, sensitivity=3.0) == pytest.approx(3 * 5.8937878, abs=2e-7)
    for epsilon, delta in [(0.01, 1e-9), (1.0, 1e-6), (20.0, 0.3)]:
        mu = continuous_gaussian_mu(epsilon, delta)
        assert continuous_gaussian_delta(epsilon, mu) == pytest.approx(delta)
        assert continuous_gaussian_epsilon(mu, delta) == pytest.approx(epsilon)
    assert continuous_gaussian_epsilon(1e-6, 0.01) == 0.0  # delta alone covers it


def test_refusals(subtests: pytest.Subtests):
    for call, message in [
        (lambda: zcdp_epsilon(-1.0, 0.1), "rho is -1.0, expected a finite number, 0 or above"),
        (lambda: zcdp_epsilon(math.nan, 0.1), "rho is nan, expected a finite number, 0 or above"),
        (lambda: zcdp_epsilon(1.0, 0.0), "delta is 0.0, expected a number above 0 and below 1"),
        (lambda: zcdp_epsilon(1.0, 1.0), "delta is 1.0, expected a number above 0 and below 1"),
        (lambda: zcdp_rho(0.0, 0.1), "epsilon must be a finite number > 0, not 0.0"),
        (lambda: zcdp_rho(math.inf, 0.1), "epsilon must be a finite number > 0, not inf"),
        (lambda: zcdp_rho(1e308, 0.1), "epsilon must be at most 10000, not 1e+308"),
        (lambda: zcdp_rho(1.0, math.nan), "delta must lie strictly between 0 and 1, not be nan"),
        (lambda: GAUSSIAN.cost(1, 0.0), "the noise scale is 0.0, expected a finite number above 0"),
        (lambda: continuous_gaussian_mu(1.0, 2.0), "delta must lie strictly between 0 and 1, not be 2.0"),
        (lambda: continuous_gaussian_delta(1.0, 0.0), "mu is 0.0, expected a finite number above 0"),
    ]:
        with subtests.test(message):
            with pytest.raises(PrivacyError) as caught:
                call()
            assert caught.value.message == message
