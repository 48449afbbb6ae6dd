"""The table of mutants is true to the code; a few are tried here, all by ``python tests/mutants/run.py``."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from mutants import run
from mutants.table import MUTANTS, Mutant

ROOT = run.ROOT
TRIED = 12  # rows, evenly spaced


def section(mutant: Mutant, text: str) -> str:
    """The text of the function that the row names; the whole file for a table or a program."""
    if not mutant.file.endswith(".py"):
        return text[text.index(f"\n{mutant.function}") :]
    found = [
        ast.get_source_segment(text, node) or "" for node in functions(text) if node.name == mutant.function
    ]
    return "\n".join(found) or text


@cache
def functions(text: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("mutant", MUTANTS, ids=map(str, range(len(MUTANTS))))
def test_a_row_is_true_to_the_code(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert run.edited(text, mutant) != text
    assert mutant.old in section(mutant, text), f"not in {mutant.function}"
    assert mutant.tests
    for node in mutant.tests:
        path, _, name = node.partition("::")
        tests = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0] or 'test_'}" in tests, node


def test_there_are_enough_and_none_is_there_twice() -> None:
    assert len(set(MUTANTS)) == len(MUTANTS) >= 75
    files = {mutant.file for mutant in MUTANTS}
    assert {Path(file).parts[1] for file in files if file.endswith(".py")} >= {
        *(
            "compiler",
            "data",
            "driver",
            "language",
            "mechanism",
            "numerics",
            "privacy",
            "strategies",
            "workloads",
        ),
    }


@pytest.mark.slow
def test_some_are_killed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run(MUTANTS[:: len(MUTANTS) // TRIED]) == 0, capsys.readouterr().out
