"""The text of a workload file (yaml_text), and its tree of values, each with its place (yaml_tree).

Guards yaml_tree.py.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mmopt.errors import Error, WorkloadError
from mmopt.request import load_request, parse_request
from mmopt.request.yaml_tree import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    ListNode,
    Map,
    Scalar,
    YamlNode,
    YamlText,
    parse_tree,
    resolve,
)


def plain(node: YamlNode) -> object:
    if isinstance(node, Map):
        return {key.text: plain(value) for key, value in node.entries}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    assert isinstance(node, Scalar)
    return node.value


def parse(text: str) -> YamlNode:
    return parse_tree(YamlText.of(text, "w.yaml"))


def test_values_and_places() -> None:
    text = "a: [1, 'NO', NO]  # comment\nbé:\n  - {c: 1.5, d: }\n  - \"x y\"\n"
    root = parse(text)
    assert plain(root) == {"a": [1, "NO", "NO"], "bé": [{"c": 1.5, "d": None}, "x y"]}

    def check(node: YamlNode) -> None:
        if isinstance(node, Scalar) and node.text:
            shown = node.where.text[node.where.column - 1 :][: node.where.width]
            assert shown.strip("'\"") == node.text
        for child in node.items if isinstance(node, ListNode) else ():
            check(child)
        for pair in node.entries if isinstance(node, Map) else ():
            for child in pair:
                check(child)

    check(root)


def test_missing_value_is_placed_at_its_key() -> None:
    root = parse("first:\n\n\nsecond: 1")
    assert isinstance(root, Map)
    assert root.by_key["first"].where == root.key("first").where


def test_aliases_are_the_anchored_values() -> None:
    root = parse("a: &x [1, 2]\nb: *x\nc: [*x, *x]")
    assert plain(root) == {"a": [1, 2], "b": [1, 2], "c": [[1, 2], [1, 2]]}
    assert root.count == (1 + 3) + (3 + 3) + (1 + 3 + 3)


def test_depth() -> None:
    inside = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert isinstance(parse(inside), ListNode)
    with pytest.raises(WorkloadError, match=f"values are nested deeper than {MAX_DEPTH} levels"):
        parse("[" + inside + "]")
    with pytest.raises(WorkloadError, match=f"values are nested deeper than {MAX_DEPTH} levels"):
        parse("[" * 1_000_000)


def test_aliases_that_multiply() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(WorkloadError) as caught:
        parse("\n".join(lines))
    assert str(caught.value) == (
        f"w.yaml:5:5: the file has more than {MAX_NODES:,} values, aliases written out\n"
        "    a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]\n"
        "        ^\n"
        "  use range, bins, prefix or all_range instead of long lists"
    )


PIECES = """domain workload sex values bins range width groups marginal product union prefix predicates
    privacy epsilon rho 1 -1 1.5 .nan F [ ] { } ' " &a *a # | ? é %"""
WORDS = st.sampled_from([*PIECES.split(), "", ": ", ", ", "\n", "\n  ", "\n- ", "!!str ", "---\n", "\t"])


@settings(max_examples=40)
@given(st.lists(WORDS, max_size=25).map("".join) | st.text(max_size=40))
def test_only_our_own_errors(text: str) -> None:
    try:
        parse_request(text, "w.yaml")
    except Error as error:
        assert error.where is not None
        assert str(error).startswith("w.yaml:")


TEXTS = "NO no yes on Off y 12:30 2001-01-01 1_000 18-64 0b11 1,5 + - . e5 nan inf << = TrUe 1e 0o8"
VALUES = {
    "": None,
    "~": None,
    "null": None,
    "NULL": None,
    "true": True,
    "False": False,
    "0": 0,
    "-7": -7,
    "+12": 12,
    "0x1F": 31,
    "0o17": 15,
    "9223372036854775807": 2**63 - 1,
    "1.0": 1.0,
    ".5": 0.5,
    "5.": 5.0,
    "1e5": 1e5,
    "1e-6": 1e-6,
    "1.0E-6": 1e-6,
    ".inf": math.inf,
    "-.Inf": -math.inf,
}
SURPRISES = "01 -007 00 9223372036854775808 0x8000000000000000 1e999"


def test_what_a_word_means(subtests: pytest.Subtests) -> None:
    for word, value in {**{word: word for word in TEXTS.split()}, **VALUES}.items():
        with subtests.test(word):
            found = resolve(word)
            assert found == value and type(found) is type(value)
    assert math.isnan(resolve(".nan"))  # type: ignore[arg-type]
    for word in (*SURPRISES.split(), "9" * 5000):
        with subtests.test(word), pytest.raises(WorkloadError):
            resolve(word)


@settings(max_examples=25)
@given(
    st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12)
)
def test_numbers_are_read_exactly_and_every_word_has_one_meaning(value: float, word: str) -> None:
    found = resolve(repr(value))
    assert found == value
    assert type(found) is type(value)
    try:
        meant = resolve(word)
    except WorkloadError:
        return
    assert meant is None or isinstance(meant, bool | int | float) or meant == word


