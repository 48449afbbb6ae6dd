"""Where in a constraint something happens, in the words of the workload: labels of queries and cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.compiler import Instance
from mmopt.language.atoms.dims import Dim
from mmopt.language.check.names import AXES
from mmopt.language.evaluate.by_component import splits
from mmopt.language.syntax.tree import Constraint
from mmopt.workloads.labels import cell_label, join

__all__ = ["named_rows", "place"]

SHOWN = 4  # rows named one by one
PLURAL = {"query": "queries", "cell": "cells", "entry": "entries"}


def _axis(instance: Instance, dim: Dim) -> str:
    """What a dimension counts, by the source of the first given that has it."""
    for d in instance.program.givens:
        if d.name not in instance.own:
            for axis, known in zip(AXES.get(d.source, ()), d.dims, strict=False):
                if known == dim:
                    return axis
    return ""


def _label(instance: Instance, axis: str, i: int) -> tuple[str, str]:
    """A noun and the label of one row: ("query", "'age < 25'"), ("cell", "3"), ("entry", "3")."""
    workload = instance.workload
    if axis in ("query", "query with a target"):
        labels = workload.labels()
        if axis != "query":
            i = int(np.flatnonzero(np.isfinite(workload.targets))[i])
        return "query", str(i) if labels[i] == f"query {i}" else f"'{labels[i]}'"
    if axis == "cell":
        domain = workload.domain
        if domain.names == ("cell",):
            return "cell", domain.cell(i)[0]
        codes = np.unravel_index(i, domain.shape)
        pairs = zip(domain.attributes, codes, strict=True)
        return "cell", f"'{join(tuple(cell_label(a, int(code)) for a, code in pairs))}'"
    return "entry", str(i)


def _rows_of(instance: Instance, c: Constraint) -> Dim | None:
    """The dimension that counts the rows of a constraint: its family, or the length of its sides."""
    if c.family is not None:
        return c.family.dim
    vectors = [t.dims[0] for t in instance.checked.constraints[c.name] if t.is_vector]
    return vectors[0] if vectors else None


def named_rows(instance: Instance, name: str, rows: Sequence[int] | None) -> str:
    """The rows of a line in brackets, " (queries 3, 7)"; nothing for a whole line."""
    if not rows:
        return ""
    c = next((c for c in instance.program.constraints if c.name == name), None)
    dim = _rows_of(instance, c) if c is not None else None
    axis = _axis(instance, dim) if dim is not None else ""
    labels = [_label(instance, axis, i) for i in rows[:SHOWN]]
    noun = labels[0][0]
    rest = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return f" ({noun if len(rows) == 1 else PLURAL[noun]} {', '.join(text for _, text in labels)}{rest})"


def place(instance: Instance, c: Constraint, entry: tuple[int, ...]) -> str:
    """One entry: " for j = 3 (query 'total')", " (cell 3)", " at entry 3, 1"; nothing for a number.

    By component it is an orbit of cells or queries: " at orbit 3".
    """
    if not entry:
        return ""
    if splits(instance.env):
        return f" at orbit {entry[0]}"
    dim = _rows_of(instance, c)
    noun, label = _label(instance, _axis(instance, dim) if dim is not None else "", entry[0])
    known = f" ({noun} {label})" if noun != "entry" else ""
    inner = entry[1:] if c.family is not None or known else entry
    text = f" for {c.family.index} = {entry[0]}" if c.family is not None else ""
    return text + (f" at entry {', '.join(map(str, inner))}" if inner else "") + known
