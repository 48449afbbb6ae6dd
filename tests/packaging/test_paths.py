"""Every path that README.md and CONTRIBUTING.md name in backticks is one of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = [".py", ".md", ".program", ".yaml", ".toml", ".csv", ".json", ".svg"]
TOPS = ("mmopt", "tests", "examples", "programs")
LEFT_OUT = {"programs/NAME.program"}  # in words about a file to come
WRITTEN = {"answers.csv", "manifest.json"}  # in a release


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
