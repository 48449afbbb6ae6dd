"""Rows that a workload does not determine uniquely, and the workload with other ones of the same kind.

An orthonormal basis of the queries' row space, and eigenvectors of a repeated eigenvalue, come out
differently on another machine. A result that was computed in one basis is rechecked in that basis,
after a check that it is one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.linalg import polar

from mmopt.errors import WorkloadError, suggest
from mmopt.numerics.arrays import Array, frozen
from mmopt.workloads.workload import Workload

__all__ = ["with_bases"]

BASES = ("basis", "eigenqueries")
# Relative: what a basis may be off by, of which only the turn from the workload's own is taken, and what
# orthonormality and the spectrum of eigenqueries may be off by, which are taken as they are.
CLOSE = {"basis": 1e-8, "eigenqueries": 1e-12}


def with_bases(workload: Workload, bases: Mapping[str, Array]) -> Workload:
    """The same workload with its ``basis`` or ``eigenqueries`` replaced.

    Parameters
    ----------
    bases : "basis" (k, n), orthonormal rows that span the queries; "eigenqueries" (r, n), orthonormal
        eigenvectors of the weighted Gram matrix in the order of ``eigenvalues``.

    Raises
    ------
    WorkloadError : another name, or rows that are not of this kind.
    """
    changed = Workload(workload.domain, workload.blocks)
    # Where cached properties keep their values; nothing that depends on them is computed yet.
    kept = changed.__dict__
    for name, rows in bases.items():
        if name not in BASES:
            raise WorkloadError(f"a workload has no rows '{name}' to replace", hint=suggest(name, BASES))
        known = workload.basis if name == "basis" else workload.eigenqueries
        fits = rows.shape == known.shape and bool(np.isfinite(rows).all())
        off = _off(workload, name, rows) if fits else float("inf")
        if not off <= CLOSE[name]:
            raise WorkloadError(
                f"'{name}' of shape {rows.shape} is not {_KIND[name]} of the workload "
                f"(shape {known.shape}): it is off by {off:.1e}"
            )
        if name == "basis":  # L B is W for the workload's own rows turned, whatever the given ones are off by
            rows = known if workload.rank == workload.n else polar(rows @ known.T)[0] @ known
        own = frozen(np.array(rows, dtype=np.float64))
        kept["basis" if name == "basis" else "_spectrum"] = (
            own if name == "basis" else (workload.eigenvalues, own)
        )
    return changed


_KIND = {"basis": "an orthonormal basis", "eigenqueries": "an orthonormal set of eigenvectors"}


def _off(workload: Workload, name: str, rows: Array) -> float:
    """How far rows are from being a basis or eigenvectors, relatively."""
    skewed = float(np.abs(rows @ rows.T - np.eye(len(rows))).max())
    if name == "basis":
        root = workload.unit_root
        outside = float(np.linalg.norm(root - root @ rows.T @ rows) / np.linalg.norm(root))
        return max(skewed, outside)
    image = workload.root @ rows.T
    values = workload.eigenvalues
    return max(skewed, float(np.abs(image.T @ image - np.diag(values)).max() / values[0]))
