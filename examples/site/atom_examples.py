"""Programs from the examples of atoms: the line in an atom's row of the table becomes a whole program."""

from __future__ import annotations

import re

import numpy as np

from mmopt import Workload
from mmopt.language import Atom

# Names in the lines: givens come from the workload, the others are chosen.
GIVENS = {
    "W": "matrix[m, n] = workload.matrix",
    "G": "psd[n, n] = workload.gram",
    "w": "vector[m] = workload.weights",
}
CHOSEN = {"x": "vector[n]", "y": "vector[m]", "d": "vector[n] >= 0", "X": "psd[n, n]"}
_FORM = re.compile(r"(minimize|maximize) (.+) where (.+?)(?: with (.+))?")


def example_workload() -> Workload:
    """Three cumulative counts."""
    return Workload.from_matrix(np.tri(3))


def example_program(atom: Atom) -> str:
    """The text of a program: the names in the line are declared, its relations and lets become lines.

    Raises
    ------
    ValueError : the line is not ``minimize … where …; … with …; …`` (the last part may be missing), or
        has no name that is chosen.
    """
    form = _FORM.fullmatch(atom.example)
    if form is None:
        raise ValueError(f"the example of '{atom.name}' is not 'minimize … where …': {atom.example!r}")
    sense, objective, relations, lets = form.groups()
    names = set(re.findall(r"[A-Za-z_]\w*", atom.example))
    chosen = {name: kind for name, kind in CHOSEN.items() if name in names}
    if not chosen:
        raise ValueError(f"the example of '{atom.name}' chooses nothing: {atom.example!r}")
    givens = {name: kind for name, kind in GIVENS.items() if name in names}
    introduced = {dim for kind in givens.values() for dim in _dims(kind)}
    if not givens or not {dim for kind in chosen.values() for dim in _dims(kind)} <= introduced:
        givens["W"] = GIVENS["W"]  # which has both dimensions
    sections = [
        ("given", [f"{name}: {givens[name]}" for name in sorted(givens)]),
        ("let", [let.strip() for let in (lets or "").split(";") if let]),
        ("choose", [f"{name}: {kind}" for name, kind in chosen.items()]),
        (sense, [objective]),
        ("subject to", [f"limit{i or ''}: {line.strip()}" for i, line in enumerate(relations.split(";"))]),
    ]
    lines = ["program example"]
    for section, statements in sections:
        lines += [section, *(f"    {statement}" for statement in statements)] if statements else []
    return "\n".join([*lines, ""])


def _dims(kind: str) -> set[str]:
    """The dimensions that a declaration names."""
    return set(re.findall(r"\b[mn]\b", kind.partition("=")[0]))
