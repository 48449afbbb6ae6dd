"""The examples in docstrings, which start with >>>, run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "mmopt"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


def test_examples(subtests: pytest.Subtests) -> None:
    for path in WITH_EXAMPLES:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        with subtests.test(name):
            found = doctest.testmod(importlib.import_module(name))
            assert found.attempted > 0 and found.failed == 0


def test_there_are_some_and_they_can_fail() -> None:
    assert WITH_EXAMPLES
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1
