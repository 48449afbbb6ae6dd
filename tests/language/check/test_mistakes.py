"""Every mistake has its place in the file and the full text of its error, as ``mistakes.txt`` shows it.

Guards sections_after_constraints.py, names_and_relations.py, infer_types.py,
language/syntax/parse_and_write_expressions.py, language/syntax/parse_statements.py,
language/syntax/source_text.py and language/syntax/program.py.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmopt.language import ATOMS, Program, check
from mmopt.language.atoms.table_of_atoms import FUNCTIONS

# The statements around the mistake, so that it is the only one.
AROUND = {
    "constraint": {"objective": "sum(u)"},
    "choose": {"objective": "sum(u)", "constraint": "u <= 1"},
    "given": {"objective": "sum(u)", "constraint": "u <= 1"},
}
LISTS = {
    "atoms": ", ".join(sorted(FUNCTIONS)),
    "gradients": ", ".join(sorted(name for name, atom in ATOMS.items() if atom.gradient)),
}


def mistakes() -> Iterator[tuple[str, str, str, str, str]]:
    """Name and program of a group; the marked text, message and hint of each mistake in it."""
    text = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
    name = program = ""
    for row in text.rstrip("\n").split("\n\n")[1:]:
        if row.startswith("= "):
            name, _, program = row.removeprefix("= ").partition("\n")
            if program:
                check(Program.parse(program))  # without a mistake it is none
            continue
        marked, _, said = row.partition("\n! ")
        message, _, hint = said.partition("\n? ")
        yield name, program, marked, message, hint.format(**LISTS) if "{" in hint else hint


def test_every_mistake_is_refused_at_its_place(
    subtests: pytest.Subtests, program: Callable[..., str], refused: Callable[[str, str, str], None]
) -> None:
    for name, whole, marked, message, hint in mistakes():
        with subtests.test(f"{name}: {marked}"):
            if whole:
                old, _, new = marked.partition("\n> ")
                assert old in whole
                refused(whole.replace(old, new, 1), message, hint)
            else:
                changed = {"more" if name == "section" else name: marked}
                refused(program(**AROUND.get(name, {}), **changed), message, hint)
