"""The queries on a component, up to rotation: a triangle R with RᵀR their Gram matrix, sector by sector.

A product's rows are nonzero on the sectors inside its attributes only. So the factorisation goes from the
largest sectors to the empty one (as multifrontal QR of sparse matrices: Davis, Direct Methods for Sparse
Linear Systems, 2006, section 7): rows that touch a sector are stacked, one QR leaves as many rows as the
sector has functions, and what remains touches later sectors only. Rows of pairs of attributes are never
stacked with each other until little is left of them. No Gram matrix is formed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy.linalg

from mmopt.limits import require_time
from mmopt.numerics.arrays import EPS, Array, qr, rounding_of_qr
from mmopt.sectors.plain.functions_of_few import ProductCoefficients, Sector, SectorComponent

__all__ = ["component_root"]

Rows = tuple[tuple[Sector, ...], Array]
"""Rows that touch these sectors only, in the component's order, and their columns side by side."""

LEAST_DIAGONAL = 1e-11
"""Reciprocal condition number of a triangle below which its rank is looked at."""


def component_root(component: SectorComponent, asked: Sequence[ProductCoefficients]) -> tuple[Array, float]:
    """R (r, dim) of full row rank, r <= dim, with RᵀR the Gram matrix of the queries on the component.

    Beside it at least ‖R - QᵀW‖ / ‖R‖ for the computed coefficients W and some orthonormal Q: each QR adds
    its own rounding (``rounding_of_qr``) times rows that are no longer than all.

    A triangle where the queries span the component. Else rows that are orthogonal, as long as the singular
    values; those within rounding of zero are left out.
    """
    if component.dim == 1:
        number = math.hypot(*(_number(component, asked[at]) for at in component.products))
        return np.array([[number]]), 4 * EPS
    rows = [_product_rows(component, asked[at]) for at in component.products]
    found, lost = _eliminated(component, rows)
    if len(found) == component.dim and _is_well_conditioned(found):
        return found, lost
    _, lengths, directions = np.linalg.svd(found, full_matrices=False)
    kept = lengths > 8 * component.dim * EPS * lengths.max(initial=0.0)
    lost += 16 * component.dim**1.5 * EPS  # of the decomposition, and what is left out
    return np.asarray(lengths[kept, None] * directions[kept]), lost


def _is_well_conditioned(triangle: Array) -> bool:
    reciprocal, _ = scipy.linalg.lapack.dtrcon(triangle)
    return bool(reciprocal > LEAST_DIAGONAL)


def _number(component: SectorComponent, product: ProductCoefficients) -> float:
    """The length of a product's coefficients on a component without contrasts."""
    rests = dict(component.rests)
    each = (f.rests[rests[i]] if i in rests else f.constant for i, f in product.factors.items())
    return product.scale * math.prod(each)


def _product_rows(component: SectorComponent, product: ProductCoefficients) -> Rows:
    """The rows of a product that has the component's rests: a Kronecker product over its attributes."""
    rests = dict(component.rests)
    scale = product.scale * math.prod(product.factors[i].rests[o] for i, o in component.rests)
    free = sorted(i for i in product.factors if i not in rests)
    flats = [product.factors[i].flat for i in free]
    rows = functools.reduce(np.kron, flats, np.full((1, 1), scale))
    columns = np.arange(rows.shape[1]).reshape([flat.shape[1] for flat in flats])
    parts: dict[Sector, Array] = {}
    for has in itertools.product((False, True), repeat=len(free)):
        if all(flat.shape[1] > 1 for flat, own in zip(flats, has, strict=True) if own):
            sector = tuple(i for i, own in zip(free, has, strict=True) if own)
            parts[sector] = rows[:, columns[tuple(slice(1, None) if own else 0 for own in has)].ravel()]
    ordered = tuple(sorted(parts, key=component.sectors.index))
    return ordered, np.hstack([parts[sector] for sector in ordered])


def _eliminated(component: SectorComponent, rows: Sequence[Rows]) -> tuple[Array, float]:
    """The stacked rows' triangle, one sector after the other, and the relative rounding of all steps."""
    lost = 0.0
    waiting: dict[Sector, list[Rows]] = {}
    for own in rows:
        waiting.setdefault(own[0][0], []).append(own)
    found = []
    for sector, width in zip(component.sectors, component.widths, strict=True):
        require_time()
        front = waiting.pop(sector, [])
        touched, triangle = _front(component, front)
        lost += rounding_of_qr(sum(len(own) for _, own in front), triangle.shape[1])
        done = np.zeros((min(width, len(triangle)), component.dim))
        ends = itertools.accumulate(component.widths[component.sectors.index(s)] for s in touched)
        for s, end in zip(touched, ends, strict=True):
            place = component.places[s]
            done[:, place] = triangle[:width, end - (place.stop - place.start) : end]
        found.append(done)
        if len(triangle) > width:
            waiting.setdefault(touched[1], []).append((touched[1:], triangle[width:, width:]))
    return np.vstack(found), lost * 1.01


def _front(component: SectorComponent, rows: Sequence[Rows]) -> Rows:
    """All rows that touch a sector first, over the sectors that any of them touches, as a triangle."""
    if not rows:
        return (), np.zeros((0, 0))
    touched = tuple(sorted({s for sectors, _ in rows for s in sectors}, key=component.sectors.index))
    widths = [component.places[s].stop - component.places[s].start for s in touched]
    starts = dict(zip(touched, itertools.accumulate(widths, initial=0), strict=False))
    stacked = np.zeros((sum(len(own) for _, own in rows), sum(widths)))
    top = 0
    for sectors, own in rows:
        left = 0
        for s in sectors:
            width = component.places[s].stop - component.places[s].start
            stacked[top : top + len(own), starts[s] : starts[s] + width] = own[:, left : left + width]
            left += width
        top += len(own)
    return touched, qr(stacked, overwrite=True)
