"""Every mistake has its place in the file and the full text of its error, as ``mistakes.txt`` shows it.

Guards syntax/parse_expression.py, syntax/parse_statements.py, check/relation_checks.py, check/index_types.py
and check/solution_section_checks.py.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmopt.language.atoms.table_of_atoms import FUNCTIONS

# The statements around the mistake, so that it is the only one.
AROUND = {
    "constraint": {"objective": "sum(u)"},
    "choose": {"objective": "sum(u)", "constraint": "u <= 1"},
    "given": {"objective": "sum(u)", "constraint": "u <= 1"},
}


def mistakes() -> Iterator[tuple[str, str, str, str]]:
    """Which statement, its marked text, message and hint."""
    text = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
    slot = ""
    for row in text.rstrip("\n").split("\n\n")[1:]:
        if row.startswith("= "):
            slot = row[2:]
            continue
        marked, _, said = row.partition("\n! ")
        message, _, hint = said.partition("\n? ")
        yield slot, marked, message, hint.replace("{atoms}", ", ".join(sorted(FUNCTIONS)))


def test_every_mistake_is_refused_at_its_place(
    subtests: pytest.Subtests, program: Callable[..., str], refused: Callable[[str, str, str], None]
) -> None:
    for slot, marked, message, hint in mistakes():
        with subtests.test(marked):
            changed = {"more" if slot == "section" else slot: marked}
            refused(program(**AROUND.get(slot, {}), **changed), message, hint)
