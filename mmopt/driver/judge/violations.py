"""A point beside the lines of its program: what it misses, where in the workload's words, by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import worst
from mmopt.language.atoms.argument_types import Dim
from mmopt.language.check.names_and_givens import AXES
from mmopt.language.evaluate.evaluator import Memo
from mmopt.language.evaluate.split_values import splits
from mmopt.language.syntax.syntax_tree import Constraint, Declaration
from mmopt.numerics.matrix_functions import is_definite, symmetric_part
from mmopt.numerics.split_arrays import Array, Split, arrays_of, as_value, is_finite
from mmopt.workloads.query_labels import cell_label, join

__all__ = [
    "Violation",
    "named_rows",
    "place",
    "violations",
    "worst_line",
]


MOST_ROWS_NAMED = 4  # rows named one by one
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
    labels = [_label(instance, axis, i) for i in rows[:MOST_ROWS_NAMED]]
    noun = labels[0][0]
    rest = f" and {len(rows) - MOST_ROWS_NAMED} more" if len(rows) > MOST_ROWS_NAMED else ""
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


@dataclass(frozen=True)
class Violation:
    """How a point stands to one line of a program.

    name : of the constraint; of the variable for what its declaration promises.
    kind : "constraint", "sign" or "psd".
    amount : the largest violation, relative to the size of the line's sides; negative is to spare. What
        is psd, as it should be, has nothing to spare.
    entry : where it is: the index of the family, then the entry; () for a number or a matrix inequality.
    """

    name: str
    kind: str
    amount: float
    entry: tuple[int, ...] = ()

    def text(self, instance: Instance) -> str:
        """The line in words, with the label of the query or cell."""
        if self.kind == "constraint":
            c = next(c for c in instance.program.constraints if c.name == self.name)
            return f"constraint '{self.name}'{place(instance, c, self.entry)}"
        promise = ">= 0" if self.kind == "sign" else "psd"
        return f"'{self.name}', declared {promise},"


def violations(instance: Instance, point: Mapping[str, Any], memo: Memo | None = None) -> list[Violation]:
    """Every constraint and every promise of a declaration at a point, the worst first.

    Parameters
    ----------
    point : values by name for what is chosen; other names are taken from the instance.
    memo : of what has been evaluated for this program.

    Raises
    ------
    numpy.linalg.LinAlgError : a matrix without eigenvalues (entries that are not finite).
    """
    env = {**instance.env, **point}
    with np.errstate(all="ignore"):
        lines = instance.program.constraints
        found = [Violation(c.name, "constraint", *worst(c, env, memo)) for c in lines]
    for d in instance.program.choose:
        value = as_value(env[d.name])
        if d.kind == "psd" and is_finite(value):
            found.append(Violation(d.name, "psd", _negative_eigenvalue(arrays_of(value))))
        elif d.sign and not isinstance(value, Split):
            found.append(_negative_entry(d, *arrays_of(value)))
    return sorted(found, key=lambda v: -v.amount)


def worst_line(instance: Instance, point: Mapping[str, Any]) -> Violation | None:
    """The line that a point misses the most; None when it keeps all, or is no point."""
    try:
        found = violations(instance, point)
    except np.linalg.LinAlgError:
        return None
    return found[0] if found and found[0].amount > 0 else None


def _negative_eigenvalue(parts: Sequence[Array]) -> float:
    symmetric = [symmetric_part(part) for part in parts]
    if all(map(is_definite, symmetric)):
        return 0.0
    eigenvalues = np.concatenate([np.linalg.eigvalsh(part) for part in symmetric])
    return -float(eigenvalues.min()) / max(float(np.abs(eigenvalues).max()), 1e-300)


def _negative_entry(d: Declaration, value: np.ndarray[Any, Any]) -> Violation:
    size = max(float(np.abs(value).max(initial=0.0)), 1e-300)
    if not np.isfinite(value).all():
        return Violation(d.name, "sign", float("inf"))
    if value.size == 0:
        return Violation(d.name, "sign", 0.0)
    at = np.unravel_index(int(np.argmin(value)), value.shape)
    return Violation(d.name, "sign", -float(value[at]) / size, tuple(int(i) for i in at))
