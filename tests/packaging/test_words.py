"""Names and docstrings of the package are nouns and verbs of the field, not words that fit everything."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "mmopt"
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


def faults(text: str) -> list[str]:
    """Empty names in a module, and docstrings that begin with no noun and no verb."""
    bad = []
    for node in ast.walk(ast.parse(text)):
        bad += [name for name in names(node) if name in EMPTY]
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            docstring = ast.get_docstring(node) or ""
            bad += [docstring.split("\n")[0]] if docstring.startswith(BEGINNINGS) else []
    return bad


def test_no_name_is_empty_and_every_docstring_says_what_it_is_about() -> None:
    bad = {
        file.relative_to(PACKAGE): faults(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")
    }
    assert not {str(file): words for file, words in bad.items() if words}


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
