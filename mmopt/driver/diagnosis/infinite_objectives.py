"""What to do about an objective that has no finite value at a point that keeps every line."""

from __future__ import annotations

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import evaluate, to_source
from mmopt.language.syntax.syntax_tree import Apply, names_in, walk

__all__ = ["without_value"]

OF_POSITIVE = ("log", "logdet", "sqrt", "entropy", "rel_entropy", "pow", "div")


def without_value(instance: Instance, singular: str) -> str:
    """The hint; ``singular`` is that of a matrix under inv(…), which may be singular."""
    parts = [part for part in walk(instance.program.objective) if isinstance(part, Apply)]
    for part in parts:
        if words := _of_given(instance, part):
            return words
    if any(part.atom == "inv" for part in parts):
        return singular
    names = list(dict.fromkeys(to_source(part) for part in parts if part.atom in OF_POSITIVE))
    listed = f"'{names[0]}'" if names else "the objective"
    return f"{listed} has no finite value at the point found: relax the constraints, or check their signs"


def _of_given(instance: Instance, part: Apply) -> str:
    """Says the entry of what is given that has no logarithm or root."""
    if part.atom not in ("log", "sqrt"):
        return ""
    argument = part.args[0]
    if not names_in(argument) <= set(instance.env) - {d.name for d in instance.program.choose}:
        return ""
    with np.errstate(all="ignore"):
        value = np.asarray(evaluate(argument, instance.env))
        bad = ~np.isfinite(np.asarray(evaluate(part, instance.env)))
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    place = f", at entry {', '.join(map(str, at))}" if at else ""
    return f"'{to_source(part)}' is of what is given, and not a number{place}: of {value[at]:g}"
