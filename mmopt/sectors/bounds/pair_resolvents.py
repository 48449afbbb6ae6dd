"""Resolvents of the Gram matrix of queries of at most two attributes, by a Schur complement of its low block.

(K + s)⁻¹ of the arrow K of ``pair_gram.py``: the pairs' blocks are diagonal in their own vectors, so they are
eliminated one by one, O(dᵢ dⱼ (dᵢ + dⱼ)) each, and there is one dense inverse of size 1 + Σ(dᵢ - 1).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import Array
from mmopt.sectors.bounds.pair_gram import PairGram, PairProduct, Reduced

__all__ = ["resolvent"]


def resolvent(gram: PairGram, shift: float) -> tuple[float, Reduced]:
    """tr K (K + s)⁻¹, and (K + s)⁻¹; s > 0."""
    schur, twice = gram.low + shift * np.eye(len(gram.low)), np.eye(len(gram.low))
    share = float(len(gram.low))
    for p in gram.pairs:
        inverse = _inverse(p, shift)
        share += float((1 - shift * inverse).sum())
        _fold(gram, schur, p, -(p.weight**2) * inverse)
        _fold(gram, twice, p, (p.weight * inverse) ** 2)
    z = scipy.linalg.inv(schur)
    z = (z + z.T) / 2
    of_low = float(np.vdot(z, twice))
    slopes = [z[0, place].copy() for place in gram.places]
    squares = [z[place, place].copy() for place in gram.places]
    trace = of_low
    for p in gram.pairs:
        inverse = _inverse(p, shift)
        trace += float(inverse.sum())
        for at in (0, 1):
            _reduce(gram, slopes, squares, p, at, inverse if at == 0 else inverse.T, z)
    return share - shift * of_low, Reduced(trace, tuple(slopes), tuple(squares))


def _inverse(p: PairProduct, shift: float) -> Array:
    left, right = p.factors
    return 1 / (p.weight * np.multiply.outer(left.values, right.values) + shift)


def _fold(gram: PairGram, into: Array, p: PairProduct, middle: Array) -> None:
    """Add Xᵀ diag(middle) X, X the columns of the pair's block at {}, {i}, {j}, each over its weight."""
    (i, j), (left, right) = p.attributes, p.factors
    of_left, of_right = middle @ right.slopes**2, left.slopes**2 @ middle
    into[0, 0] += of_left @ left.slopes**2
    for at, own, sums in ((i, left, of_left), (j, right, of_right)):
        place = gram.places[at]
        line = own.turn @ (own.values * own.slopes * sums)
        into[0, place] += line
        into[place, 0] += line
        into[place, place] += (own.turn * (own.values**2 * sums)) @ own.turn.T
    across = np.multiply.outer(left.values * left.slopes, right.values * right.slopes) * middle
    across = left.turn @ across @ right.turn.T
    into[gram.places[i], gram.places[j]] += across
    into[gram.places[j], gram.places[i]] += across.T


def _reduce(
    gram: PairGram,
    slopes: list[Array],
    squares: list[Array],
    p: PairProduct,
    at: int,
    inverse: Array,
    z: Array,
) -> None:
    """Add what the pair's own block of the resolvent and its block with the other attribute give to one.

    inverse : (c, c') of the pair's block, this attribute first. z : the inverse of the Schur complement.
    """
    own, other = p.factors[at], p.factors[1 - at]
    here, there = (gram.places[p.attributes[side]] for side in (at, 1 - at))
    z_own = z[0, here] @ own.turn
    z_other = z[0, there] @ other.turn
    z_square = own.turn.T @ z[here, here] @ own.turn
    z_across = own.turn.T @ z[here, there] @ other.turn
    z_there = np.einsum("ab,ab->b", other.turn, z[there, there] @ other.turn)
    g, v, h, u = own.slopes, own.values, other.slopes, other.values
    met = inverse * z_across
    slope = g * (inverse @ (h * z_other + u * z_there)) + v * (met @ h)
    weights = np.stack([h**2, z[0, 0] * h**2 + 2 * h * u * z_other + u**2 * z_there])
    plain, mixed = ((inverse * row) @ inverse.T for row in weights)
    crossed = np.multiply.outer(v, g) * ((met * (h * u)) @ inverse.T)
    crossed += np.multiply.outer(v * z_own, g) * plain
    square = np.multiply.outer(g, g) * mixed + np.multiply.outer(v, v) * z_square * plain
    square += crossed + crossed.T
    square = p.weight**2 * square + np.diag(inverse.sum(axis=1))
    slopes[p.attributes[at]] -= p.weight * (own.turn @ slope)
    squares[p.attributes[at]] += own.turn @ square @ own.turn.T
