"""The dense array that a structured value stands for."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from mmopt.numerics.component_space import Array, Space
from mmopt.numerics.component_values import Level, Split

__all__ = ["lift"]


def lift(value: Split | Level) -> Array:
    """The dense matrix (rows.size, columns.size), or vector (space.size,), of numpy parts.

    An abstract space gets the coordinates a μ_κ + c, one component after the other.
    """
    if isinstance(value, Level):
        return np.asarray(np.asarray(value.values, dtype=float)[value.space.orbit_of()])
    out = np.zeros(value.shape)
    left, right = _bases(value.rows), _bases(value.columns)
    for at, part in enumerate(value.parts):
        copies = scipy.sparse.eye_array(int(value.multiplicities[at]))
        middle = scipy.sparse.kron(scipy.sparse.csr_array(np.asarray(part)), copies)
        out += (left[at] @ middle @ right[at].T).toarray()
    return out


def _bases(space: Space) -> list[scipy.sparse.csr_array]:
    if space.bases is not None or space.labels is not None:  # coordinates that are not known are refused
        return [scipy.sparse.csr_array(space.basis(at)) for at in range(space.count)]
    widths = [int(m) * d for m, d in zip(space.multiplicities, space.dims, strict=True)]
    starts = np.cumsum([0, *widths])
    whole = scipy.sparse.eye_array(space.size, format="csc")
    return [
        scipy.sparse.csr_array(whole[:, starts[at] : starts[at] + width]) for at, width in enumerate(widths)
    ]
