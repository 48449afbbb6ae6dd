"""The law of the examples of atoms: each uses its atom, is convex, and ends at a value with a small gap.

Guards examples/site/atom_pages.py.
"""

from dataclasses import replace

import pytest

from mmopt import Program, solve
from mmopt.language import ATOMS, check
from mmopt.language.syntax.syntax_tree import Apply, walk
from tests.examples.scripts import script

CERTIFIED = 1e-5
atom_pages = script("site/atom_pages.py")
example_program, example_workload = atom_pages.example_program, atom_pages.example_workload


def used(program: Program) -> set[str]:
    """The atoms in the lines of a program."""
    sides = [side for c in program.constraints for side in (c.relation.left, c.relation.right)]
    lets = [let.expr for let in program.lets]
    return {
        node.atom for e in (program.objective, *sides, *lets) for node in walk(e) if isinstance(node, Apply)
    }


@pytest.mark.quick
def test_an_example_uses_its_atom_and_is_convex(subtests: pytest.Subtests) -> None:
    for name, atom in ATOMS.items():
        with subtests.test(name):
            program = Program.parse(example_program(atom))
            assert program.problem_class == "convex" and atom.name in used(program)
            check(program)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", ATOMS)
def test_an_example_ends_at_a_value_with_a_small_gap(name: str) -> None:
    solution = solve(example_workload(), Program.parse(example_program(ATOMS[name])), solver="clarabel")
    assert solution.gap is not None and solution.gap <= CERTIFIED


def test_the_errors_name_the_atom() -> None:
    with pytest.raises(ValueError) as error:
        example_program(replace(ATOMS["abs"], example="minimize abs(w) where w >= 1"))
    assert str(error.value) == "the example of 'abs' chooses nothing: 'minimize abs(w) where w >= 1'"
    with pytest.raises(ValueError) as error:
        example_program(replace(ATOMS["abs"], example="abs(x)"))
    assert str(error.value) == "the example of 'abs' is not 'minimize … where …': 'abs(x)'"
