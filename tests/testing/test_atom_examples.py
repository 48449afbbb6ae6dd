"""The law of the examples of atoms: each uses its atom, is convex, and ends at a value with a small gap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mmopt import Error, Program, solve
from mmopt.language import ATOMS, check
from mmopt.language.atoms.atom import Atom
from mmopt.language.syntax.syntax_tree import Apply, walk
from mmopt.testing.atom_examples import example_program, example_workload

CERTIFIED = 1e-5


def used(program: Program) -> set[str]:
    """The atoms in the lines of a program."""
    sides = [side for c in program.constraints for side in (c.relation.left, c.relation.right)]
    lets = [let.expr for let in program.lets]
    return {
        node.atom for e in (program.objective, *sides, *lets) for node in walk(e) if isinstance(node, Apply)
    }


def law_of_text(atom: Atom) -> None:
    program = Program.parse(example_program(atom))
    assert program.klass == "convex"
    assert atom.name in used(program)
    check(program)


def law_of_value(atom: Atom) -> None:
    solution = solve(example_workload(), Program.parse(example_program(atom)), solver="clarabel")
    assert solution.gap is not None, f"no bound for the example of '{atom.name}'"
    assert solution.gap <= CERTIFIED


@pytest.mark.quick
def test_law_of_text(subtests: pytest.Subtests) -> None:
    for name in ATOMS:
        with subtests.test(name):
            law_of_text(ATOMS[name])


@pytest.mark.some(4)
@pytest.mark.parametrize("name", ATOMS)
def test_law_of_value(name: str) -> None:
    law_of_value(ATOMS[name])


def test_a_wrong_line_breaks_the_law_of_text() -> None:
    for line in [
        "minimize sum(d) where W @ d >= 1",  # another atom
        "maximize norm(x) where W @ x <= 1",  # not convex
        "minimize norm(x) where W @ x >= unknown",
        "minimize norm(x)",
        "minimize norm(w) where w >= 1",  # nothing is chosen
    ]:
        with pytest.raises((AssertionError, ValueError, Error)):
            law_of_text(replace(ATOMS["norm 2"], example=line))


def test_a_problem_without_a_solution_breaks_the_law_of_value() -> None:
    for line in ["minimize max(x) where sum(x) <= 1", "minimize norm(x) where sum(d) >= 1; sum(d) <= 0"]:
        with pytest.raises((AssertionError, Error)):
            law_of_value(replace(ATOMS["norm 2"], example=line))


def test_the_errors_name_the_atom() -> None:
    with pytest.raises(ValueError) as error:
        example_program(replace(ATOMS["abs"], example="minimize abs(w) where w >= 1"))
    assert str(error.value) == "the example of 'abs' chooses nothing: 'minimize abs(w) where w >= 1'"
    with pytest.raises(ValueError) as error:
        example_program(replace(ATOMS["abs"], example="abs(x)"))
    assert str(error.value) == "the example of 'abs' is not 'minimize … where …': 'abs(x)'"
