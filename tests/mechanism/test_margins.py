"""Claims lie above the exact cost, by the room left for the library that draws the noise.

Guards release_plan.py, privacy/noise.py, privacy/rounding/norms_and_measured_integers.py.
"""

from fractions import Fraction

import numpy as np
import pytest

from mmopt import PrivacyError, TooLargeError, Workload, solve
from mmopt.mechanism.release_plan import least_scale_by_cost, plan
from mmopt.privacy import Privacy
from mmopt.privacy.noise import GAUSSIAN, LAPLACE, NOISES, cost
from mmopt.privacy.rounding.norms_and_measured_integers import integer_product, root_above
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Strategy

ROOM = 1 + Fraction(1, 2**48)


@pytest.mark.quick
def test_costs_leave_room_for_three_roundings(rng: np.random.Generator) -> None:
    for _ in range(4):
        size, scale = int(rng.integers(1, 2**40)), float(10.0 ** rng.uniform(-2, 9))
        assert Fraction(GAUSSIAN.cost(size, scale)) >= ROOM * Fraction(size) / (2 * Fraction(scale) ** 2)
        assert Fraction(LAPLACE.cost(size**2, scale)) >= ROOM * size / Fraction(scale)


@pytest.mark.quick
def test_the_least_scale_costs_no_more_than_is_allowed_in_the_last_digit(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for noise in NOISES:
        with subtests.test(noise.name):
            integer = round_any(
                Strategy(np.eye(3), noise.norm), Workload.from_matrix(np.eye(3)), "add-remove"
            )
            for allowed in rng.uniform(0.01, 3.0, 200):
                found = cost(noise, integer.parts, least_scale_by_cost(noise, integer, allowed))
                assert allowed * (1 - 1e-14) <= found <= allowed


@pytest.mark.quick
def test_a_product_that_leaves_64_bits_is_refused() -> None:
    for size in (2**30, 2**31):
        with pytest.raises(TooLargeError, match="the limit is"):
            integer_product(np.array([[2**31, 2**31]]), np.array([[size], [size]]))


@pytest.mark.quick
def test_a_root_just_above_a_float_is_not_that_float() -> None:
    """√(4^b + 1) is above 2^b by less than any digit that is kept."""
    for bits in [0, 1, 26, 31, 52, 53, 70, 200]:
        for squared in (4**bits, 4**bits + 1, 4**bits - 1):
            assert Fraction(root_above(squared)) ** 2 >= squared


@pytest.mark.quick
def test_targets_that_cost_a_little_more_than_is_allowed_are_refused() -> None:
    w = Workload.from_matrix(np.tri(4), targets=[1.0, 2.0, 1.0, 3.0])
    strategy = solve(w, "fitness_for_use").strategy
    cost = plan(w, strategy, None, absolute=True).rho
    assert cost is not None
    assert plan(w, strategy, Privacy(rho=cost), absolute=True).rho == cost
    with pytest.raises(PrivacyError, match="the targets cost"):
        plan(w, strategy, Privacy(rho=cost * (1 - 1e-12)), absolute=True)
