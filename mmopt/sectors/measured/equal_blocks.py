"""Matrices on queries of at most two of k equal attributes that commute with all permutations of these.

Functions are numbered as in a ``SectorLayout`` of all sets of at most two attributes: 1, c of each attribute,
c² of each pair i < j. Such a matrix is known in two ways:

- by *blocks*: ``blocks[a, b, o]`` (cᵃ, cᵇ) is what the row of a set of a attributes has in the column of one
  of b attributes, o of them in both; those come first in both sets, in the same order. 14 blocks in all.
- by *components*: in coordinates where it is four matrices, each as often as the multiplicity of its
  component: trivial (1 + c + sym), standard (c + sym + alt; k - 1 times), sym (k(k-3)/2), alt
  ((k-1)(k-2)/2), with sym = c(c+1)/2 symmetric and alt = c(c-1)/2 antisymmetric products.

For the coefficients V_ij (c, c) of a pair, V_ji = V_ijᵀ, S the symmetric and A the antisymmetric part:
S_ij = m + a_i + a_j + r_ij, A_ij = c_i - c_j + ρ_ij with sums of zero. Orthonormal coordinates are of the
trivial component (v₀, √k mean v_i, √(k(k-1)/2) m), of the standard (v_i - mean, √(k-2) a_i, √k c_i), then r
and ρ. The formulas below are these coordinates written out. With k = 2 the standard component has no sym
and the last two are not there: their parts are kept, and have no effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.numerics.arrays import Array

__all__ = [
    "KINDS",
    "NAMES",
    "Blocks",
    "Components",
    "Numbers",
    "applied",
    "between",
    "blocks_of",
    "components_of",
    "pair_basis",
    "symmetrised",
]

Numbers = npt.NDArray[Any]
Blocks = Mapping[tuple[int, int, int], Numbers]

NAMES = ("trivial", "standard", "sym", "alt")
"""Of the components, in order."""

KINDS = tuple((a, b, o) for a in range(3) for b in range(3) for o in range(min(a, b) + 1))
"""Of the blocks: attributes of the row's set, of the column's, in both."""

Components = tuple[Array, Array, Array, Array]


def pair_basis(c: int) -> tuple[Array, Array]:
    """Orthonormal bases of symmetric (s, c²) and antisymmetric (t, c²) matrices.

    Symmetric: e_ab + e_ba over √2 for a < b and e_aa, antisymmetric: e_ab - e_ba over √2, both in row-major
    order of (a, b).
    """
    rows, columns = np.triu_indices(c)
    sym = np.zeros((len(rows), c, c))
    at = np.arange(len(rows))
    sym[at, rows, columns] = sym[at, columns, rows] = np.where(rows == columns, 1.0, math.sqrt(0.5))
    rows, columns = np.triu_indices(c, 1)
    alt = np.zeros((len(rows), c, c))
    at = np.arange(len(rows))
    alt[at, rows, columns], alt[at, columns, rows] = math.sqrt(0.5), -math.sqrt(0.5)
    return sym.reshape(-1, c * c), alt.reshape(-1, c * c)


def _over_root(value: float, k: int) -> float:
    """A number over √k; 0 for k = 0, where what it multiplies is not there."""
    return value / math.sqrt(k) if k else 0.0


def blocks_of(k: int, components: Components) -> Blocks:
    """From components to blocks; zero where there are not as many attributes as a block is about."""
    trivial, standard, sym, alt = components
    sym, alt = sym * (k > 3), alt * (k > 2)  # what is not there is not left to cancel
    s, t = len(sym), len(alt)
    c = s - t
    js, ja = pair_basis(c)
    pairs = k * (k - 1) / 2
    t00, t01, t02 = trivial[0, 0], trivial[0, 1 : 1 + c], trivial[0, 1 + c :]
    t10, t11, t12 = trivial[1 : 1 + c, 0], trivial[1 : 1 + c, 1 : 1 + c], trivial[1 : 1 + c, 1 + c :]
    t20, t21, t22 = trivial[1 + c :, 0], trivial[1 + c :, 1 : 1 + c], trivial[1 + c :, 1 + c :]
    cut = (slice(0, c), slice(c, c + s), slice(c + s, c + s + t))
    (d11, d12, d13), (d21, d22, d23), (d31, d32, d33) = ([standard[a, b] for b in cut] for a in cut)
    root, mixed = math.sqrt(k * pairs), _over_root(1 / math.sqrt(k), k - 2)
    share_in, share_off = math.sqrt(k - 2) / k, _over_root(-2 / k, k - 2)
    mean11, mean12, mean21 = (t11 - d11) / k, t12 / root, t21 / root

    def overlapping(o: int) -> Array:
        """Symmetric to symmetric products of pairs with o attributes in common."""
        of_one = (o - 4 / k) / (k - 2) if k > 2 else 0.0
        return np.asarray(t22 / pairs + d22 * of_one + sym * ((o == 2) - 1 / pairs - of_one))

    blocks = {
        (0, 0, 0): np.array([[t00]]),
        (0, 1, 0): t01[None] / math.sqrt(k),
        (0, 2, 0): t02[None] @ js / math.sqrt(pairs),
        (1, 0, 0): t10[:, None] / math.sqrt(k),
        (1, 1, 1): d11 + mean11,
        (1, 1, 0): mean11,
        (1, 2, 1): (mean12 + d12 * share_in) @ js + d13 @ ja / math.sqrt(k),
        (1, 2, 0): (mean12 + d12 * share_off) @ js,
        (2, 0, 0): (js.T @ t20)[:, None] / math.sqrt(pairs),
        (2, 1, 1): js.T @ (mean21 + d21 * share_in) + ja.T @ d31 / math.sqrt(k),
        (2, 1, 0): js.T @ (mean21 + d21 * share_off),
        (2, 2, 2): js.T @ overlapping(2) @ js + ja.T @ (d33 * 2 / k + alt * (1 - 2 / k)) @ ja,
        (2, 2, 1): js.T @ overlapping(1) @ js
        + mixed * (js.T @ d23 @ ja + ja.T @ d32 @ js)
        + ja.T @ (d33 - alt) @ ja / k,
        (2, 2, 0): js.T @ overlapping(0) @ js,
    }
    return {kind: block if k >= sum(kind[:2]) - kind[2] else 0.0 * block for kind, block in blocks.items()}


def components_of(k: int, blocks: Blocks) -> Components:
    """From blocks, of whole or real numbers, to components; the inverse of ``blocks_of``."""
    real = {key: block.astype(np.float64) for key, block in blocks.items()}
    c = len(real[1, 0, 0])
    js, ja = pair_basis(c)
    pairs, others = k * (k - 1) / 2, (k - 1) * (k - 2) / 2
    in12, off12, in21, off21 = real[1, 2, 1], real[1, 2, 0], real[2, 1, 1], real[2, 1, 0]
    s2, s1, s0 = (js @ real[2, 2, o] @ js.T for o in (2, 1, 0))
    a2, a1 = (ja @ real[2, 2, o] @ ja.T for o in (2, 1))
    more, scale = math.sqrt(k - 2), math.sqrt(k / pairs)
    trivial = np.block(
        [
            [real[0, 0, 0], math.sqrt(k) * real[0, 1, 0], math.sqrt(pairs) * real[0, 2, 0] @ js.T],
            [
                math.sqrt(k) * real[1, 0, 0],
                real[1, 1, 1] + (k - 1) * real[1, 1, 0],
                scale * ((k - 1) * in12 + others * off12) @ js.T,
            ],
            [
                math.sqrt(pairs) * js @ real[2, 0, 0],
                scale * js @ ((k - 1) * in21 + others * off21),
                s2 + 2 * (k - 2) * s1 + (k - 2) * (k - 3) / 2 * s0,
            ],
        ]
    )
    mixed = math.sqrt(k * (k - 2))
    standard = np.block(
        [
            [real[1, 1, 1] - real[1, 1, 0], more * (in12 - off12) @ js.T, math.sqrt(k) * in12 @ ja.T],
            [
                more * js @ (in21 - off21),
                s2 + (k - 4) * s1 - (k - 3) * s0 if k > 2 else np.eye(len(js)),
                mixed * js @ real[2, 2, 1] @ ja.T,
            ],
            [math.sqrt(k) * ja @ in21, mixed * ja @ real[2, 2, 1] @ js.T, a2 + (k - 2) * a1],
        ]
    )
    sym = s2 - 2 * s1 + s0 if k > 3 else np.eye(len(js))
    alt = a2 - 2 * a1 if k > 2 else np.eye(len(ja))
    return trivial, standard, sym, alt


def applied(blocks: Blocks, k: int, vector: Numbers) -> Numbers:
    """The matrix times a vector (r,), in the numbers that both have: sums over pairs, O(k² c²) numbers.

    Whole numbers are added modulo 2⁶⁴, which is exact where the result is below 2⁶³ in size.
    """
    c = len(blocks[1, 0, 0])
    first, second = np.triu_indices(k, 1)
    one, two = vector[1 : 1 + k * c].reshape(k, c), vector[1 + k * c :].reshape(-1, c * c)
    turned = _turned(two, c)
    touching = np.zeros((k, c * c), dtype=vector.dtype)  # pairs of i, with i first
    np.add.at(touching, first, two)
    np.add.at(touching, second, turned)
    ones, twos = one.sum(axis=0), two.sum(axis=0)
    none = blocks[0, 0, 0][:, 0] * vector[0] + blocks[0, 1, 0] @ ones + blocks[0, 2, 0] @ twos
    mean = blocks[1, 0, 0][:, 0] * vector[0] + blocks[1, 1, 0] @ ones + blocks[1, 2, 0] @ twos
    own = (
        mean + one @ (blocks[1, 1, 1] - blocks[1, 1, 0]).T + touching @ (blocks[1, 2, 1] - blocks[1, 2, 0]).T
    )
    mean = blocks[2, 0, 0][:, 0] * vector[0] + blocks[2, 1, 0] @ ones + blocks[2, 2, 0] @ twos
    shared, apart = blocks[2, 2, 1], blocks[2, 2, 0]
    # What an attribute of the pair adds, with that attribute first.
    each = one @ blocks[2, 1, 1].T + touching @ shared.T
    less = one @ blocks[2, 1, 0].T + touching @ apart.T
    pair = mean + two @ (blocks[2, 2, 2] - shared + apart).T - _turned(turned @ shared.T, c)
    pair = pair + each[first] + _turned(each[second], c) - less[first] - less[second]
    return np.concatenate([none, own.ravel(), pair.ravel()])


def _turned(pairs: Numbers, c: int) -> Numbers:
    """(…, c²) the coefficients of (j, i) for those of (i, j)."""
    return np.ascontiguousarray(np.swapaxes(pairs.reshape(-1, c, c), 1, 2)).reshape(pairs.shape)


def between(blocks: Blocks, rows: tuple[int, ...], columns: tuple[int, ...]) -> Numbers:
    """The part (cᵃ, cᵇ) of the matrix for two sets of attributes, each in its own order."""
    both = [i for i in rows if i in columns]
    c = len(blocks[1, 0, 0])
    block = blocks[len(rows), len(columns), len(both)]
    one, other = ([*both, *(i for i in own if i not in both)] for own in (rows, columns))
    axes = [one.index(i) for i in rows] + [len(rows) + other.index(i) for i in columns]
    tensor = block.reshape((c,) * (len(rows) + len(columns)))
    return np.transpose(tensor, axes).reshape(block.shape)


def symmetrised(blocks: Blocks) -> Blocks:
    """The blocks with what must be equal exactly equal, before they are rounded one by one."""
    c = len(blocks[1, 0, 0])

    def rows(block: Array) -> Array:
        return (block + _turned(block.T, c).T) / 2

    def columns(block: Array) -> Array:
        return (block + _turned(block, c)) / 2

    found = dict(blocks)
    for key in ((0, 2, 0), (1, 2, 0)):
        found[key] = columns(blocks[key])
    for key in ((2, 0, 0), (2, 1, 0)):
        found[key] = rows(blocks[key])
    found[2, 2, 0] = columns(rows(blocks[2, 2, 0]))
    found[2, 2, 2] = (blocks[2, 2, 2] + _turned(_turned(blocks[2, 2, 2], c).T, c).T) / 2
    return found
