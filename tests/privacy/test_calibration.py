"""Claims against exact privacy losses of the discrete noise, in ball arithmetic of 60 digits.

Guards epsilon_delta_rho.py, noise.py, mechanism/release_plan.py,
privacy/rounding/integer_dense.py, privacy/rounding/integer_factors.py and
privacy/rounding/norms_and_measured_integers.py.
"""

import math
from decimal import Decimal
from itertools import product

import flint
import numpy as np
import pytest

from mmopt.mechanism import plan
from mmopt.mechanism.release_plan import approximate_epsilon, least_scale
from mmopt.privacy import Privacy, zcdp_epsilon, zcdp_rho
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_scale, discrete_gaussian_delta, gaussian_delta
from mmopt.privacy.noise import GAUSSIAN
from mmopt.privacy.rounding.norms_and_measured_integers import Part
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import MarginalStrategy, ProductStrategy
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import identity

CELLS = Workload.from_matrix(np.eye(4))
arb = flint.arb


@pytest.fixture(autouse=True)
def digits():
    with flint.ctx.workdps(60):
        yield


def weights(scale: float, norm: int = 2) -> dict[int, flint.arb]:
    """Probabilities of the discrete noise, on integers beyond which there is less than 1e-60."""
    most = math.ceil(scale * (17 if norm == 2 else 140)) + 3
    s = arb(scale)
    each = {
        k: (-(arb(k) ** 2) / (2 * s * s) if norm == 2 else -abs(arb(k)) / s).exp()
        for k in range(-most, most + 1)
    }
    total = sum(each.values(), arb(0))
    return {k: w / total for k, w in each.items()}


def exact_delta(epsilon: float, change: tuple[int, ...], scale: float, norm: int = 2) -> flint.arb:
    """The least delta at epsilon for noise on integers that change so: what one law has above the other."""
    law, odds, total = weights(scale, norm), arb(epsilon).exp(), arb(0)
    for at in product(law, repeat=len(change)):
        here = math.prod((law[k] for k in at), start=arb(1))
        there = math.prod((law.get(k + c, arb(0)) for k, c in zip(at, change, strict=True)), start=arb(1))
        total += max(here - odds * there, arb(0), key=lambda ball: float(ball.mid()))
    return total


@pytest.mark.quick
def test_the_delta_of_a_changed_count_is_exact_and_rounded_up(subtests: pytest.Subtests):
    for scale, change in product([0.3, 1.0, 4.25], [1, 2, 5]):
        with subtests.test(scale=scale, change=change):
            for epsilon in (0.1, 1.0, 3.0):
                exact = exact_delta(epsilon, (change,), scale)
                claimed = arb(str(discrete_gaussian_delta(epsilon, change, scale)))
                assert claimed >= exact * (1 - arb("1e-50")) - arb("1e-55")
                assert claimed <= exact * (1 + arb("1e-15")) + arb("1e-55")
                # Smaller changes cost less.
                assert all(exact_delta(epsilon, (c,), scale) <= claimed for c in range(1, change))


@pytest.mark.quick
def test_the_delta_of_continuous_noise_is_exact_and_rounded_up():
    def tail(x: flint.arb) -> flint.arb:
        return (x / arb(2).sqrt()).erfc() / 2

    for epsilon, mu in product((0.01, 1.0, 5.0, 50.0), ("0.05", "0.2367", "1", "1.9", "3", "12")):
        m = arb(mu)
        exact = tail(epsilon / m - m / 2) - arb(epsilon).exp() * tail(epsilon / m + m / 2)
        claimed = arb(str(gaussian_delta(epsilon, Decimal(mu))))
        assert exact <= claimed <= exact * (1 + arb("1e-20"))


