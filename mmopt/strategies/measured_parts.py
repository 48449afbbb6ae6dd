"""From the parts of a strategy by components of a row space to the matrices of a ``SectorStrategy``.

A component of a ``RowSpace`` has orthonormal functions, and A = C B has a matrix C_κ on each. Rests are
measured by a frame whose functions [x = v] - 1/s are Π √dᵢ times shorter. A C_κ that is not square, or that
measures some function with next to no weight, because no query asks it, gets a little of the identity: A is
then a little longer, and no query's variance is larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.errors import UnsuitableError
from mmopt.numerics.arrays import EPS, Array
from mmopt.sectors.equal.equal_attributes import EqualAttributes
from mmopt.sectors.measured.equal_operators import EqualOperator
from mmopt.sectors.measured.rest_components import RestComponent
from mmopt.sectors.measured.sector_layout import SectorLayout, sets_of
from mmopt.sectors.measured.sector_operators import DenseOperator, Operator
from mmopt.sectors.plain.plain_space import PlainSpace
from mmopt.sectors.row_space import RowSpace

__all__ = ["MeasuredParts", "measured_parts"]

ADDED = 1e-6
"""Of the mean squared length of A's columns under the uniform measure: what is added to it, at most."""


@dataclass(frozen=True, eq=False)
class MeasuredParts:
    """What a ``SectorStrategy`` is made of.

    added : each N_κ = CᵀC of it exceeds the given one by at most this in norm, outward; so a squared column
        length by at most this times the largest ‖b(x)‖².
    """

    layout: SectorLayout
    core: Operator
    rests: tuple[RestComponent, ...]
    added: float


def measured_parts(rows: RowSpace, factors: Sequence[Array]) -> MeasuredParts:
    """The matrices for C_κ (any number, d_κ) by component of ``rows``.

    Raises
    ------
    UnsuitableError : a row space of another kind.
    """
    often = rows.space.multiplicities
    total = float(often @ [float(np.square(own).sum()) for own in factors])
    least = ADDED * total / float(often @ rows.space.dims)
    found = [_invertible(own, least) for own in factors]
    cores, added = [own for own, _ in found], max(by for _, by in found)
    match rows:
        case EqualAttributes():
            layout, core = _equal(rows, cores)
            return MeasuredParts(layout, core, (), added)
        case PlainSpace():
            whole, *rests = _plain(rows, cores)
            return MeasuredParts(whole.layout, whole.core, tuple(rests), added)
        case _:
            raise UnsuitableError(f"strategies on a {type(rows).__name__} are not measured")


def _invertible(factor: Array, least: float) -> tuple[Array, float]:
    """A square factor with CᵀC >= ``least``, or the root of CᵀC + ``least``; and how far CᵀC is off."""
    gram = factor.T @ factor
    values, vectors = np.linalg.eigh(gram)
    if factor.shape[0] == factor.shape[1] and values[0] >= least:
        return factor, 0.0
    root = np.asarray((vectors * np.sqrt(np.maximum(values, 0.0) + least)) @ vectors.T)
    off = float(np.linalg.norm(root.T @ root - gram))
    rounding = (len(factor) + 2 * len(gram) + 8) * EPS
    return root, 1.01 * (off + rounding * float(np.square(factor).sum() + np.square(root).sum()))


def _plain(rows: PlainSpace, cores: Sequence[Array]) -> list[RestComponent]:
    """Its components, with sectors in the order of layouts."""
    functions = tuple(np.ascontiguousarray(own[:, 1:].T) for own in rows.functions)
    labels = tuple(basis.symmetry.orbit_of for basis in rows.bases)
    found = []
    for component, core in zip(rows.components, cores, strict=True):
        sets = sets_of(component.sectors)
        order = np.concatenate([np.arange(len(core))[component.places[one]] for one in sets])
        scale = math.sqrt(math.prod(rows.bases[i].size for i, _ in component.rests))
        layout = SectorLayout(labels, functions, sets)
        found.append(
            RestComponent(component.rests, layout, DenseOperator(scale * core[np.ix_(order, order)]))
        )
    return found


def _equal(rows: EqualAttributes, parts: Sequence[Array]) -> tuple[SectorLayout, Operator]:
    """The components that few attributes lack are filled up, and have no effect."""
    k, d = len(rows.shape), rows.shape[0]
    c = d - 1
    labels, functions = (np.arange(d),) * k, (rows.coordinates.contrasts,) * k
    found = {own.name: part for own, part in zip(rows.coordinates.components, parts, strict=True)}
    trivial, standard = found["trivial"], found["standard"]
    if rows.coordinates.order == 1:
        matrix = np.empty((1 + k * c, 1 + k * c))
        matrix[0, 0] = trivial[0, 0]
        matrix[0, 1:] = np.tile(trivial[0, 1:], k) / math.sqrt(k)
        matrix[1:, 0] = np.tile(trivial[1:, 0], k) / math.sqrt(k)
        matrix[1:, 1:] = np.kron(np.eye(k), standard) + np.tile((trivial[1:, 1:] - standard) / k, (k, k))
        return SectorLayout(labels, functions, sets_of([(i,) for i in range(k)])), DenseOperator(matrix)
    s, t = c * (c + 1) // 2, c * (c - 1) // 2
    if k == 2:  # without the symmetric part, between the two others
        whole, at = np.eye(c + s + t), np.r_[0:c, c + s : c + s + t]
        whole[np.ix_(at, at)] = standard
        standard = whole
    sym, alt = found.get("(k-2, 2)", np.eye(s)), found.get("(k-2, 1, 1)", np.eye(t))
    sets = sets_of([(i, j) for j in range(k) for i in range(j)])
    return SectorLayout(labels, functions, sets), EqualOperator(k, (trivial, standard, sym, alt))
