"""PVLDB 2021, section 6: soft maxima in place of maxima (Problem 4), their gradient and Hessian."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from item import Item, Row, worst
from numpy.typing import NDArray
from pvldb2021_privacy import TRIALS, random_covariance

__all__ = ["ITEMS"]

Array = NDArray[np.float64]
Random = np.random.Generator
STEP = 1e-4
"""Of central differences, on functions of order 1."""


@dataclass(frozen=True)
class SoftMaxima:
    """Problem 4 on drawn numbers: basis B (k, n), representation L (m, k), targets c (m,), t₁ and t₂."""

    basis: Array
    representation: Array
    targets: Array
    t_1: float = 3.0
    t_2: float = 2.0

    def costs(self, sigma: Array) -> Array:
        """gᵢ = bᵢᵀ Σ⁻¹ bᵢ."""
        return np.asarray(np.einsum("ki,kl,li->i", self.basis, np.linalg.inv(sigma), self.basis))

    def ratios(self, sigma: Array) -> Array:
        """hⱼ = vⱼ Σ vⱼᵀ / cⱼ."""
        v = self.representation
        return np.asarray(np.einsum("jk,kl,jl->j", v, sigma, v) / self.targets)

    def value(self, sigma: Array) -> float:
        """Equation (8), with the exponential in both terms."""
        return soft_max(self.t_1, self.costs(sigma)) + soft_max(self.t_2, self.ratios(sigma))

    def gradients(self, sigma: Array) -> tuple[list[Array], list[Array]]:
        """Equations (9) and (11)."""
        inverse = np.linalg.inv(sigma)
        rows = zip(self.representation, self.targets, strict=True)
        return (
            [-inverse @ np.outer(b, b) @ inverse for b in self.basis.T],
            [np.outer(v, v) / c for v, c in rows],
        )

    def gradient(self, sigma: Array) -> Array:
        """Equation (13)."""
        of_costs, of_ratios = self.gradients(sigma)
        weights = share(self.t_1, self.costs(sigma)), share(self.t_2, self.ratios(sigma))
        return mean(weights[0], of_costs) + mean(weights[1], of_ratios)

    def hessian(self, sigma: Array, product: Callable[[Array, Array], Array], is_printed: bool) -> Array:
        """Equation (14), with a product of gradients; as printed t₁ is before ∇²gᵢ too."""
        inverse = np.linalg.inv(sigma)
        of_costs, of_ratios = self.gradients(sigma)
        seconds = [-np.kron(d, inverse) - np.kron(inverse, d) for d in of_costs]  # equation (10)
        size = len(sigma) ** 2
        total = np.zeros((size, size))
        for t, values, first, second in (
            (self.t_1, self.costs(sigma), of_costs, seconds),
            (self.t_2, self.ratios(sigma), of_ratios, [np.zeros((size, size))] * len(of_ratios)),
        ):
            weights, average = share(t, values), mean(share(t, values), first)
            total += (t if is_printed else 1.0) * mean(weights, second)
            total += t * (mean(weights, [product(d, d) for d in first]) - product(average, average))
        return total


def drawn(rng: Random) -> tuple[SoftMaxima, Array]:
    problem = SoftMaxima(rng.normal(size=(3, 5)), rng.normal(size=(4, 3)), rng.uniform(0.5, 2.0, size=4))
    return problem, random_covariance(rng, 3)


def soft_max(t: float, values: Array) -> float:
    return float(values.max() + math.log(np.exp(t * (values - values.max())).sum()) / t)


def share(t: float, values: Array) -> Array:
    weights = np.exp(t * (values - values.max()))
    return np.asarray(weights / weights.sum())


def mean(weights: Array, matrices: list[Array]) -> Array:
    return np.asarray(sum(w * d for w, d in zip(weights, matrices, strict=True)))


def direction(rng: Random, n: int) -> Array:
    """Symmetric, of length 1."""
    step = rng.normal(size=(n, n))
    step = step + step.T
    return np.asarray(step / np.linalg.norm(step))


def kron(a: Array, b: Array) -> Array:
    return np.asarray(np.kron(a, b))


def outer(a: Array, b: Array) -> Array:
    """vec(a) vec(b)ᵀ."""
    return np.outer(a.ravel(order="F"), b.ravel(order="F"))


def problem_4(rng: Random) -> Iterator[Row]:
    above, below = [], []
    for t in (5.0, 500.0):
        for _ in range(TRIALS):
            problem, sigma = drawn(rng)
            h = problem.ratios(sigma)
            below.append((float(h.max()), soft_max(t, h)))
            above.append((float(h.max()) + math.log(len(h)) / t, soft_max(t, h)))
    yield worst("soft max, at least the largest hⱼ", below, ">=")
    yield worst("and at most log(m)/t above it", above, "<=")
    yield Row(
        "second term as printed at t = 500, against the largest hⱼ",
        float(h.max()),
        float(np.log((500.0 * h).sum()) / 500.0),
        why="without the exponential it tends to 0 (errata)",
    )


def theorem_13(rng: Random) -> Iterator[Row]:
    """Equation (8) in the middle of two covariances; and as printed, far out on a ray."""
    pairs = []
    for _ in range(TRIALS):
        problem, low = drawn(rng)
        high = random_covariance(rng, 3)
        pairs.append(((problem.value(low) + problem.value(high)) / 2, problem.value((low + high) / 2)))
    yield worst("in the middle, at most the mean", pairs, "<=")

    def printed(scale: float) -> float:
        sigma = scale * np.eye(3)
        second = math.log((problem.t_2 * problem.ratios(sigma)).sum()) / problem.t_2
        return soft_max(problem.t_1, problem.costs(sigma)) + second

    yield Row(
        "as printed, at 200 I, at most the mean of 100 I and 300 I",
        (printed(100.0) + printed(300.0)) / 2,
        printed(200.0),
        "<=",
        why="a logarithm is concave; convex with the exponential (errata)",
    )


def equations_9_to_13(rng: Random) -> Iterator[Row]:
    """Directional derivatives by central differences."""
    first: list[tuple[float, float]] = []
    second: list[tuple[float, float]] = []
    whole: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        problem, sigma = drawn(rng)
        step = direction(rng, 3)
        there = [sigma + s * STEP * step for s in (-1, 0, 1)]
        for function, gradients in zip(
            (problem.costs, problem.ratios), problem.gradients(sigma), strict=True
        ):
            before, _, after = map(function, there)
            slopes = [float((d * step).sum()) for d in gradients]
            first += list(zip(slopes, (after - before) / (2 * STEP), strict=True))
        before, here, after = map(problem.costs, there)
        inverse, vec = np.linalg.inv(sigma), step.ravel(order="F")
        bends = [
            float(vec @ -(np.kron(d, inverse) + np.kron(inverse, d)) @ vec)
            for d in problem.gradients(sigma)[0]
        ]
        second += list(zip(bends, (before - 2 * here + after) / STEP**2, strict=True))
        slope = float((problem.gradient(sigma) * step).sum())
        whole.append((slope, (problem.value(there[2]) - problem.value(there[0])) / (2 * STEP)))
    yield worst("(9), (11): ∇gᵢ and ∇hⱼ against differences", first, within=1e-4)
    yield worst("(10): ∇²gᵢ against differences", second, within=1e-3)
    yield worst("(13): ∇F against differences", whole, within=1e-4)


def equation_14(rng: Random) -> Iterator[Row]:
    right: list[tuple[float, float]] = []
    printed: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        problem, sigma = drawn(rng)
        step = direction(rng, 3)
        values = [problem.value(sigma + s * 1e-3 * step) for s in (-1, 0, 1)]
        measured, vec = (values[0] - 2 * values[1] + values[2]) / 1e-6, step.ravel(order="F")
        right.append((measured, float(vec @ problem.hessian(sigma, outer, False) @ vec)))
        printed.append((measured, float(vec @ problem.hessian(sigma, kron, True) @ vec)))
    yield worst("∇²F with vec(·) vec(·)ᵀ against differences", right, within=1e-3)
    row = worst("as printed, with Kronecker products of gradients", printed)
    yield Row(row.label, row.paper, row.ours, why="outer products, and t₁ once, are meant (errata)")


ITEMS = (
    Item(
        "Problem 4",
        "The same with soft maxima.",
        "checked",
        problem_4,
        errata=("Problem 4, equation (8)",),
    ),
    Item(
        "Theorem 13",
        "Problem 4 is convex.",
        "checked",
        theorem_13,
        errata=("Problem 4, equation (8)",),
    ),
    Item(
        "Equations 9 to 13",
        "Gradients and second derivatives of gᵢ, hⱼ; gradient of F.",
        "checked",
        equations_9_to_13,
    ),
    Item(
        "Equation 14",
        "The Hessian of F.",
        "checked",
        equation_14,
        errata=("Equation (14), the Hessian",),
    ),
)
