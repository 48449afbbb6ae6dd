"""Paths that README.md, CONTRIBUTING.md and the package's folders name in backticks: they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = [".py", ".md", ".program", ".yaml", ".toml", ".csv", ".json", ".svg"]
TOPS = ("mmopt", "tests", "examples", "programs")
LEFT_OUT = {"programs/NAME.program"}  # in words about a file to come
WRITTEN = {"answers.csv", "manifest.json"}  # in a release
FOLDERS = sorted(file.parent.relative_to(ROOT) for file in (ROOT / "mmopt").rglob("__init__.py"))


def paths(text: str) -> set[str]:
    """The words in backticks, outside blocks of code, that end as a file or a folder does."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    words = (word.partition("::")[0] for word in re.findall(r"`([\w./-]+(?:::\w+)?)`", plain))
    return {word for word in words if word.endswith((*ENDINGS, "/"))} - LEFT_OUT - WRITTEN


def is_there(word: str) -> bool:
    """From the root of the repository, or of the package; what is one name may be deeper in them."""
    if any((top / word).exists() for top in (ROOT, ROOT / "mmopt")):
        return True
    return "/" not in word.rstrip("/") and any(any((ROOT / top).rglob(word.rstrip("/"))) for top in TOPS)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_paths_exist(name: str) -> None:
    found = paths((ROOT / name).read_text(encoding="utf-8"))
    assert len(found) > 5
    assert not sorted(word for word in found if not is_there(word))


def test_a_test_that_is_named_is_there() -> None:
    """One without a file is in the file of tests that was named before it."""
    text, file, count = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "", 0
    for path, test in re.findall(r"`(tests/[\w./-]+\.py)?(?:::(\w+))?`", text):
        file = path or file
        if test:
            count += 1
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (file, test)
    assert count > 10


def test_a_path_that_is_not_there_is_seen() -> None:
    assert paths("see `pipeline/audit/` and `spec.py`\n```\n`no.py`\n```\n") == {"pipeline/audit/", "spec.py"}
    assert not is_there("pipeline/audit/") and not is_there("mmopt/spec.py")


def contents(folder: Path) -> set[str]:
    """The files of a folder, and the folders in it, as docstrings name them."""
    files = {file.name for file in folder.glob("*.py")} - {"__init__.py"}
    return files | {f"{file.parent.name}/" for file in folder.glob("*/__init__.py")}


def named(folder: Path) -> set[str]:
    """What the docstring of a folder names of it; what stands elsewhere is named as a module."""
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    return set(re.findall(r"``(\w+\.py|\w+/)``", ast.get_docstring(ast.parse(text)) or ""))


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_says_what_is_in_it(folder: Path) -> None:
    there, said = contents(ROOT / folder), named(ROOT / folder)
    assert not there - said, f"the docstring of {folder}/__init__.py does not name {sorted(there - said)}"
    assert not said - there, f"the docstring of {folder}/__init__.py names {sorted(said - there)}, not there"


def test_a_folder_that_says_too_little_or_too_much_is_seen(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""``old.py`` and ``rooms/``."""', encoding="utf-8")
    (tmp_path / "new.py").write_text("", encoding="utf-8")
    assert contents(tmp_path) == {"new.py"}
    assert named(tmp_path) == {"old.py", "rooms/"}


@pytest.mark.parametrize(
    ("name", "pattern"), [("README.md", r"`mmopt/(\w+)/`"), ("CONTRIBUTING.md", r"`(\w+)/`")]
)
def test_tables_of_where_things_are_name_every_folder(name: str, pattern: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8").split("\n## Where things are\n")[1].partition("\n## ")[0]
    table = "\n".join(line for line in text.split("\n") if line.startswith("|"))
    missing = {word for word in contents(ROOT / "mmopt") if word.endswith("/")} - {
        f"{word}/" for word in re.findall(pattern, table)
    }
    assert not missing, f"'Where things are' in {name} does not name {sorted(missing)}"
