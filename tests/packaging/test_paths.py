"""Files and modules that the READMEs, CONTRIBUTING.md, docstrings and comments name: they are there."""

import ast
import importlib.util
import re
from functools import cache
from itertools import filterfalse
from pathlib import Path

import pytest

import mmopt

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = [".py", ".md", ".program", ".yaml", ".toml", ".csv", ".json", ".svg"]
TOPS = ("mmopt", "tests", "examples", "programs")
LEFT_OUT = {  # in words about a file to come
    "programs/NAME.program",
    "examples/lessons/NN-short-name.md",
    "exercises_NN.py",
    "tests/examples/lesson_answers_NN.py",
}
WRITTEN = {"answers.csv", "manifest.json"}  # in a release
PACKAGE = ROOT / "mmopt"
PROSE = re.compile(r'"""[\s\S]*?"""|#[^\n]*')
READMES = sorted((ROOT / "examples").rglob("README.md"))
MODULES = sorted(PACKAGE.rglob("*.py"))
HOMES = [*MODULES, *(file.parent for file in PACKAGE.rglob("*/__init__.py"))]
PLACEHOLDERS = {"name", "v", "step"}  # of a step or a vector of a program, whatever its name
WORDS = {"NULL", "NO"}  # of tables and of YAML, no constants


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


def test_paths_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        found = paths((ROOT / name).read_text(encoding="utf-8"))
        assert found, name
        assert not sorted(filterfalse(is_there, found)), name
    for file in READMES:
        assert not sorted(filterfalse(is_there, files_named(file.read_text(encoding="utf-8")))), file


def test_a_test_that_is_named_is_there() -> None:
    """One without a file is in the file of tests that was named before it."""
    text, file, count = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "", 0
    for path, test in re.findall(r"`(tests/[\w./-]+\.py)?(?:::(\w+))?`", text):
        file = path or file
        if test:
            count += 1
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (file, test)
    assert count


def contents(folder: Path) -> set[str]:
    """The files of a folder, and the folders in it, as docstrings name them."""
    files = {file.name for file in folder.glob("*.py")} - {"__init__.py"}
    return files | {f"{file.parent.name}/" for file in folder.glob("*/__init__.py")}


def named(folder: Path) -> set[str]:
    """The files that the docstring of a folder names; files elsewhere are named as modules."""
    return set(re.findall(r"``(\w+\.py|\w+/)``", prose(folder / "__init__.py")))


def test_a_folder_says_what_is_in_it(subtests: pytest.Subtests) -> None:
    for file in PACKAGE.rglob("__init__.py"):
        with subtests.test(str(file.relative_to(ROOT))):
            assert named(file.parent) == contents(file.parent)


def test_tables_of_where_things_are_name_every_folder() -> None:
    folders = {word for word in contents(PACKAGE) if word.endswith("/")}
    for name, pattern in (("README.md", r"`mmopt/(\w+/)`"), ("CONTRIBUTING.md", r"`(\w+/)`")):
        lines = [line for line in (ROOT / name).read_text(encoding="utf-8").split("\n") if line[:1] == "|"]
        assert not folders - set(re.findall(pattern, "\n".join(lines))), name


def prose(file: Path) -> str:
    """The comments of a module, and its texts in three quotes."""
    return "\n".join(PROSE.findall(file.read_text(encoding="utf-8")))


@cache
def names(file: Path) -> set[str]:
    """The words of the rest of a module, and what its package hands on."""
    words = set(re.findall(r"\w+", PROSE.sub(" ", file.read_text(encoding="utf-8"))))
    return words | (set(dir(mmopt)) if file == PACKAGE / "__init__.py" else set())  # resolved on first use


def leads_somewhere(home: Path, parts: list[str]) -> bool:
    """Whether a module, or a folder, has what the rest of a dotted word names."""
    if not parts:
        return True
    if not home.is_dir():
        return parts[0] in names(home)
    inside = [path for path in (home / parts[0], home / f"{parts[0]}.py") if path.exists()]
    return any(leads_somewhere(path, parts[1:]) for path in inside) or parts[0] in names(home / "__init__.py")


def resolves(word: str, file: Path) -> bool:
    """Whether a dotted word leads to something: in the package, in ``file`` itself, or in a library."""
    first, *rest = word.split(".")
    homes = [PACKAGE] if first == "mmopt" else [path for path in HOMES if path.stem == first]
    if homes:
        return any(leads_somewhere(home, rest) for home in homes)
    return first in names(file) | PLACEHOLDERS or importlib.util.find_spec(first) is not None


def files_named(text: str) -> set[str]:
    """Words that end as a module of Python does, with their folders where these are said."""
    return set(re.findall(r"(?<![\w.*])[\w/-]+\.py\b(?!\.)", text))


def lost(file: Path) -> list[str]:
    """Things that the prose of a module names and that do not exist: files, dotted names, constants."""
    text = prose(file)
    dotted = re.findall(r"``([a-z_]\w*(?:\.\w+)+)(?:\(.*?\))?``", text)
    constants = set(re.findall(r"``([A-Z][A-Z_]+)``", text)) - WORDS
    bad = list(filterfalse(is_there, files_named(text)))
    bad += [word for word in dotted if not word.endswith(tuple(ENDINGS)) and not resolves(word, file)]
    return bad + [word for word in constants if not any(word in names(other) for other in MODULES)]


def test_modules_name_what_is_there() -> None:
    assert not [f"{file.relative_to(ROOT)}: {word}" for file in MODULES for word in lost(file)]


def test_what_a_module_names_and_is_not_there_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    gone = ["gone.py", "gone.named", "limits.gone", "mmopt.gone", "GONE"]
    there = [
        "limits.py",
        "limits.require_memory",
        "mmopt.limits",
        "mmopt.solve",
        "here.named",
        "numpy.linalg",
    ]
    lines = [f"# ``{word}``" for word in [*there, *gone]]
    file.write_text("\n".join([*lines, "here = 1", ""]), encoding="utf-8")
    assert sorted(lost(file)) == sorted(gone)


def test_each_file_of_the_package_is_guarded_by_a_module_that_names_it() -> None:
    """By its own name in the mirrored folder, or in the docstring of a module of tests."""
    tests = ROOT / "tests"
    docstrings = {file.parent.relative_to(tests): "" for file in sorted(tests.rglob("test_*.py"))}
    everywhere = ""
    for file in sorted(tests.rglob("test_*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        docstrings[file.parent.relative_to(tests)] += f" {docstring}"
        everywhere += f" {docstring}"
    unnamed = []
    for file in MODULES:
        path = file.relative_to(PACKAGE)
        has_own = (tests / path.parent / f"test_{path.name}").exists()
        word = rf"(?<![\w/]){re.escape(path.name)}\b"
        is_named = re.search(word, docstrings.get(path.parent, "")) or path.as_posix() in everywhere
        if path.name != "__init__.py" and not has_own and not is_named:
            unnamed.append(path.as_posix())
    assert not unnamed
