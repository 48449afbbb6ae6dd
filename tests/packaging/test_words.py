"""Names and docstrings of the package are nouns and verbs of the field, not words that fit everything."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "mmopt"
EMPTY = {"found", "own", "known", "asked", "beside", "besides", "klass", "said", "told", "met", "got"}
BEGINNINGS = ("Of ", "The same", "As ", "That ", "With ", "What ")


def names(node: ast.AST) -> Iterator[str]:
    """Names that a node gives: to a variable, an argument, a function, a class."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name


def bare_docstrings(tree: ast.Module) -> list[str]:
    """First lines of docstrings that begin with no noun and no verb."""
    first = [
        (ast.get_docstring(node) or "").split("\n")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
    ]
    return [line for line in first if line.startswith(BEGINNINGS)]


def faults(text: str) -> list[str]:
    """Empty names in a module, and its bare docstrings."""
    tree = ast.parse(text)
    return [name for node in ast.walk(tree) for name in names(node) if name in EMPTY] + bare_docstrings(tree)


def test_no_name_is_empty_and_every_docstring_says_what_it_is_about() -> None:
    bad = {
        file.relative_to(PACKAGE): faults(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")
    }
    assert not {str(file): words for file, words in bad.items() if words}


def test_docstrings_of_tests_and_examples_say_what_they_are_about() -> None:
    files = [file for folder in ("tests", "examples") for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    assert not [
        f"{file}: {line}"
        for file in files
        for line in bare_docstrings(ast.parse(file.read_text(encoding="utf-8")))
    ]


def test_an_empty_word_is_seen() -> None:
    text = '"""Of rows."""\ndef met(own):\n    """With a note."""\n    found = [known for known in own]\n'
    assert sorted(faults(text)) == ["Of rows.", "With a note.", "found", "known", "met", "own"]


def test_a_class_has_a_name_of_its_own() -> None:
    classes = Counter(
        node.name
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert classes["Workload"] == 1
    assert not [name for name, count in classes.items() if count > 1]
