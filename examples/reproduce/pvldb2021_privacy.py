"""PVLDB 2021, sections 2 and 3.1 to 3.2: what a linear query mechanism is, and what it costs in privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.integrate
import scipy.stats
from item import Item, Row, worst
from numpy.typing import NDArray

from mmopt import Strategy, Workload
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_delta

__all__ = ["ITEMS", "TRIALS", "random_covariance", "random_queries"]

Array = NDArray[np.float64]
Random = np.random.Generator
TRIALS = 20

B_1 = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
B_2 = np.vstack([B_1, [1.0, 0.0, 1.0]])


def random_covariance(rng: Random, n: int) -> Array:
    """Positive definite, eigenvalues at least 1."""
    root = rng.normal(size=(n, n))
    return np.asarray(root @ root.T + np.eye(n))


def random_queries(rng: Random, n: int) -> Array:
    """The cells and a few random queries, so that all of x is asked for."""
    return np.vstack([np.eye(n), rng.normal(size=(int(rng.integers(1, 4)), n))])


def random_basis(rng: Random, n: int) -> Array:
    """Invertible, and not nearly singular: formulas are compared to nine digits."""
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return np.asarray(rotation * rng.uniform(0.5, 2.0, size=n))


def neighbours(rng: Random, n: int) -> tuple[Array, list[Array]]:
    """A data vector, and all that have a row more or less."""
    x = rng.integers(1, 50, size=n).astype(float)
    return x, [x + sign * cell for cell in np.eye(n) for sign in (1, -1)]


def printed_delta(epsilon: float, cost: float) -> float:
    """The right side of Theorems 1 and 3 and of Corollary 1."""
    normal = scipy.stats.norm.cdf
    left, right = cost / 2 - epsilon / cost, -cost / 2 - epsilon / cost
    return float(normal(left) - math.exp(epsilon) * normal(right))


def measured_delta(epsilon: float, mean: float, variance: float) -> float:
    """∫ max(p - e^ε p', 0): the log ratio of p to p' is normal under p, with this mean and variance."""
    law, low = scipy.stats.norm(mean, math.sqrt(variance)), epsilon
    integral = scipy.integrate.quad(
        lambda loss: law.pdf(loss) * -math.expm1(epsilon - loss),
        low,
        max(low, mean) + 40 * math.sqrt(variance),
        points=[mean] if mean > low else None,
        epsabs=1e-13,
        limit=500,
    )
    return float(integral[0])


# -- section 2


def definition_2(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        W = rng.normal(size=(int(rng.integers(1, 6)), int(rng.integers(1, 6))))
        x, others = neighbours(rng, W.shape[1])
        largest = max(float(np.linalg.norm(W @ x - W @ other)) for other in others)
        pairs.append((largest, Strategy(W).sensitivity))
    yield worst("largest ‖W x - W x'‖₂ against the largest column norm", pairs)


def theorem_1(rng: Random) -> Iterator[Row]:
    """Independent noise of scale σ on W x, between the neighbours that it tells apart best."""
    pairs, ours, steps = [], [], []
    for _ in range(TRIALS):
        W, sigma, epsilon = rng.normal(size=(3, 4)), rng.uniform(0.5, 3), rng.uniform(0.1, 2)
        x, others = neighbours(rng, 4)
        change = max((W @ (other - x) for other in others), key=lambda d: float(d @ d)) / sigma
        cost = Strategy(W).sensitivity / sigma
        printed = printed_delta(epsilon, cost)
        pairs.append((printed, measured_delta(epsilon, float(change @ change) / 2, float(change @ change))))
        ours.append((printed, continuous_gaussian_delta(epsilon, cost)))
        steps.append((printed, printed_delta(epsilon, 1.1 * cost)))
    yield worst("least δ: the formula against the integral of max(p - e^ε p', 0)", pairs)
    yield worst("the formula against mmopt's", ours)
    yield worst("increasing: at Δ/σ ten per cent larger", steps, ">=")


# -- section 3


def definition_3(rng: Random) -> Iterator[Row]:
    """E = W x: L B = W. The variances are the diagonal of L Σ Lᵀ."""
    unbiased, variances = [], []
    for _ in range(TRIALS):
        n = int(rng.integers(2, 6))
        W, B, sigma = random_queries(rng, n), random_basis(rng, n), random_covariance(rng, n)
        L = W @ np.linalg.inv(B)
        x = rng.integers(0, 50, size=n)
        unbiased += list(zip(W @ x, L @ (B @ x), strict=True))
        found = Strategy.from_covariance(sigma, B).variances(Workload.from_matrix(W))
        variances += list(zip(np.diag(L @ sigma @ L.T), found, strict=True))
    yield worst("E L (B x + noise) against W x", unbiased)
    yield worst("diag(L Σ Lᵀ) against mmopt's variances", variances)


def two_bases(rng: Random) -> tuple[Workload, Strategy, Strategy]:
    """A mechanism on a basis B, and Σ₂ = T Σ Tᵀ on the basis T B."""
    n = int(rng.integers(2, 6))
    B, T, sigma = random_basis(rng, n), random_basis(rng, n), random_covariance(rng, n)
    queries = Workload.from_matrix(random_queries(rng, n))
    one, other = Strategy.from_covariance(sigma, B), Strategy.from_covariance(T @ sigma @ T.T, T @ B)
    return queries, one, other


def covariance_of_answers(strategy: Strategy, workload: Workload) -> Array:
    solved = workload.queries @ np.linalg.pinv(strategy.matrix)
    return np.asarray(solved @ solved.T)


def theorem_2(rng: Random) -> Iterator[Row]:
    pairs: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        queries, one, other = two_bases(rng)
        answers = (covariance_of_answers(own, queries).ravel() for own in (one, other))
        pairs += [(float(a), float(b)) for a, b in zip(*answers, strict=True)]
    yield worst("covariance of the answers, B and T B", pairs)


def theorem_3(rng: Random) -> Iterator[Row]:
    costs, deltas = [], []
    for _ in range(TRIALS):
        n, epsilon = int(rng.integers(2, 6)), rng.uniform(0.1, 2)
        sigma, basis = random_covariance(rng, n), random_basis(rng, n)
        inverse = np.linalg.inv(sigma)
        x, others = neighbours(rng, n)
        changes = [basis @ (other - x) for other in others]
        squares = [float(d @ inverse @ d) for d in changes]
        cost = math.sqrt(max(squares))
        costs.append((cost, Strategy.from_covariance(sigma, basis).sensitivity))
        deltas.append((printed_delta(epsilon, cost), measured_delta(epsilon, max(squares) / 2, max(squares))))
    yield worst("Δ_Σ over all neighbours against the sensitivity after whitening", costs)
    yield worst("least δ: the formula against the integral", deltas)


def corollary_1(rng: Random) -> Iterator[Row]:
    costs, deltas, order = [], [], []
    for _ in range(TRIALS):
        n, epsilon = int(rng.integers(2, 6)), rng.uniform(0.1, 2)
        sigma, basis = random_covariance(rng, n), random_basis(rng, n)
        inverse = np.linalg.inv(sigma)
        cost = math.sqrt(max(float(b @ inverse @ b) for b in basis.T))
        mechanism = Strategy.from_covariance(sigma, basis)
        costs.append((cost, mechanism.sensitivity))
        delta = printed_delta(epsilon, cost)
        deltas.append((delta, continuous_gaussian_delta(epsilon, mechanism.sensitivity)))
        order.append((delta, printed_delta(epsilon, 1.01 * cost)))
    yield worst("Δ_M = max √(bᵢᵀ Σ⁻¹ bᵢ) against mmopt's sensitivity", costs)
    yield worst("δ, the formula against mmopt's", deltas)
    yield worst("a larger Δ_M has a larger δ at the same ε", order, ">=")


def example_of_profiles(_: Random) -> Iterator[Row]:
    for name, basis, profile in (("M₁", B_1, "121"), ("M₂", B_2, "222")):
        mechanism = Strategy.from_covariance(np.eye(len(basis)), basis)
        yield Row(f"Δ² of {name}", max(map(float, profile)), mechanism.sensitivity**2)
        for i, (printed, ours) in enumerate(zip(profile, profile_of(mechanism), strict=True)):
            yield Row(f"{name}, personalised Δ² of x[{i}]", printed, float(ours))


def profile_of(mechanism: Strategy) -> Array:
    """Definition 4, from the strategy that the mechanism is."""
    return np.asarray(np.square(mechanism.matrix).sum(axis=0))


def definition_4(rng: Random) -> Iterator[Row]:
    entries, largest = [], []
    for _ in range(TRIALS):
        n = int(rng.integers(2, 6))
        sigma, basis = random_covariance(rng, n), random_basis(rng, n)
        mechanism = Strategy.from_covariance(sigma, basis)
        printed = np.diag(basis.T @ np.linalg.inv(sigma) @ basis)
        entries += list(zip(printed, profile_of(mechanism), strict=True))
        largest.append((float(printed.max()), mechanism.sensitivity**2))
    yield worst("bᵢᵀ Σ⁻¹ bᵢ against mmopt's profile", entries)
    yield worst("its largest entry is Δ_M²", largest)


def definition_5(_: Random) -> Iterator[Row]:
    one, other = (
        sorted(profile_of(Strategy.from_covariance(np.eye(len(b)), b)), reverse=True) for b in (B_1, B_2)
    )
    yield Row("sorted profiles of M₂ and M₁: first entries", float(other[0]), float(one[0]))
    yield Row("second entries: M₁ is the more private", float(other[1]) - 1e-6, float(one[1]), "<=")


def theorem_4(rng: Random) -> Iterator[Row]:
    pairs: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        _, one, other = two_bases(rng)
        pairs += [(float(a), float(b)) for a, b in zip(profile_of(one), profile_of(other), strict=True)]
    yield worst("profiles, B and T B", pairs)


ITEMS = (
    Item(
        "Table 1", "Table of notation.", "explained", remark="Names, no figures; mmopt's are in the glossary."
    ),
    Item(
        "Definition 1",
        "(ε, δ)-differential privacy.",
        "explained",
        remark="A definition; Theorems 1 and 3 compute the least δ from it.",
    ),
    Item("Definition 2", "The L2 sensitivity of W is its largest column norm.", "checked", definition_2),
    Item("Theorem 1", "The least δ at each ε of independent Gaussian noise.", "checked", theorem_1),
    Item("Definition 3", "A linear query mechanism: L (B x + N(0, Σ)).", "checked", definition_3),
    Item("Theorem 2", "Any basis has a mechanism of the same distribution.", "checked", theorem_2),
    Item("Theorem 3", "The least δ at each ε of correlated Gaussian noise.", "checked", theorem_3),
    Item(
        "Figure 1",
        "Curves of ε and δ for several Δ.",
        "explained",
        remark="Curves of the formula of Theorem 3, without numbers; by Corollary 1 they do not cross.",
    ),
    Item(
        "Corollary 1",
        "One number, Δ_M, decides how private a linear query mechanism is.",
        "checked",
        corollary_1,
    ),
    Item(
        "Section 3.2.1, example",
        "Two mechanisms of the same Δ and different privacy profiles.",
        "computed",
        example_of_profiles,
        remark="B₁ is the first two rows of B₂, as the text says.",
    ),
    Item("Definition 4", "The privacy profile: bᵢᵀ Σ⁻¹ bᵢ, a number a cell.", "checked", definition_4),
    Item("Theorem 4", "The privacy profile does not depend on the basis.", "checked", theorem_4),
    Item(
        "Definition 5",
        "Mechanisms are compared by their sorted profiles, in lexicographic order.",
        "checked",
        definition_5,
        remark="On the mechanisms of the example.",
    ),
)