@pytest.mark.quick
def test_discrete_noise_is_as_near_to_rounded_noise_as_the_proof_says(subtests: pytest.Subtests):
    for scale in [1.0, 1.5, 7.3, 60.0]:
        with subtests.test(scale=scale):
            unit = arb(scale) * arb(2).sqrt()
            apart = arb(0)
            for k, weight in weights(scale).items():
                above, below = ((arb(k + half) / unit).erfc() / 2 for half in (0.5, -0.5))
                apart += abs(weight - (below - above)) / 2
            found = GAUSSIAN.distance([Part(1, 1, 1, scale)], 1.0)
            assert apart <= found <= 4 * float(apart.mid())
            both = [Part(3, 1, 1, scale), Part(2, 1, 1, scale)]
            assert GAUSSIAN.distance(both, 1.0) == pytest.approx(5 * found)
    # Where the proof does not hold every row counts whole.
    assert GAUSSIAN.distance([Part(3, 1, 1, 0.99)], 1.0) == pytest.approx(3.0)


def test_a_histogram_claims_the_exact_epsilon(subtests: pytest.Subtests):
    """Whole counts at their own scale; a tenth of a percent less noise would not be enough."""
    for epsilon, counts in ((0.5, [1, 1, 1, 1]), (1.0, [1, 1, 1, 1]), (2.0, [1, 2, 3, 1])):
        with subtests.test(epsilon=epsilon, counts=counts):
            matrix, change = np.diag(counts), (max(counts),)
            found = plan(CELLS, Strategy(matrix), Privacy(epsilon=epsilon, delta=1e-6))
            scale = found.parts[0].relative * found.scale
            assert found.fineness == 0 and (found.integer.matrix == matrix).all()
            assert "Theorem 7" in found.theorem
            assert exact_delta(found.epsilon, change, scale) <= 1e-6
            assert exact_delta(0.999 * found.epsilon, change, scale) > 1e-6
            assert found.epsilon <= epsilon
            if epsilon == 1.0:
                assert scale**2 == pytest.approx(17.9, rel=1e-3)


def test_several_counts_that_change_together_claim_no_less_than_they_cost():
    """Replaced rows change two cells, a total changes with its cells: not the theorem for one count."""
    for epsilon, delta in ((2.0, 1e-3), (1.0, 1e-6)):
        found = plan(CELLS, Strategy(np.eye(4)), Privacy(epsilon, delta), "replace-one")
        least = continuous_gaussian_scale(epsilon, delta, 2**0.5)
        assert least * (1 - 1e-9) <= found.noise <= least * (1 + 1e-6)
        # On the integers themselves this much noise would not do.
        assert found.fineness > 20 and exact_delta(epsilon, (1, -1), found.noise) > delta
        implied = plan(CELLS, Strategy(np.eye(4)), Privacy(rho=found.rho), "replace-one")
        assert implied.fineness == 0
        assert exact_delta(zcdp_epsilon(implied.rho, delta), (1, -1), implied.noise) <= delta


def test_laplace_noise_on_counts_is_the_geometric_mechanism(subtests: pytest.Subtests):
    for epsilon in [0.5, 1.0, 3.0, 5.0]:
        with subtests.test(epsilon=epsilon):
            found = plan(CELLS, Strategy(np.eye(4), 1), Privacy(epsilon=epsilon))
            np.testing.assert_allclose(
                found.standard_errors, math.sqrt(0.5) / math.sinh(epsilon / 2), rtol=1e-12
            )
            assert exact_delta(found.epsilon, (1,), found.scale, norm=1) < arb("1e-50")
            assert exact_delta(0.999 * found.epsilon, (1,), found.scale, norm=1) > 0


def test_dense_strategies_have_the_noise_of_balle_and_wang(subtests: pytest.Subtests):
    for privacy in [Privacy(epsilon=1.0, delta=1e-6), Privacy(epsilon=0.1, delta=1e-9)]:
        with subtests.test(privacy=privacy):
            rng = np.random.default_rng(2)
            strategy = Strategy(np.tri(4) + rng.uniform(0, 0.3, (4, 4)))
            found = plan(CELLS, strategy, privacy)
            best = GAUSSIAN.continuous.scale(privacy, strategy.sensitivity)
            assert best * (1 - 1e-9) <= found.noise <= best * (1 + 1e-6)
            assert "Balle and Wang" in found.theorem
            # The same as one rho per row of two counts: a finer lattice, and no zCDP.
            pairs = np.vstack([np.eye(4), np.kron(np.eye(2), np.ones(2))])
            finer = plan(Workload.from_matrix(pairs), Strategy(pairs / math.sqrt(2)), privacy)
            assert finer.noise == pytest.approx(best / strategy.sensitivity, rel=1e-6)


