"""Random workloads, givens, points and multipliers of declared types, from one generator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mmopt.language import Program
from mmopt.language.syntax.syntax_tree import Declaration, Number
from mmopt.numerics.split_arrays import Array
from mmopt.testing.query_matrices import random_ranges
from mmopt.workloads import Workload

__all__ = ["draw_givens", "draw_multiplier", "draw_value", "draw_workload"]


def draw_workload(rng: np.random.Generator, with_targets: bool, size: int | None = None) -> Workload:
    """A few queries over 4 to 6 cells, or ``size``: ranges, signed counts, real numbers, counts of rank two.

    Sometimes they are weighted or of another size, and sometimes no query touches one of the cells.
    """
    n, m = int(rng.integers(4, 7)) if size is None else size, int(rng.integers(2, 8))
    kind = rng.integers(4)
    if kind == 0:
        rows = random_ranges(n, m, rng)
    elif kind == 1:
        rows = rng.integers(-1, 2, size=(m, n)).astype(float)
    elif kind == 2:
        rows = rng.normal(size=(m, n))
    else:
        rows = rng.integers(-2, 3, size=(m, 2)) @ rng.integers(0, 2, size=(2, n)).astype(float)
    if rng.random() < 0.25:
        rows[:, rng.integers(n)] = 0.0
    rows[~rows.any(axis=1), 0] = 1.0
    if rng.random() < 0.5:
        rows = rows * 10.0 ** rng.uniform(-1.5, 1.5)
    targets = rng.uniform(0.2, 5.0, size=m) if with_targets else None
    return Workload.from_matrix(rows, targets, rng.uniform(0.2, 5.0, size=m) if rng.random() < 0.25 else None)


def draw_givens(
    rng: np.random.Generator, program: Program, workload: Workload, square: bool, parameters: int = 0
) -> dict[str, Array]:
    """Values for the givens without a source, and for parameters that are numbers.

    A dimension that nothing else fixes is at most the number of cells; with ``square`` it is that number.
    parameters : 0 for their defaults; 1 (-1) for up to four times more (less), where a 0 becomes positive.
    """
    sizes: dict[str, int] = {}
    for d in program.givens:
        if d.source:
            shape = np.shape(getattr(workload, d.source.removeprefix("workload.")))
            sizes |= {
                str(dim): size for dim, size in zip(d.dims, shape, strict=True) if len(dim.symbols) == 1
            }
    out = {}
    for d in program.givens:
        if d.source:
            continue
        for name in sorted({s for dim in d.dims for s in dim.symbols} - sizes.keys()):
            sizes[name] = workload.n if square else int(rng.integers(1, workload.n + 1))
        out[d.name] = draw_value(rng, d, sizes)
    for p in program.parameters if parameters else ():
        if isinstance(p.expr, Number) and (p.declared is None or p.declared.kind == "scalar"):
            out[p.name] = np.asarray(
                (p.expr.value or rng.random()) * 4.0 ** (parameters * rng.uniform(0.2, 1.0))
            )
    return out


def draw_value(rng: np.random.Generator, d: Declaration, sizes: Mapping[str, int]) -> Array:
    """A value of a declared kind and sign, of a size between 0.01 and 100."""
    shape = d.shape(sizes)
    size = 10.0 ** rng.uniform(-2.0, 2.0)
    if d.kind == "psd":
        side = shape[0]
        if rng.random() < 0.3:
            return np.diag(size * rng.uniform(0.01, 1.0, size=side))
        rows = rng.normal(size=(side + int(rng.integers(3)), side))
        return np.asarray(size * rows.T @ rows / side)
    value = np.asarray(size * rng.normal(size=shape))
    if d.kind == "symmetric":
        return np.asarray((value + value.T) / 2)
    return np.abs(value) if d.sign else value


def draw_multiplier(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Nonnegative numbers of very different sizes; in one draw of two most of them are zero.

    Their common size differs from draw to draw too: a certificate may be wrong for small ones only.
    """
    value = np.asarray(10.0 ** (rng.uniform(-4.0, 4.0) + rng.uniform(-2.0, 2.0, size=shape)))
    if not shape or rng.random() < 0.5:
        return value
    kept = rng.random(shape) < 0.3
    kept.flat[rng.integers(kept.size)] = True
    return np.where(kept, value, 0.0)
