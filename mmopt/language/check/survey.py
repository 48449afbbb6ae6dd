"""A program line by line with its curvature, whether or not its lines are convex."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmopt.errors import ProgramError
from mmopt.language.atoms.types import Curvature
from mmopt.language.check.program import Checked, check
from mmopt.language.check.reading import Node, describe
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Constraint

__all__ = ["LineSurvey", "Survey", "survey"]


@dataclass(frozen=True)
class LineSurvey:
    """The objective (``constraint`` is None) or a constraint: its sides, and what each of them has to be.

    ``fault`` is the error that the check would raise, and ``blamed`` the node that it points at.
    """

    constraint: Constraint | None
    sides: tuple[Node, ...]
    wanted: tuple[str, ...]
    fault: ProgramError | None
    blamed: Node | None

    @property
    def name(self) -> str:
        return self.constraint.name if self.constraint else ""


@dataclass(frozen=True)
class Survey:
    """A program whose names and shapes fit, and its lines in order."""

    checked: Checked
    lines: tuple[LineSurvey, ...]


# Which curvature the left and the right side of a relation need.
SIDES = {
    "<=": ("convex", "concave"),
    "<<": ("convex", "concave"),
    ">=": ("concave", "convex"),
    ">>": ("concave", "convex"),
    "==": ("affine", "affine"),
}


def survey(program: Program) -> Survey:
    """The types of every node of the objective and the constraints.

    Raises :class:`~mmopt.errors.ProgramError` for names and shapes that do not fit, not for a line of
    the wrong curvature.
    """
    faults: dict[str, ProgramError] = {}
    checked = check(program, faults)
    program = checked.program
    lines = []
    # The objective of a procedure is evaluated after its steps, not optimised.
    if program.objective is not None and checked.objective is not None:
        wanted = "convex" if program.sense == "minimize" else "concave"
        lines.append(_line(None, (describe(checked, program.objective),), (wanted,), faults.get("")))
    for c in program.constraints:
        sides = tuple(describe(checked, e, c.family) for e in (c.relation.left, c.relation.right))
        lines.append(_line(c, sides, SIDES[c.relation.op], faults.get(c.name)))
    return Survey(checked, tuple(lines))


def _line(
    constraint: Constraint | None,
    sides: tuple[Node, ...],
    wanted: tuple[str, ...],
    fault: ProgramError | None,
) -> LineSurvey:
    blamed = _blamed(sides, fault) if fault else None
    return LineSurvey(constraint, sides, wanted, fault, blamed)


def _blamed(sides: tuple[Node, ...], fault: ProgramError) -> Node | None:
    """The node at which the error points: of several at one place the innermost that is neither."""
    where = fault.where
    if where is None:
        return None
    place = (where.line, where.column, where.width)
    found = [
        node
        for side in sides
        for node in _walk(side)
        if (node.expr.span.line, node.expr.span.column, node.expr.span.width) == place
    ]
    broken = [node for node in found if node.known.curvature is Curvature.UNKNOWN]
    return broken[-1] if broken else found[0] if found else None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from _walk(part)
