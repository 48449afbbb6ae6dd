"""What a given may come from: the arrays of a workload."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["AXES", "PSD", "SOURCES"]

# name -> what it is. The binder computes them.
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "workload.matrix": "the queries, one a row, scaled by the square root of their weight",
        "workload.root": "R with RᵀR the workload Gram: the queries up to rotation",
        "workload.gram": "WᵀW",
        "workload.weights": "a weight per query",
        "workload.targets": "largest variance allowed, per query that has a target",
        "workload.basis": "independent rows B that span the queries",
        "workload.representation": "L with W = L B, the rows of queries that have a target",
        "workload.eigenqueries": "eigenvectors of the Gram as rows, of the nonzero eigenvalues",
        "workload.eigenvalues": "the nonzero eigenvalues of the Gram",
    }
)

# name -> what its entries are counted by, one word per dimension
AXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "workload.matrix": ("query", "cell"),
        "workload.root": ("rank", "cell"),
        "workload.gram": ("cell", "cell"),
        "workload.weights": ("query",),
        "workload.targets": ("query with a target",),
        "workload.basis": ("basis query", "cell"),
        "workload.representation": ("query with a target", "basis query"),
        "workload.eigenqueries": ("eigenvalue", "cell"),
        "workload.eigenvalues": ("eigenvalue",),
    }
)
# The sources that are psd by what they are.
PSD = frozenset({"workload.gram"})
