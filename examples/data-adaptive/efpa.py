"""EFPA on a line of cells (Ács, Castelluccia, Chen: ICDM 2012). SIMULATION ONLY.

The counts are written in the real Fourier basis, whose columns are orthonormal; the first m coefficients,
those of the lowest frequencies, are kept and get Laplace noise, the others are 0. The exponential mechanism
chooses m: its score is the norm of what is left out and the root of the expected squared noise, √2 √m s/ε₂,
where s is the largest L1 norm by which a row moves the first m coefficients. In the paper s = √m;
``exact_sensitivities`` has the s of the basis itself, at most m/√n.

Privacy (a row more or less). The noise in the score does not depend on the data. A row moves the counts by a
vector of norm 1, so the norm of any part of their coefficients by at most 1: choosing m with chances in
proportion to exp(-ε₁ score / 2) is ε₁-private. Given m, a row moves the kept coefficients by at most s in the
L1 norm, and s <= √m by Cauchy and Schwarz: with Laplace noise of scale s/ε₂ they are ε₂-private. The two
compose.

The authors' code as ``dpcomp_core`` has it (``authors_release``) is *not* private at any ε: noise goes on the
lengths of the complex coefficients alone, their angles are published as they are. Take the counts 6, 0, 0, 0
and 6, 1, 0, 0. Where the second coefficient is kept, which at ε = 1 has a chance of 0.71 for either, it is
real for the first table and surely not for the second.

The noise is numpy's, in floating point: nothing here may be used on data that are not known.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = [
    "SHARE",
    "authors_release",
    "basis",
    "chances",
    "exact_sensitivities",
    "expected_error",
    "kept",
    "paper_sensitivities",
]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHARE = 0.5  # of ε, for the choice of m


def basis(n: int) -> Array:
    """Q (n, n), orthonormal: the constant, then cosine and sine of each frequency; of n/2 the cosine only."""
    at = 2.0 * np.pi * np.arange(n) / n
    columns = [np.ones(n)]
    for frequency in range(1, n // 2 + 1):
        columns.append(np.cos(frequency * at))
        if 2 * frequency < n:
            columns.append(np.sin(frequency * at))
    Q = np.stack(columns, axis=1)
    return np.asarray(Q / np.linalg.norm(Q, axis=0))


def kept(n: int) -> Ints:
    """Numbers of coefficients that may be kept: whole frequencies, from the constant to all n."""
    return np.unique([*range(1, n + 1, 2), n])


def paper_sensitivities(n: int) -> Array:
    """√m for each number m that may be kept."""
    return np.sqrt(kept(n))


def exact_sensitivities(n: int) -> Array:
    """The largest L1 norm of the first m entries of a row of Q, for each number m that may be kept."""
    return np.asarray(np.cumsum(np.abs(basis(n)), axis=1).max(axis=0)[kept(n) - 1])


def chances(x: Array, first: float, second: float, sensitivities: Array) -> Array:
    """The chance of each number of ``kept`` at ε₁ = ``first``, ε₂ = ``second``, for counts x (n,)."""
    n = len(x)
    squares = np.square(x @ basis(n))
    # Summed from the end: what is left out is never a difference of large numbers.
    left_out = np.sqrt(np.append(np.cumsum(squares[::-1])[::-1], 0.0)[kept(n)])
    scores = left_out + np.sqrt(2.0 * kept(n)) * sensitivities / second
    weights = np.exp(-first * (scores - scores.min()) / 2.0)
    return np.asarray(weights / weights.sum())


def expected_error(W: Array, x: Array, epsilon: float, sensitivities: Array) -> float:
    """The mean over queries W (m, n) of the expected squared error, over the choice and the noise."""
    n = len(x)
    first, second = SHARE * epsilon, (1.0 - SHARE) * epsilon
    Q = basis(n)
    answers = W @ Q
    missing = np.cumsum((answers * (x @ Q))[:, ::-1], axis=1)[:, ::-1]
    bias = np.append(np.square(missing).mean(axis=0), 0.0)[kept(n)]
    # Of Laplace noise of scale s the variance is 2 s².
    noise = np.cumsum(np.square(answers).mean(axis=0))[kept(n) - 1] * 2.0 * np.square(sensitivities / second)
    return float(chances(x, first, second, sensitivities) @ (bias + noise))


def authors_release(x: npt.ArrayLike, epsilon: float, rng: np.random.Generator) -> Array:
    """Counts (n,) as the authors' code publishes them: not private, see above."""
    counts = np.asarray(x, dtype=float)
    n, half = len(counts), epsilon / 2.0
    coefficients = np.fft.rfft(counts)
    numbers = kept(n)
    squares = n * np.square(counts @ basis(n))
    left_out = np.sqrt(np.append(np.cumsum(squares[::-1])[::-1], 0.0)[numbers])
    scores = left_out + math.sqrt(2.0) * numbers / half
    choice = int(np.argmax(-half * scores / 2.0 + rng.gumbel(size=len(numbers))))
    lengths = np.abs(coefficients) + rng.laplace(
        scale=math.sqrt(numbers[choice]) / half, size=len(coefficients)
    )
    noisy = lengths * np.exp(1j * np.angle(coefficients))
    noisy[choice + 1 :] = 0.0
    return np.asarray(np.fft.irfft(noisy, n))
