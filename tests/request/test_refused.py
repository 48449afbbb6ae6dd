"""Every mistake in a workload file has the error listed in refused/*.txt, whose place lies in the file.

The dictionary of a file says the same in Python, and is refused in the same words.

A case is "### name", the file, a line "--->", and the class and text of the error.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mmopt.errors import Error
from mmopt.request import Request, load_request, parse_request
from mmopt.request.yaml_tree import ListNode, Map, Scalar, YamlNode, YamlText, parse_tree

HERE = Path(__file__).parent


def read_cases() -> dict[str, tuple[str, str]]:
    cases = {}
    for path in sorted((HERE / "refused").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").removeprefix("### ").split("\n### "):
            name, rest = case.split("\n", 1)
            text, error = rest.split("\n--->\n")
            assert f"{path.stem}: {name}" not in cases, f"{path}: '{name}' appears twice"
            cases[f"{path.stem}: {name}"] = (text, error.rstrip("\n"))
    return cases


CASES = read_cases()


@cache
def error_of(text: str) -> Error:
    with pytest.raises(Error) as caught:
        parse_request(text, "w.yaml")
    return caught.value


def test_full_text_and_a_place_that_lies_in_the_file(subtests: pytest.Subtests) -> None:
    for name, (text, expected) in CASES.items():
        with subtests.test(name):
            error = error_of(text)
            assert f"{type(error).__name__}: {error}" == expected
            where = error.where
            assert where is not None
            line = text.split("\n")[where.line - 1]
            assert where.text == line
            assert 1 <= where.column <= len(line) + 1
            assert where.column - 1 + where.width <= max(len(line), where.column)


def python_of(text: str) -> Any:
    """The Python values that a YAML text stands for."""

    def value(node: YamlNode) -> Any:
        if isinstance(node, Map):
            return {key.value: value(inner) for key, inner in node.entries}
        if isinstance(node, ListNode):
            return [value(item) for item in node.items]
        assert isinstance(node, Scalar)
        return node.value

    return value(parse_tree(YamlText.of(text, "w.yaml")))


def test_a_file_and_its_dictionary_say_the_same(subtests: pytest.Subtests) -> None:
    for path in sorted((HERE.parents[1] / "examples").rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^workload:", text, re.M):  # another table, in YAML too
            continue
        with subtests.test(str(path)):
            request, found = load_request(path), Request.of(python_of(text))
            assert found.workload == request.workload
            assert found.workload.groups() == request.workload.groups()
            assert (found.privacy, found.neighbours) == (request.privacy, request.neighbours)
            assert (found.path, found.text_hash) == ("<Python>", request.workload.hash)


def plain_words(message: str) -> str:
    """A message without places, with Python's words for what is no number and for nothing."""
    message = re.sub(r"first in .*", "", message)
    return message.replace(".inf", "inf").replace(".nan", "nan").replace("null", "nothing")


def test_every_error_of_a_file_is_had_in_python(subtests: pytest.Subtests) -> None:
    """But of what is wrong in the YAML itself; and in Python a list of values will do for an attribute."""
    compared = 0
    for name, (text, _) in CASES.items():
        try:
            values = python_of(text)
        except Error:
            continue
        if not isinstance(values, dict):
            continue
        with subtests.test(name):
            if name == "domain: attribute list":
                assert Request.of(values).workload.n > 0
                continue
            of_file = error_of(text)
            with pytest.raises(Error) as of_python:
                Request.of(values)
            compared += 1
            assert type(of_python.value) is type(of_file)
            assert plain_words(of_python.value.message) == plain_words(of_file.message)
            assert of_python.value.hint == of_file.hint
            assert of_python.value.where is not None
            assert re.split(r"[.\[]", of_python.value.where.file)[0] in {*map(str, values), "the dictionary"}
    assert compared > 200
