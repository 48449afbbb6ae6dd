"""Every mistake in a workload file and the full text of its error, as listed in refused/*.txt.

A case is "### name", the file, a line "--->", and the class and text of the error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mmopt.errors import Error
from mmopt.request import parse_request


def read_cases() -> dict[str, tuple[str, str]]:
    cases = {}
    for path in sorted((Path(__file__).parent / "refused").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").removeprefix("### ").split("\n### "):
            name, rest = case.split("\n", 1)
            text, error = rest.split("\n--->\n")
            assert f"{path.stem}: {name}" not in cases, f"{path}: '{name}' stands twice"
            cases[f"{path.stem}: {name}"] = (text, error.rstrip("\n"))
    return cases


CASES = read_cases()


@pytest.mark.parametrize("name", CASES)
def test_full_text(name: str) -> None:
    text, expected = CASES[name]
    with pytest.raises(Error) as caught:
        parse_request(text, "w.yaml")
    assert f"{type(caught.value).__name__}: {caught.value}" == expected


@pytest.mark.parametrize("name", CASES)
def test_place_lies_in_the_file(name: str) -> None:
    text, _ = CASES[name]
    with pytest.raises(Error) as caught:
        parse_request(text.replace("\n", "\r\n"), "w.yaml")
    where = caught.value.where
    assert where is not None
    line = text.split("\n")[where.line - 1]
    assert where.text == line
    assert 1 <= where.column <= len(line) + 1
    assert where.column - 1 + where.width <= max(len(line), where.column)
