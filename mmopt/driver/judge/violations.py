"""Which line of a program a point misses, where, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.places import place
from mmopt.driver.judge.values import as_value, is_finite
from mmopt.language import worst
from mmopt.language.evaluate.evaluator import Memo
from mmopt.language.syntax.tree import Declaration
from mmopt.numerics.components import Level, Split
from mmopt.numerics.numpy_forms import is_definite, lowest_eigenvalue, symmetric_part

__all__ = ["Violation", "violations", "worst_line"]


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
        if isinstance(value, Split):
            if d.kind == "psd" and is_finite(value):
                found.append(Violation(d.name, "psd", _negative_part(value)))
            continue
        if isinstance(value, Level):
            value = value.values
        if d.kind == "psd" and np.isfinite(value).all():
            found.append(Violation(d.name, "psd", _negative_eigenvalue(value)))
        elif d.sign:
            found.append(_negative_entry(d, value))
    return sorted(found, key=lambda v: -v.amount)


def worst_line(instance: Instance, point: Mapping[str, Any]) -> Violation | None:
    """The line that a point misses the most; None when it keeps all, or is no point."""
    try:
        found = violations(instance, point)
    except np.linalg.LinAlgError:
        return None
    return found[0] if found and found[0].amount > 0 else None


def _negative_eigenvalue(value: np.ndarray[Any, Any]) -> float:
    if is_definite(symmetric_part(value)):
        return 0.0
    eigenvalues = np.linalg.eigvalsh((value + value.T) / 2)
    return -float(eigenvalues[0]) / max(float(np.abs(eigenvalues).max()), 1e-300)


def _negative_part(value: Split) -> float:
    size = max(float(np.abs(part).max(initial=0.0)) for part in value.parts)
    return -lowest_eigenvalue(value.parts) / max(size, 1e-300)


def _negative_entry(d: Declaration, value: np.ndarray[Any, Any]) -> Violation:
    size = max(float(np.abs(value).max(initial=0.0)), 1e-300)
    if not np.isfinite(value).all():
        return Violation(d.name, "sign", float("inf"))
    if value.size == 0:
        return Violation(d.name, "sign", 0.0)
    at = np.unravel_index(int(np.argmin(value)), value.shape)
    return Violation(d.name, "sign", -float(value[at]) / size, tuple(int(i) for i in at))