GOOD = "domain: {sex: {values: [F, M]}}\nworkload: [{marginal: [sex]}]\n"


def refusal(path: Path) -> str:
    with pytest.raises(WorkloadError) as caught:
        load_request(path)
    return str(caught.value).replace(str(path.parent), "DIR")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text(GOOD)
    (tmp_path / "folder").mkdir()
    np.savez(tmp_path / "w.npz", a=1)
    (tmp_path / "long.yaml").write_bytes(GOOD.encode() + b"#" * MAX_BYTES)
    for name, said in (
        ("worklaod.yaml", "there is no workload file 'DIR/worklaod.yaml'\n  did you mean 'workload.yaml'?"),
        ("folder", "'DIR/folder' is a folder, expected a workload file (YAML)"),
        (
            "w.npz",
            "'DIR/w.npz' is an archive, such as a saved result, expected a workload file (YAML)\n"
            "  'mmopt verify RESULT WORKLOAD' takes the result first",
        ),
        (
            "long.yaml",
            "the workload file 'DIR/long.yaml' is longer than 2 MiB\n"
            "  a workload file declares the domain and the queries; the data go into a table",
        ),
    ):
        assert refusal(tmp_path / name) == said
    assert refusal(tmp_path / "no" / "w.yaml") == "there is no workload file 'DIR/w.yaml'"
    assert refusal(tmp_path / "a\0b").startswith("the workload file 'DIR/a\0b' cannot be read: ")
    with pytest.raises(WorkloadError, match=r"'<text>' is longer than 2 MiB"):
        parse_request("#" * (MAX_BYTES + 1))


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(GOOD.encode() + "# Zürich ".encode() + b"Gen\xe8ve\n")
    assert refusal(path) == (
        "DIR/w.yaml:3:13: byte 0xE8 is not valid UTF-8\n"
        "    # Zürich Gen�ve\n"
        "                ^\n"
        "  save the file as UTF-8 (it may be in Latin-1 or UTF-16 now)"
    )
    path.write_bytes(GOOD.encode("utf-16"))
    assert "DIR/w.yaml:1:1: byte 0xFF is not valid UTF-8" in refusal(path)


def test_character_outside_yaml(subtests: pytest.Subtests) -> None:
    """Or one that shows a text in another order."""
    turning = [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F]
    for character in ["\x00", "\x01", "\x1b", "\x7f", "\ufffe", "\ud800", *map(chr, turning)]:
        with subtests.test(ascii(character)):
            with pytest.raises(WorkloadError) as caught:
                parse_request(f"domain:\n  a{character}b: 1", "w.yaml")
            assert str(caught.value) == (
                f"w.yaml:2:4: the character U+{ord(character):04X} is not allowed in a workload file\n"
                "      a\ufffdb: 1\n"
                "       ^\n"
                "  remove it, or write it as an escape inside double quotes"
            )


def test_a_number_that_is_too_large_for_the_parser(subtests: pytest.Subtests) -> None:
    for text, place in [
        ("%YAML 1." + "9" * 8_000, "1:1"),
        ('domain: "\\UFFFFFFFF"', "1:7"),
        ('domain:\n  a: "\\U00110000"', "2:4"),
        ('"\\U00110000": 1', "1:1"),
    ]:
        with subtests.test(text[:20]):
            with pytest.raises(WorkloadError) as caught:
                parse_request(text, "w.yaml")
            assert str(caught.value).startswith(
                f"w.yaml:{place}: not valid YAML: a number after this is too "
            )
    with pytest.raises(WorkloadError, match=r"U\+D800"):
        parse_request('domain: "\\uD800"', "w.yaml")


def test_tab(subtests: pytest.Subtests) -> None:
    for text in ["domain:\n\tsex: {values: [F]}", "domain:\n  sex:\n\t- F"]:
        with subtests.test(repr(text)):
            with pytest.raises(WorkloadError) as caught:
                parse_request(text, "w.yaml")
            line = 1 + text[: text.index("\t")].count("\n")
            assert str(caught.value).startswith(f"w.yaml:{line}:1: not valid YAML: a tab character\n")
            assert str(caught.value).endswith("\n    ^\n  indent with spaces")


def test_line_breaks_and_byte_order_mark(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for end in ["\n", "\r\n", "\r"]:
        with subtests.test(repr(end)):
            path = tmp_path / "w.yaml"
            path.write_bytes(("\ufeff" + GOOD.replace("\n", end)).encode())
            assert load_request(path).workload.shape == (2, 2)
            path.write_bytes(
                ("\ufeff# comment" + end + GOOD.replace("sex]", "sxe]").replace("\n", end)).encode()
            )
            assert refusal(path).startswith("DIR/w.yaml:3:24: the domain has no attribute 'sxe'\n")


def test_place_after_the_last_line() -> None:
    text = YamlText.of("a: 1\nb: 2  \n\n", "w.yaml")
    where = text.at(3, 0)
    assert (where.line, where.column, where.text) == (2, 5, "b: 2  ")
