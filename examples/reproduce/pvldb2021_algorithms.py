"""PVLDB 2021, section 6: the problem without constraints (Problem 3), and the paper's algorithms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from item import Item, Row, worst
from numpy.typing import NDArray
from pvldb2021_optimum import SOLVED, covariance_of, excess, random_targets
from pvldb2021_privacy import TRIALS, random_covariance

from mmopt import Strategy, Workload, solve

__all__ = ["ITEMS"]

Array = NDArray[np.float64]
Random = np.random.Generator
INSTANCES = 4


# -- section 6.1


def penalty(strategy: Strategy, w: Workload) -> float:
    """Equation (7)."""
    return strategy.sensitivity**2 + excess(strategy, w)


def problem_3(rng: Random) -> Iterator[Row]:
    for number in range(1, INSTANCES + 1):
        w = random_targets(rng, int(rng.integers(3, 6)))
        found = solve(w, "fitness_penalty")
        others = [Strategy(rng.normal(size=(w.n + 2, w.n))) for _ in range(50)]
        scaled = [Strategy(s.matrix * (excess(s, w) / s.sensitivity**2) ** 0.25) for s in others]
        least = min(penalty(s, w) for s in scaled)
        label = f"workload {number}: equation (7), at most that of 50 drawn Σ"
        yield Row(label, least, found.objective, "<=", bound=found.bound)


def theorem_12(rng: Random) -> Iterator[Row]:
    """The value of Problem 3 is 2 √α, and its Σ after rescaling has the cost of Problem 1."""
    for number in range(1, INSTANCES + 1):
        w = random_targets(rng, int(rng.integers(3, 6)))
        one, other = solve(w, "fitness_for_use"), solve(w, "fitness_penalty")
        least = 2 * math.sqrt(one.objective)
        yield Row(f"workload {number}: 2 √α", least, other.objective, within=SOLVED, bound=other.bound)
        rescaled = covariance_of(other) / excess(other.strategy, w)
        cost = float(np.diag(np.linalg.inv(rescaled)).max())
        yield Row(f"workload {number}: α at Σ*/γ", one.objective, cost, within=SOLVED, bound=one.bound)


# -- section 6.2


def algorithm_1(_: Random) -> Iterator[Row]:
    """Prefix sums; mmopt's steps are certified each, in place of Newton's, to a precision of 10⁻⁴."""
    for d in (2, 4, 8, 16):
        w = Workload.from_matrix(np.tri(d), targets=1.0)
        best, steps = solve(w, "fitness_for_use"), solve(w, "fitness_softmax")
        label = f"d = {d}: privacy cost at the last soft maxima"
        yield Row(
            label,
            best.objective,
            excess(steps.strategy, w) * steps.sensitivity**2,
            within=2e-4,
            bound=best.bound,
        )
        room = [((d + d) / t, 2 * math.log(d) / t) for t in (1.0, 100.0, 1e6)]
        yield worst(f"d = {d}: line 6, (d + m)/t₁ covers log(d)/t₁ + log(m)/t₂", room, "<=")


def algorithm_2(rng: Random) -> Iterator[Row]:
    """HessTimesVec's identity; conjugate gradients to their end, against both steps; equation (15)."""
    pairs: list[tuple[float, float]] = []
    steps: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        A, B, C = (rng.normal(size=(3, 3)) for _ in range(3))
        left, right = np.kron(A, B) @ C.ravel(order="F"), (B @ C @ A.T).ravel(order="F")
        pairs += [(float(a), float(b)) for a, b in zip(left, right, strict=True)]
        H, g = random_covariance(rng, 6), rng.normal(size=6)
        steps += [(float(a), float(b)) for a, b in zip(-np.linalg.solve(H, g), conjugate(H, g), strict=True)]
    yield worst("(A ⊗ B) vec(C) is vec(B C Aᵀ)", pairs)
    yield worst("the search direction against -H⁻¹ ∇F", steps, within=1e-6)
    model = [float(s @ H @ s / 2 + s @ g) for s in (conjugate(H, g), -H.T @ g)]
    yield Row(
        "equation (15) at the printed -Hᵀ ∇F, against its minimum",
        model[0],
        model[1],
        why="the minimiser is -H⁻¹ ∇F (errata)",
    )


def conjugate(H: Array, g: Array) -> Array:
    """Algorithm 2 with as many rounds as unknowns, twice over."""
    s, r = np.zeros(len(g)), -g
    p, before = r, float(r @ r)
    for _ in range(2 * len(g)):
        a = before / float(p @ H @ p)
        s, r = s + a * p, r - a * (H @ p)
        after = float(r @ r)
        if after <= 1e-20:
            break
        p, before = r + after / before * p, after
    return np.asarray(s)


def section_6_3(rng: Random) -> Iterator[Row]:
    """The start for a basis that is not the identity, and where the total is asked as well."""
    basis, Q = np.triu(np.ones((5, 5))), np.vstack([np.eye(5), np.ones(5)])
    L = np.vstack([np.eye(5), rng.normal(size=(4, 5))])
    inverse = np.linalg.pinv(Q)
    wanted = Strategy(Q).variances(Workload.from_matrix(L @ basis))
    right, printed = (
        np.diag(L @ s @ L.T) for s in (basis @ inverse @ inverse.T @ basis.T, inverse @ inverse.T)
    )
    pairs = list(zip(map(float, wanted), map(float, right), strict=True))
    yield worst("variances from (B Q⁺)(B Q⁺)ᵀ", pairs)
    at = int(np.abs(printed / wanted - 1).argmax())
    why = "Q⁺(Q⁺)ᵀ is the covariance on the cells: B = I (errata)"
    yield Row("from Q⁺(Q⁺)ᵀ, as printed, worst query", float(wanted[at]), float(printed[at]), why=why)
    w = Workload.from_matrix(np.vstack([np.eye(30), np.ones(30)]), targets=1.0)
    least = 1 / Strategy(np.eye(30)).variances(w)
    why = "the least ratio is over all m queries (errata)"
    yield Row("scale over all m queries: largest variance over target", 1.0, 0.99 * excess_at(w, least), "<=")
    yield Row("over the first d, as printed", 1.0, 0.99 * excess_at(w, least[:30]), "<=", why=why)


def excess_at(w: Workload, ratios: Array) -> float:
    """The largest variance over target of noise on the cells, scaled by the least of these ratios."""
    return float(ratios.min() * (Strategy(np.eye(w.n)).variances(w) / w.targets).max())


ITEMS = (
    Item(
        "Problem 3",
        "Privacy cost plus largest ratio of variance to target, no constraints.",
        "checked",
        problem_3,
    ),
    Item("Theorem 12", "Problems 1 and 3 have the same solution.", "checked", theorem_12),
    Item(
        "Algorithm 1",
        "Soft maxima that grow sharper (SM-II).",
        "checked",
        algorithm_1,
        remark="`fitness_softmax`; Table 2 has larger d.",
    ),
    Item(
        "Algorithm 2",
        "The Newton direction by conjugate gradients (equation 15).",
        "checked",
        algorithm_2,
        errata=("Equation (15), the Newton step",),
    ),
    Item(
        "Algorithm 3",
        "Backtracking line search.",
        "explained",
        remark="The usual rule; it prints no figure. mmopt's kernel searches for the weights of cells and "
        "queries instead of the covariance, and its steps are judged by the certified gap.",
    ),
    Item(
        "Section 6.3",
        "The covariance at the start, from queries Q with independent noise.",
        "checked",
        section_6_3,
        errata=("Section 6.3, covariance at the start", "Section 6.3, scale at the start"),
    ),
)
