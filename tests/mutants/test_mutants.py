"""The table of wrong edits is true to the code; a few are tried here, all by ``mutants/run.py``."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from mutants import run
from mutants.table import MUTANTS, Mutant

ROOT = run.ROOT
TRIED = 12  # rows, evenly spaced


@cache
def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def functions(path: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(read(path))) if isinstance(node, ast.FunctionDef)]


def section(mutant: Mutant) -> str:
    """The text of the function that the row names; the whole file for a table or a program."""
    text = read(mutant.file)
    if not mutant.file.endswith(".py"):
        return text[text.index(f"\n{mutant.function}") :]
    named = [node for node in functions(mutant.file) if node.name == mutant.function]
    return "\n".join(ast.get_source_segment(text, node) or "" for node in named) or text


def test_rows_are_true_to_the_code(subtests: pytest.Subtests) -> None:
    for mutant in MUTANTS:
        with subtests.test(str(mutant)):
            assert run.edited(read(mutant.file), mutant) != read(mutant.file)
            assert mutant.old in section(mutant), f"not in {mutant.function}"
            assert mutant.tests
            for node in mutant.tests:
                path, _, name = node.partition("::")
                function = f"{name.partition('[')[0]}(" if name else "test_"
                assert f"def {function}" in read(f"tests/{path}"), node


def test_a_module_that_notices_an_edit_names_the_file(subtests: pytest.Subtests) -> None:
    """So that a line's test is found: by its folder and name, or by the docstring of the test's module."""
    for mutant in MUTANTS:
        if not mutant.file.endswith(".py") or not mutant.file.startswith("mmopt/"):
            continue
        path = Path(mutant.file).relative_to("mmopt")
        with subtests.test(str(mutant)):
            modules = {node.partition("::")[0] for node in mutant.tests}
            said = "\n".join(ast.get_docstring(ast.parse(read(f"tests/{name}"))) or "" for name in modules)
            folders = re.findall(r"all of ``mmopt/([\w/]+)``", said)
            assert (
                path.with_name(f"test_{path.name}").as_posix() in modules
                or path.name in said
                or any(path.is_relative_to(folder) for folder in folders)
            )


def test_there_are_enough_and_none_is_there_twice() -> None:
    assert len(set(MUTANTS)) == len(MUTANTS) >= 600
    folders = {Path(mutant.file).parts[1] for mutant in MUTANTS if mutant.file.endswith(".py")}
    assert folders >= {path.name for path in (ROOT / "mmopt").iterdir() if path.is_dir()} - {
        *("__pycache__", "programs"),
        *("cli", "request", "testing"),  # their words are asserted whole; what they compute stands elsewhere
    }


@pytest.mark.slow
def test_some_are_killed() -> None:
    """In a process of its own, which ends those that it forks trials from."""
    command = [sys.executable, str(Path(run.__file__)), "--slow", "--every", str(len(MUTANTS) // TRIED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
