"""Values by component as plain numbers and arrays, and back: rows of the table in ``saved_fields``.

The cells are kept by the symmetries of the attributes that they come from: everything else of their space is
made from these again. Coordinates of queries are not kept, so that nothing on them can be lifted. Of cells
that are not listed the sizes of the components are kept: ``verify`` finds the rest from the workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.errors import ResultError
from mmopt.numerics.spanned_cells import Measure
from mmopt.numerics.split_arrays import Array, Kronecker, Level, Space, Split
from mmopt.sectors.measures import Mixture
from mmopt.symmetry.attribute_components import AttributeSymmetry
from mmopt.symmetry.joint_components import Cells, Chosen, Joint

__all__ = ["READERS", "Value", "plain_level", "plain_measure", "plain_split"]

Value = Array | Split | Level | Measure | Kronecker
Fields = dict[str, Any]

MATRIX, VECTOR, MEASURE = "matrix by component", "vector by orbit", "measure of cells"


def plain_split(value: Split) -> Fields:
    """A matrix by component as a mapping of numbers, texts and arrays."""
    return {
        "kind": MATRIX,
        "rows": _plain_space(value.rows),
        "columns": _plain_space(value.columns),
        "parts": _joined([np.asarray(p).ravel() for p in value.parts]),
    }


def plain_level(value: Level) -> Fields:
    """A vector by orbit of cells likewise."""
    return {"kind": VECTOR, "space": _plain_space(value.space), "values": np.asarray(value.values)}


def plain_measure(value: Measure) -> Fields:
    """A measure on cells that are not listed likewise: products, one factor an attribute."""
    mixture = value.mixture
    return {
        "kind": MEASURE,
        "space": _plain_space(value.space),
        "weights": np.asarray(mixture.weights),
        "factors": {str(i): np.asarray(own) for i, own in enumerate(mixture.factors)},
    }


def _require(holds: Any) -> None:
    if not holds:
        raise ResultError("its values by component do not fit together")


def _matrix(fields: Mapping[str, Any]) -> Split:
    rows, columns = _space(fields["rows"]), _space(fields["columns"])
    flat = np.asarray(fields["parts"], dtype=float)
    _require(rows.count == columns.count and np.array_equal(rows.multiplicities, columns.multiplicities))
    sizes = [r * c for r, c in zip(rows.dims, columns.dims, strict=True)]
    _require(flat.shape == (sum(sizes),))
    parts = zip(_cut(flat, sizes), rows.dims, columns.dims, strict=True)
    return Split(rows, columns, tuple(part.reshape(r, c) for part, r, c in parts))


def _vector(fields: Mapping[str, Any]) -> Level:
    space, values = _space(fields["space"]), np.asarray(fields["values"], dtype=float)
    _require(space.sizes is not None and values.shape == space.sizes.shape)
    return Level(space, values)


def _measure(fields: Mapping[str, Any]) -> Measure:
    factors = fields["factors"]
    own = tuple(np.asarray(factors[str(i)], dtype=float) for i in range(len(factors)))
    return Measure(_space(fields["space"]), Mixture(np.asarray(fields["weights"], dtype=float), own))


def _plain_space(space: Space) -> Fields:
    if isinstance(space, Cells):
        attributes = space.joint.attributes
        return {
            "attributes": np.array([len(a.classes) for a in attributes]),
            "classes": _joined([a.classes for a in attributes]),
            "counts": np.array([len(a.mirror) for a in attributes]),
            "mirrors": _joined([a.mirror for a in attributes]),
            "keys": np.array([c.key for c in space.chosen]).reshape(-1, len(attributes)),
            "dims": np.array(space.dims, dtype=np.int64),
            "kept": _joined([c.kept for c in space.chosen]),
        }
    found: Fields = {
        "multiplicities": np.asarray(space.multiplicities),
        "dims": np.array(space.dims, dtype=np.int64),
        "total": space.total,
    }
    if space.labels is not None:
        found["labels"] = _joined(space.labels)
    if space.sizes is not None:
        found["sizes"] = np.asarray(space.sizes)
    return found


def _space(fields: Mapping[str, Any]) -> Space:
    dims = tuple(int(d) for d in fields["dims"])
    _require(all(d >= 0 for d in dims))
    if "attributes" in fields:
        return _cells(fields, dims)
    multiplicities, total = np.asarray(fields["multiplicities"], dtype=float), fields["total"]
    _require(multiplicities.shape == (len(dims),) and (multiplicities >= 1).all())
    _require(total is None or isinstance(total, int))
    labels = sizes = None
    if "sizes" in fields:
        sizes = np.asarray(fields["sizes"], dtype=float)
        flat = np.asarray(fields["labels"])
        _require(sizes.ndim == 1 and (sizes >= 1).all() and flat.shape == (sum(dims),))
        _require(flat.dtype.kind == "i" and ((flat >= 0) & (flat < len(sizes))).all())
        labels = tuple(_cut(flat, dims))
    return Space(multiplicities, dims, labels, sizes, total)


def _cells(fields: Mapping[str, Any], dims: tuple[int, ...]) -> Cells:
    classes = _cut(fields["classes"], fields["attributes"])
    mirrors = _cut(fields["mirrors"], fields["counts"])
    attributes = []
    for own, mirror in zip(classes, mirrors, strict=True):
        numbers = np.arange(len(mirror))
        _require(own.dtype.kind == mirror.dtype.kind == "i" and np.array_equal(np.unique(own), numbers))
        _require(np.array_equal(np.sort(mirror), numbers) and np.array_equal(mirror[mirror], numbers))
        sizes = np.bincount(own)
        _require(np.array_equal(sizes, sizes[mirror]))
        attributes.append(AttributeSymmetry(own, mirror))
    joint = Joint(tuple(attributes))
    chosen = []
    for key, kept in zip(fields["keys"], _cut(fields["kept"], dims), strict=True):
        parts = zip(attributes, key, strict=True)
        _require(all(0 <= k < len(a.parts) for a, k in parts))
        own_key = tuple(int(k) for k in key)
        _require(kept.dtype.kind == "i" and (np.diff(kept) > 0).all())
        _require(not len(kept) or (kept[0] >= 0 and kept[-1] < joint.dim(own_key)))
        chosen.append(Chosen(own_key, kept))
    return joint.space(chosen)


def _joined(arrays: Any) -> Any:
    return np.concatenate(list(arrays)) if arrays else np.zeros(0)


def _cut(flat: Any, sizes: Any) -> list[Any]:
    """Pieces of these sizes, which have to add up."""
    _require(np.ndim(flat) == 1 and len(flat) == int(np.sum(sizes, initial=0)))
    return np.split(np.asarray(flat), np.cumsum(sizes, dtype=np.int64)[:-1])


READERS: Mapping[Any, Callable[[Mapping[str, Any]], Split | Level | Measure]] = MappingProxyType(
    {MATRIX: _matrix, VECTOR: _vector, MEASURE: _measure}
)
"""What a mapping of this kind is restored by; ResultError or one of ``UNREADABLE`` where it does not fit."""
