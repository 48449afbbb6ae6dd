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

from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.split_arrays import Space
from mmopt.sectors.measured.rest_components import RestComponent
from mmopt.sectors.measured.sector_layout import SectorLayout, sets_of
from mmopt.sectors.row_space import RowSpace

__all__ = ["MeasuredParts", "definite_parts", "measured_parts"]

ADDED = 1e-6
"""Of the mean squared length of A's columns under the uniform measure: what is added to it, at most."""

SPARE = 1e-3  # of what is added: it is more than rounding, and than what it adds to the mean itself


@dataclass(frozen=True, eq=False)
class MeasuredParts:
    """What a ``SectorStrategy`` is made of.

    added : each N_κ = CᵀC of it exceeds the given one by at most this in norm, outward; so a squared column
        length by at most this times the largest ‖b(x)‖².
    """

    layout: SectorLayout
    core: Array
    rests: tuple[RestComponent, ...]
    added: float


def measured_parts(rows: RowSpace, factors: Sequence[Array]) -> MeasuredParts:
    """The matrices for C_κ (any number, d_κ) by component of ``rows``."""
    least = _least(rows.space, [float(np.square(own).sum()) for own in factors])
    found = [_invertible(own, least) for own in factors]
    cores, added = [own for own, _ in found], max(by for _, by in found)
    whole, *rests = _components(rows, cores)
    return MeasuredParts(whole.layout, whole.core, tuple(rests), added)


def definite_parts(space: Space, parts: Sequence[Array]) -> tuple[Array, ...]:
    """N_κ (d, d) with so much of the identity that a factor of it is measured as it is.

    A kernel that says N before anything is claimed of it has the error that is measured as its objective.
    """
    least = (1.0 + SPARE) * _least(space, [float(np.trace(own)) for own in parts])
    return tuple(_above(own, least) for own in parts)


def _above(part: Array, least: float) -> Array:
    is_above = bool(np.linalg.eigvalsh(part)[:1].min(initial=np.inf) >= least)
    return part if is_above else part + least * np.eye(len(part))


def _least(space: Space, sizes: Sequence[float]) -> float:
    """What is added, of the traces of N_κ: by dimension, of the mean squared length of a column."""
    return ADDED * float(space.multiplicities @ sizes) / float(space.multiplicities @ space.dims)


def _invertible(factor: Array, least: float) -> tuple[Array, float]:
    """A square factor with CᵀC >= ``least``, or the root of CᵀC + ``least``; and how far CᵀC is off."""
    gram = factor.T @ factor
    if factor.shape[0] == factor.shape[1] and np.linalg.eigvalsh(gram)[0] >= least:
        return factor, 0.0
    values, vectors = np.linalg.eigh(gram)
    root = np.asarray((vectors * np.sqrt(np.maximum(values, 0.0) + least)) @ vectors.T)
    off = float(np.linalg.norm(root.T @ root - gram))
    rounding = (len(factor) + 2 * len(gram) + 8) * EPS
    return root, 1.01 * (off + rounding * float(np.square(factor).sum() + np.square(root).sum()))


def _components(rows: RowSpace, cores: Sequence[Array]) -> list[RestComponent]:
    """Its components, with sectors in the order of layouts."""
    functions = tuple(np.ascontiguousarray(own[:, 1:].T) for own in rows.functions)
    labels = tuple(basis.symmetry.orbit_of for basis in rows.bases)
    found = []
    for component, core in zip(rows.components, cores, strict=True):
        sets = sets_of(component.sectors)
        order = np.concatenate([np.arange(len(core))[component.places[one]] for one in sets])
        scale = math.sqrt(math.prod(rows.bases[i].size for i, _ in component.rests))
        layout = SectorLayout(labels, functions, sets)
        found.append(RestComponent(component.rests, layout, scale * core[np.ix_(order, order)]))
    return found
