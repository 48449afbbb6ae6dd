"""The atoms of the language, an entry for each row of their table: shapes, signs, curvature and an example.

What an entry says is what the row's rule says when it is asked: of which kinds of argument it takes, and of
every combination of curvatures and signs the widest that it keeps.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mmopt import Program, Workload, solve
from mmopt.language import ATOMS, Atom
from mmopt.language.atoms.expression_types import SCALAR, Curvature, Dim, RuleError, Type, column, matrix

__all__ = ["atom_entry", "atoms_page", "example_program", "example_workload", "kept", "shapes"]

M, N = Dim.of("m"), Dim.of("n")
_SQUARE = matrix(N, N)
_SYMMETRIC = matrix(N, N, symmetric=True)
_PSD = matrix(N, N, psd=True, symmetric=True)
_AMOUNT = replace(SCALAR, sign=1)
KINDS = (SCALAR, _AMOUNT, column(N), matrix(M, N), _SQUARE, _SYMMETRIC, _PSD)
# A kind of argument that is a case of another.
CASE_OF = {_AMOUNT: SCALAR, _SQUARE: matrix(M, N), _SYMMETRIC: _SQUARE, _PSD: _SYMMETRIC}
States = tuple[tuple[Curvature, int], ...]  # a curvature for each argument, and 1 where it is nonnegative
EXPONENTS = (2.0, 3.0, 0.5, -1.0)
# What a state is a case of, besides itself; the widest come last.
WIDER = {
    Curvature.CONSTANT: (Curvature.AFFINE, Curvature.CONVEX, Curvature.CONCAVE),
    Curvature.AFFINE: (Curvature.CONVEX, Curvature.CONCAVE),
    Curvature.CONVEX: (),
    Curvature.CONCAVE: (),
}
GROUPS = {
    "Operators": lambda atom: "(" not in atom.text,
    "Functions of what is chosen": lambda atom: "(" in atom.text and (atom.minorant or atom.rounded),
    "Functions of what is given": lambda atom: "(" in atom.text and not (atom.minorant or atom.rounded),
}
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


def atoms_page() -> str:
    """The page of all atoms, in the order of the table."""
    lines = [
        "# The atoms",
        "",
        "Every function and operator of the language. *Curvature* lists curvatures of the arguments and the "
        "resulting curvature of the value. It also applies to narrower curvatures (an affine expression is "
        "also convex). In all other cases a program is refused, with the place. *⪯* marks a matrix that is "
        "curved as a whole, in the order of psd matrices. An argument without a stated sign may have any.",
        "",
        "The examples are whole programs, solved when this page was made, for three cumulative counts:",
        "",
        "```python",
        "import numpy as np",
        "import mmopt",
        "",
        "w = mmopt.Workload.from_matrix(np.tri(3))",
        "s = mmopt.solve(w, mmopt.Program.parse(text))      # text: the lines of an example",
        "```",
        "",
    ]
    for title, belongs in GROUPS.items():
        lines += [f"## {title}", ""]
        for atom in ATOMS.values():
            if belongs(atom):
                lines += [*atom_entry(atom), ""]
    return "\n".join(lines)


def atom_entry(atom: Atom) -> Iterator[str]:
    """Heading, sentence, shapes, curvature, example with its figures."""
    yield from (f"(atom-{atom.name.replace(' ', '-')})=", f"### `{atom.text.format(*'xyz')}`")
    yield from ("", atom.about, "")
    if rows := list(shapes(atom)):
        yield from ("| of | value |", "|---|---|")
        yield from (f"| {of} | {value} |" for of, value in rows)
        yield ""
    bent = "; ".join(f"{of} → {value}" for of, value in kept(atom))
    if bent:
        yield from (f"Curvature: {bent}.", "")
    elif not atom.takes_dim:
        more = ", or is chosen in a program of class smooth" if atom.gradient else ""
        yield from (f"Takes what is given{more}.", "")
    yield from _example(atom)


def _example(atom: Atom) -> Iterator[str]:
    text = example_program(atom)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = solve(example_workload(), Program.parse(text))
    yield from ("```mmopt", text.rstrip(), "```", "")
    yield f"Objective {s.objective:.6g}, bound {s.bound:.6g}, gap {s.gap:.0e}."


# -- what the rule says


def _asked(atom: Atom, args: tuple[Type, ...], exponent: float | None = None) -> Type | None:
    """The result that the rule infers for arguments; None where it refuses them."""
    options = {} if exponent is None else {"exponent": exponent}
    try:
        return atom.rule(*args, **options)
    except RuleError:
        return None


def shapes(atom: Atom) -> Iterator[tuple[str, str]]:
    """For each combination of kinds that the rule takes: the kinds, and what is known of the value.

    What follows from a wider combination is left out.
    """
    if atom.takes_dim or atom.name == "pow":
        return
    for kinds in itertools.product(KINDS, repeat=atom.arity):
        out = _asked(atom, kinds)
        wider = [
            (*kinds[:i], CASE_OF[kind], *kinds[i + 1 :]) for i, kind in enumerate(kinds) if kind in CASE_OF
        ]
        wider += [tuple(CASE_OF.get(kind, kind) for kind in kinds)] * any(kind in CASE_OF for kind in kinds)
        values = [_asked(atom, one) for one in wider]
        if out is not None and all(_says_more(out, value) for value in values if value is not None):
            yield " and ".join(map(_described, kinds)), _described(out)


def _says_more(out: Type, wider: Type) -> bool:
    return (out.sign, out.psd) != (wider.sign, wider.psd)


def _described(known: Type) -> str:
    shape = known.shape.replace("a matrix", "a psd matrix" if known.psd else "a matrix")
    shape = shape.replace("?rows", "rows that the numbers tell")
    if known.symmetric and not known.psd:
        shape = shape.replace("a matrix", "a symmetric matrix")
    return shape + {1: ", ≥ 0", 0: "", -1: ", ≤ 0"}[known.sign]


def kept(atom: Atom) -> Iterator[tuple[str, str]]:
    """The widest combinations of curvature and sign that the rule keeps, and the curvature of the value."""
    if atom.takes_dim:
        return
    for exponent in EXPONENTS if atom.name == "pow" else (None,):
        for whole in (False, True) if atom.arity == 1 else (False,):
            yield from _kept(atom, exponent, whole)


def _kept(atom: Atom, exponent: float | None, whole: bool) -> Iterator[tuple[str, str]]:
    kinds = _representative(atom, exponent, whole)
    if kinds is None:
        return
    known: dict[States, Type] = {}
    free = 1 if exponent is not None else atom.arity  # an exponent is a plain number
    for states in itertools.product(itertools.product(WIDER, (0, 1)), repeat=free):
        args = [
            replace(kind, curvature=c, sign=s or kind.sign, loewner=whole and not c.is_affine)
            for kind, (c, s) in zip(kinds, states, strict=False)
        ]
        out = _asked(atom, (*args, *kinds[free:]), exponent)
        if out is not None and out.curvature not in (Curvature.UNKNOWN, Curvature.CONSTANT):
            known[states] = out
    power = f" to the power {exponent:g}" if exponent is not None else ""
    for states, out in known.items():
        others = (o for o in known if o != states and _is_case(states, o))
        is_new = not whole or out.loewner or any(not c.is_affine for c, _ in states)
        if is_new and not any(_curvature(known[o]) == _curvature(out) for o in others):
            yield " and ".join(_state(c, s, whole) for c, s in states) + power, _curvature(out)


def _representative(atom: Atom, exponent: float | None, whole: bool) -> tuple[Type, ...] | None:
    """The first kinds that the rule takes; of what is curved as a whole, psd matrices."""
    if exponent is not None:
        return None if whole else (column(N), SCALAR)
    kinds = itertools.product(KINDS[-1:] if whole else KINDS, repeat=atom.arity)
    return next((args for args in kinds if _asked(atom, args)), None)


def _is_case(states: States, wider: States) -> bool:
    """Whether each state is one of those that the wider ones stand for."""
    return all(
        (c == d or d in WIDER[c]) and (s == t or t == 0) for (c, s), (d, t) in zip(states, wider, strict=True)
    )


def _state(curvature: Curvature, sign: int, whole: bool) -> str:
    mark = " ⪯" if whole and not curvature.is_affine else ""
    return f"{curvature.value}{mark}{' ≥ 0' * sign}"


def _curvature(out: Type) -> str:
    return out.curvature.value + " ⪯" * out.loewner
