"""The classes of programs: which sections each has no use for, and which it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Span

__all__ = ["check_sections"]

_STEPS = "steps belong to 'class procedure'"
_STARTS = "a search from several starts belongs to 'class smooth'"
_NO_POINT = "no point is chosen here"

# class -> section -> what to do instead
FOREIGN: Mapping[str, Mapping[str, str]] = {
    "convex": {"steps": _STEPS, "start": _STARTS},
    "rank": {"steps": _STEPS, "start": "the starts of the rank heuristic are an option of the solver"},
    "smooth": {"steps": _STEPS, "maximize": "minimize the negative"},
    "closed form": {
        "steps": _STEPS,
        "start": _STARTS,
        "choose": "a closed form has only what is given and 'let'; to optimise, write 'class convex'",
        "subject to": "what the givens have to satisfy stands under 'require'",
        "repair": _NO_POINT,
        "from strategy": _NO_POINT,
        "maximize": "a closed form reports its error under 'minimize'",
    },
    "procedure": {
        "start": _STARTS,
        "choose": "a procedure chooses in its steps: name = solve(program, …)",
        "subject to": "a procedure has its constraints in the programs of its steps",
        "repair": "the programs of the steps repair what they choose; a step may change the result",
        "from strategy": "certify the strategy with the programs of the steps",
        "maximize": "a procedure reports its error under 'minimize'",
    },
}
CHOOSES = ("convex", "rank", "smooth")


def check_sections(program: Program) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` unless the sections are those of the program's class."""
    klass, present = program.klass, dict(program.spans)
    for section, hint in FOREIGN[klass].items():
        if section in present:
            message = f"section '{section}' has no place in a program of class '{klass}'"
            _fail(program, section, message, hint)
    if klass in CHOOSES:
        if program.objective is None:
            message = f"a {klass} program needs 'minimize'" + " or 'maximize'" * (klass != "smooth")
            _fail(program, "program", message, "for example: minimize alpha")
        if not program.choose:
            hint = "for example: choose X: psd[n, n]"
            _fail(program, "program", f"a {klass} program needs 'choose'", hint)
    if klass == "procedure" and not program.steps:
        hint = "for example: weighting = solve(query_weighting)"
        _fail(program, "program", "a procedure needs 'steps'", hint)
    if klass in ("procedure", "closed form") and program.objective is None:
        _fail(program, "program", f"a {klass} needs 'minimize'", "the error that its result is judged by")
    if program.sense == "maximize" and "bound" in present:
        message = "section 'bound' states a lower bound, and this program maximizes"
        _fail(program, "bound", message, "minimize the negative, or state an upper bound with 'certificate'")
    if program.meaning is None:
        hint = "write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)"
        _fail(program, "program", "a program says what its solution means", hint)


def _fail(program: Program, section: str, message: str, hint: str = "") -> NoReturn:
    """Raise at the line of a section."""
    program.source.fail(dict(program.spans).get(section, Span(1, 1)), message, hint)
