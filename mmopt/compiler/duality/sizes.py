"""Sizes at a point, by which numbers are divided so that they are near one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.compiler.duality.intervals import Range
from mmopt.compiler.duality.nodes import Nodes
from mmopt.numerics.arrays import Array

__all__ = ["LEAST_SCALE", "size_of", "size_of_variable", "sizes_of", "sizes_of_parts"]

LEAST_SHARE = 1e-3  # of the largest entry: what is smaller is scaled as if it were so large
LEAST_SIZE = 1e-12
LEAST_SCALE = 1e-5  # of a variable: what is smaller is taken for 0
SUMS = frozenset({"add", "sub", "neg", "sum", "trace", "diag"})


def size_of(value: Any) -> float:
    """The largest entry, where it is a number that can be divided by; else 1."""
    size = float(np.abs(value).max(initial=0.0))
    return size if LEAST_SIZE < size < 1.0 / LEAST_SIZE else 1.0


def size_of_variable(value: Any, known: Range) -> float:
    """The size of a variable: at the point, and where it is 0 there by how large it may be."""
    most = float(known.largest.max(initial=0.0))
    size = max(float(np.abs(value).max(initial=0.0)), LEAST_SHARE * most if np.isfinite(most) else 0.0)
    return size if LEAST_SCALE < size < 1.0 / LEAST_SIZE else 1.0


def sizes_of(*values: Any) -> Array:
    """The size of each entry, by the largest of several values."""
    each = np.max(np.broadcast_arrays(*(np.abs(np.nan_to_num(v)) for v in values)), axis=0)
    return np.asarray(np.maximum(each, max(LEAST_SHARE * float(each.max(initial=0.0)), LEAST_SIZE)))


def sizes_of_parts(nodes: Nodes, ranges: Mapping[str, Range]) -> list[float]:
    """Of each node the size of what it is a sum of, as what parts leave of each other says nothing."""
    found: list[float] = []
    for node in nodes.all:
        name, atom = str(getattr(node.expr, "id", "")), getattr(node.expr, "atom", "")
        parts = [found[a] for a in node.arguments]
        own = float(np.abs(np.nan_to_num(node.value)).max(initial=0.0))
        if node.kind == "variable":
            own = size_of_variable(node.value, ranges[name])
        elif atom in ("mul", "matmul"):
            own = max(own, float(np.prod(parts)))
        elif node.kind in ("index", "entries", "block") or atom in SUMS:
            own = max([own, *parts])
        found.append(own)
    return found
