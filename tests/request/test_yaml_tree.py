from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from mmopt.errors import Error, WorkloadError
from mmopt.request import parse_request
from mmopt.request.yaml_nodes import ListNode, Map, Scalar, YamlNode
from mmopt.request.yaml_text import YamlText
from mmopt.request.yaml_tree import MAX_DEPTH, MAX_NODES, parse_tree


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


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=25).map("".join) | st.text(max_size=40))
def test_only_our_own_errors(text: str) -> None:
    try:
        parse_request(text, "w.yaml")
    except Error as error:
        assert error.where is not None
        assert str(error).startswith("w.yaml:")
