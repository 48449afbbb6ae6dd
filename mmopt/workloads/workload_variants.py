"""Workloads made from another one: its parts by name, other weights for them, other rows for a basis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.linalg import polar

from mmopt.errors import OptionError, WorkloadError, suggest
from mmopt.numerics.arrays import Array, frozen
from mmopt.workloads.blocks.matrix_blocks import positive
from mmopt.workloads.query_product import Product
from mmopt.workloads.workload import Workload

__all__ = ["only", "rest_of", "subworkloads", "weighted", "with_bases"]

# Relative: what a basis may be off by, of which only the turn from the workload's own is taken, and what
# orthonormality and the spectrum of eigenqueries may be off by, which are taken as they are.
MOST_OFF = {"basis": 1e-8, "eigenqueries": 1e-12}
_KIND = {"basis": "an orthonormal basis", "eigenqueries": "an orthonormal set of eigenvectors"}


def with_bases(workload: Workload, bases: Mapping[str, Array]) -> Workload:
    """The same workload with its ``basis`` or ``eigenqueries`` replaced.

    Rows that a workload does not determine uniquely, an orthonormal basis of the queries' row space, and
    eigenvectors of a repeated eigenvalue, come out differently on another machine. A result that was computed
    in one basis is rechecked in that basis, after a check that it is one.

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
        if name not in MOST_OFF:
            raise WorkloadError(f"a workload has no rows '{name}' to replace", hint=suggest(name, MOST_OFF))
        known = getattr(workload, name)
        fits = rows.shape == known.shape and bool(np.isfinite(rows).all())
        off = _off(workload, name, rows) if fits else float("inf")
        if not off <= MOST_OFF[name]:
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


def subworkloads(workload: Workload) -> tuple[str, ...]:
    """The names, in the order in which they first appear."""
    named = (p.subworkload for p in workload.products or ())
    return tuple(dict.fromkeys(name for name in named if name is not None))


def only(workload: Workload, name: str) -> Workload:
    """The products of one sub-workload.

    Raises
    ------
    OptionError : no product is in a sub-workload of that name.
    """
    return replace(workload, blocks=tuple(p for p in _products(workload, name) if p.subworkload == name))


def rest_of(workload: Workload, name: str) -> Workload | None:
    """The products that are not in the sub-workload; None when all are. Errors as ``only``."""
    rest = tuple(p for p in _products(workload, name) if p.subworkload != name)
    return replace(workload, blocks=rest) if rest else None


def weighted(workload: Workload, factors: Mapping[str, float]) -> Workload:
    """The workload with the weights of sub-workloads multiplied by factors.

    Raises
    ------
    OptionError : as ``only``. WorkloadError : a factor that is not positive and finite.
    """
    products = workload.products or ()
    for name, factor in factors.items():
        products = _products(Workload(workload.domain, products), name)
        by = positive(factor, f"the factor of the sub-workload '{name}'")
        products = tuple(replace(p, weight=by * p.weight) if p.subworkload == name else p for p in products)
    return replace(workload, blocks=products) if factors else workload


def _products(workload: Workload, name: str) -> tuple[Product, ...]:
    known = subworkloads(workload)
    if name in known:
        assert workload.products is not None
        return workload.products
    if not known:
        raise OptionError(
            f"there is no sub-workload '{name}': the workload has none",
            hint="write 'subworkload: NAME' beside the workload entries that belong to it",
        )
    raise OptionError(
        f"there is no sub-workload '{name}', the workload has {', '.join(known)}", hint=suggest(name, known)
    )
