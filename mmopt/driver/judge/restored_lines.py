"""Points near one that misses lines of one's own program by little, at which they hold.

Newton's step: the least move by which the lines that are missed hold to first order. What comes out is judged
like any other point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import Tape
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.exact_rewriting import vectorised
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Expr, walk
from mmopt.numerics.matrix_functions import EPS, Array
from mmopt.numerics.split_arrays import is_structured

__all__ = ["nearby"]

KEPT = {"==": (-np.inf, np.inf), "<=": (0.0, np.inf), ">=": (-np.inf, 0.0)}  # what of left - right is missed
# By so much of its variable, or of one where that is smaller, an entry may be moved
MOST_MOVED = 1e-4
MOST_STEPS = 6
MOST_TAPES = 500  # of a family that has no form for all indices at once
MOST_DERIVATIVES = 10**6  # entries of the matrix of a step
# So far beyond an inequality a step aims: of what it missed, and for each number in it of the size of its
# terms, so that it holds whatever is rounded.
INSIDE, ROUNDED = 1e-3, 4 * EPS


def _difference(c: Constraint) -> Apply:
    return Apply("sub", (c.relation.left, c.relation.right), c.span)


def nearby(instance: Instance, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Points nearby at which lines that are missed may hold, of arrays that are finite and not by component.

    After the steps, zeros for what is next to nothing: of sides that are both zero nothing else is equal.
    """
    if any(is_structured(v) or not np.isfinite(v).all() for v in values.values()):
        return
    for pulled in _pulled_in(instance, values):
        yield _cleared(pulled, EPS)
    yield _cleared(values, MOST_MOVED)


def _cleared(values: Mapping[str, Any], dust: float) -> dict[str, Any]:
    return {n: np.where(np.abs(v) <= dust * _size(v), 0.0, v) for n, v in values.items()}


def _size(value: Array) -> float:
    return max(1.0, float(np.abs(value).max(initial=0.0)))


def _pulled_in(instance: Instance, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The point after one step after the other towards where its lines hold, while it has not moved far.

    A line that was missed once is held from then on; what has a sign moves in proportion to its entries.
    """
    kinds = {d.name: d for d in instance.program.choose}
    tapes = list(_tapes(instance, values))
    found = {n: np.asarray(v, dtype=float) for n, v in values.items()}
    weights = {
        n: np.abs(v) if kinds[n].sign and v.any() else np.full(v.shape, _size(v)) for n, v in found.items()
    }
    held: dict[tuple[int, int], float] = {}
    for _ in range(MOST_STEPS):
        rows, over = [], []
        for number, (op, tape) in enumerate(tapes):
            value, pull = tape.run(found)
            flat = np.ravel(value)
            missed = np.abs(np.clip(flat, *KEPT[op]))
            for at in np.flatnonzero(missed).tolist():
                held.setdefault((number, at), 0.0 if op == "==" else INSIDE * float(missed[at]))
            sign = -1.0 if op == ">=" else 1.0
            for at in sorted(at for known, at in held if known == number):
                if len(held) * sum(v.size for v in found.values()) > MOST_DERIVATIVES:
                    return
                more = pull(np.reshape(sign * np.eye(1, flat.size, at), np.shape(value)))
                each = [
                    np.ravel(weights[n] * more[n]) if n in more else np.zeros(v.size)
                    for n, v in found.items()
                ]
                rows.append(np.concatenate(each))
                beyond = sign * float(flat[at]) + held[number, at]
                if op != "==":
                    beyond += ROUNDED * len(rows[-1]) * float(np.abs(rows[-1]).sum())
                over.append(beyond if op == "==" else max(beyond, 0.0))
        matrix = np.array(rows)
        if not (any(over) and np.isfinite(matrix).all() and np.isfinite(over).all()):
            return
        sizes = np.maximum(np.abs(matrix).max(axis=1), EPS)
        step = np.linalg.lstsq(matrix / sizes[:, None], np.array(over) / sizes)[0]
        ends = np.cumsum([v.size for v in found.values()])[:-1]
        for (n, v), part in zip(list(found.items()), np.split(step, ends), strict=True):
            moved = v - weights[n] * np.reshape(part, v.shape)
            found[n] = np.maximum(moved, 0.0) if kinds[n].sign else moved
        if any(np.abs(found[n] - values[n]).max(initial=0.0) > MOST_MOVED * _size(values[n]) for n in found):
            return
        yield dict(found)


def _tapes(instance: Instance, values: Mapping[str, Any]) -> Iterator[tuple[str, Tape]]:
    """Left minus right of every line of numbers that has derivatives; of a family one for each index."""
    env, chosen = {**instance.env, **values}, list(values)
    for c in instance.program.constraints:
        written: Expr = _difference(c)
        atoms = {part.atom for part in walk(written) if isinstance(part, Apply)}
        if c.relation.op not in KEPT or any(ATOMS[atom].gradient is None for atom in atoms):
            continue
        if c.family is None:
            yield c.relation.op, Tape(written, env, chosen)
            continue
        joined = vectorised(written, c.family.index)
        count = c.family.dim.value(env)
        if joined is not None:
            yield c.relation.op, Tape(joined, env, chosen)
        elif count <= MOST_TAPES:
            for i in range(count):
                yield c.relation.op, Tape(written, {**env, c.family.index: i}, chosen)
