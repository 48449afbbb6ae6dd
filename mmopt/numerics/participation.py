"""Sums over participation patterns: the steps of a stream in which one person may be.

A pattern is a set of at most k of the steps 0, …, n - 1, any two of them at least b apart; every subset of a
pattern is one too. Weights are not negative, so that a sum grows with the pattern, and are doubles or exact
integers: the caller makes sure that the result fits, and rounds a sum of doubles up.
"""

import math
from typing import Any, TypeVar

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints, column_norms, not_below, root_up, times_up

Numbers = TypeVar("Numbers", Array, Ints)

_ENUMERATED = 2**21  # patterns times steps up to which all patterns are tried
_NEXT_TO_NOTHING = 1e-9  # of the largest entry: no search for such a small part of a bound


def most_steps(n: int, separation: int, at_most: int) -> int:
    """The largest number of steps in a pattern."""
    return min(at_most, -(-n // separation))


def largest_sums(weights: Numbers, separation: int, at_most: int) -> Numbers:
    """max over patterns S of Σ_{i in S} w_i, for weights (…, n): (…).

    With c steps among the first t: the last step t - 1 is out, or in and the others are among the first
    t - b (dynamic programming).
    """
    n = weights.shape[-1]
    best = np.zeros((*weights.shape[:-1], n + 1), dtype=weights.dtype)
    for _ in range(most_steps(n, separation, at_most)):
        following = np.zeros_like(best)
        following[..., 1:] = weights
        following[..., separation:] += best[..., : max(0, n + 1 - separation)]
        best = np.maximum.accumulate(following, axis=-1)
    return best[..., -1]


def largest_block(weights: Numbers, separation: int, at_most: int) -> Any:
    """An upper bound on the max over patterns S of Σ_{i, j in S} w_ij, for symmetric weights (n, n).

    Exact where there are few patterns, which are all tried, or w_ij = 0 from |i - j| = b on. Else with
    h_i = max over S that have i of Σ_{j in S} w_ij, the sum over S is at most Σ_{i in S} h_i: the largest of
    these (as Choquette-Choo et al., (Amplified) Banded Matrix Factorization, NeurIPS 2023).
    Tiny entries beyond b are counted k - 1 times at their largest.
    """
    n, most = len(weights), most_steps(len(weights), separation, at_most)
    count = sum(math.comb(n - (c - 1) * (separation - 1), c) for c in range(1, most + 1))
    if count * n <= _ENUMERATED:
        return _enumerated(weights, separation, most)
    steps = np.arange(n)
    others = np.where(np.abs(steps[:, None] - steps) >= separation, weights, 0).astype(weights.dtype)
    added = (most - 1) * others.max(axis=1)  # enough where these entries are only rounding
    large = added > _NEXT_TO_NOTHING * np.diag(weights).max()
    added[large] = largest_sums(others[large], separation, most - 1)
    return largest_sums(np.diag(weights) + added, separation, most)


def _enumerated(weights: Numbers, separation: int, most: int) -> Any:
    """Every pattern, by its last step, its sum so far, and the sums of its rows."""
    steps = np.arange(len(weights))
    last, sums, rows = steps, np.diag(weights), weights
    best = sums.max()
    for _ in range(most - 1):
        place, last = np.nonzero(steps >= last[:, None] + separation)
        if not len(last):
            break
        sums = sums[place] + 2 * rows[place, last] + weights[last, last]
        rows = rows[place] + weights[last]
        best = max(best, sums.max())
    return best


def participation_norm(matrix: Array, norm: int, separation: int, at_most: int) -> float:
    """An upper bound on the norm of Σ_{i in S} a_i s_i over patterns S of columns of (p, n), |s_i| <= 1.

    Norm 1: max over S of Σ ‖a_i‖₁, exact where the columns of a pattern agree in their signs. Norm 2: the
    square is Σ_{i, j in S} s_i s_j X_ij with X = AᵀA, so at most Σ |X_ij|: ``largest_block``. That holds for
    vectors s_i of length at most 1 as well: their inner products are at most 1. Where X >= 0 it is reached,
    by s_i = 1.
    """
    exponent = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])  # against squares out of range
    scaled = np.ldexp(matrix, -exponent)
    lengths, terms = column_norms(scaled, norm), len(matrix) + 8
    most = most_steps(matrix.shape[1], separation, at_most)
    if norm == 1:
        bound = not_below(largest_sums(lengths, separation, at_most), most + 1)
    else:
        # An inner product of p terms loses less than p EPS / 2 of the product of lengths (Higham, §3.1).
        gram = np.abs(scaled.T @ scaled) + EPS * terms * np.multiply.outer(lengths, lengths)
        np.fill_diagonal(gram, times_up(lengths, lengths))
        bound = root_up(not_below(np.asarray(largest_block(gram, separation, at_most)), most * most + 8))
    with np.errstate(over="ignore"):  # infinity is a bound too
        return float(np.nextafter(np.ldexp(bound, exponent), np.inf)) if matrix.any() else 0.0