def test_both_laws_are_apart_in_the_delta_for_continuous_noise(subtests: pytest.Subtests):
    """P of one table and e^epsilon times P of the other: the distance is added for each."""
    for scale in [1.5, 4.0]:
        with subtests.test(scale=scale):
            integer = round_any(Strategy(np.eye(4)), CELLS, "replace-one")
            ((_, bound),) = GAUSSIAN.deltas(integer.parts)
            own = scale * integer.parts[0].relative
            apart = (1 + math.e) * GAUSSIAN.distance(integer.parts, scale)
            exact = gaussian_delta(1.0, Decimal(2).sqrt() / Decimal(own))
            assert float(exact) + apart <= float(bound(1.0, scale)) <= (float(exact) + apart) * (1 + 1e-9)
            assert exact_delta(1.0, (1, -1), own) <= arb(str(bound(1.0, scale)))


@pytest.mark.quick
def test_only_a_single_count_that_changes_alone_has_its_theorem():
    """Marginals and products: with several columns of an entry, or rows replaced, more than one changes."""
    cells = Workload.from_products(domain_of(2, 3), [Product((identity(2), identity(3)))])
    both = np.array([[1.0, 1.0], [0.0, 1.0]])
    forms = {
        "marginals": MarginalStrategy((2, 3), np.array([0.0, 0.0, 0.0, 1.0]), 2),
        "products": ProductStrategy((Strategy(np.eye(2)), Strategy(np.eye(3)))),
        "a sum": ProductStrategy((Strategy(both / math.sqrt(2)), Strategy(np.eye(3)))),
    }
    alone = {
        (name, neighbours): [part.is_one_count for part in round_any(own, cells, neighbours).parts]
        for name, own in forms.items()
        for neighbours in ("add-remove", "replace-one")
    }
    assert {key for key, found in alone.items() if found == [True]} == {
        ("marginals", "add-remove"),
        ("products", "add-remove"),
    }
    several = round_any(MarginalStrategy((2, 3), np.array([0.0, 0.5, 0.0, 0.5]), 2), cells, "add-remove")
    assert [part.is_one_count for part in several.parts] == [True, True]
    assert len(GAUSSIAN.deltas(several.parts)) == 1


def test_no_release_claims_more_epsilon_than_it_is_allowed(subtests: pytest.Subtests, rng):
    """Beyond epsilon 10 the bound on delta may grow with epsilon: it counts what discrete noise is off by."""
    for neighbours in ["add-remove", "replace-one"]:
        with subtests.test(neighbours=neighbours):
            for _ in range(5):
                workload = Workload.from_matrix(np.tri(8))
                strategy = Strategy(np.tri(8) + rng.normal(size=(8, 8)))
                privacy = Privacy(epsilon=rng.uniform(8.0, 30.0), delta=10.0 ** -rng.uniform(1.0, 12.0))
                planned = plan(workload, strategy, privacy, neighbours)
                assert planned.epsilon <= privacy.epsilon, (planned.epsilon, privacy)


@pytest.mark.quick
def test_no_digit_more_is_claimed_either(subtests: pytest.Subtests):
    """In floats a smaller rho may imply an epsilon that is larger in its last digit: here two below do."""
    for epsilon, delta in [
        (15.739954809977505, 1.2544197702014191e-12),
        (38.08814662772863, 0.020496754628958194),
    ]:
        with subtests.test(epsilon=epsilon, delta=delta):
            allowed = zcdp_rho(epsilon, delta)
            assert zcdp_epsilon(math.nextafter(allowed, 0.0), delta) > epsilon
            integer = round_any(Strategy(np.tri(8)), Workload.from_matrix(np.tri(8)), "add-remove")
            scale = least_scale(GAUSSIAN, integer, 0, allowed)
            for _ in range(9):
                assert approximate_epsilon(GAUSSIAN, integer, 0, scale, delta, epsilon)[0] <= epsilon
                scale = math.nextafter(scale, math.inf)
