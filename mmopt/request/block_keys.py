"""Blocks of queries on one attribute, as a workload file says them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mmopt.errors import placed, suggest
from mmopt.request.domain_keys import check_name, read_members
from mmopt.request.query_words import BLOCK_NUMBERS, BLOCK_WORDS, CellWords, block_of, is_block_word
from mmopt.request.yaml_nodes import (
    ListNode,
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    integer,
    items,
    mapping,
    one_of,
    record,
    too_large,
)
from mmopt.workloads import Domain, Factor
from mmopt.workloads.blocks.factor_blocks import predicates, reordered, union

__all__ = [
    "BLOCK_FORMS",
    "MAX_ENTRIES",
    "Budget",
    "Vocabulary",
    "find_attribute",
    "read_block",
    "read_vocabularies",
]

MAX_ENTRIES = 2**26
"""Most numbers held for the blocks of one file, half a GiB: those of explicit predicates (predicates × cells
of their attribute), of the ends of hierarchies' blocks, of orders."""

BLOCK_FORMS = ("predicates", "union", "each", *BLOCK_NUMBERS, "reordered")


@dataclass
class Budget:
    """Numbers still allowed."""

    left: int = MAX_ENTRIES

    def take(self, node: YamlNode, rows: int, size: int, what: str = "explicit predicates") -> None:
        """Charge an array before it is formed."""
        if rows * size > self.left:
            too_large(
                node,
                f"{what} take more than {MAX_ENTRIES:,} entries in this file, with {rows:,} × {size:,} here",
                "identity, prefix, all_range, width_range and haar take none",
            )
        self.left -= rows * size


@dataclass(frozen=True)
class Vocabulary:
    """The words for blocks of queries on one attribute."""

    cells: CellWords
    groups: dict[str, tuple[int, ...]]
    budget: Budget
    named: dict[str, Factor] = field(default_factory=dict)


def read_vocabularies(
    node: YamlNode | None, domain: Domain, cells: dict[str, CellWords]
) -> dict[str, Vocabulary]:
    """The key ``predicates``: named blocks per attribute, each of which may use those above it."""
    budget = Budget()
    result = {a.name: Vocabulary(cells[a.name], dict(a.groups), budget) for a in domain.attributes}
    if node is not None:
        for key, blocks in mapping(node, "predicates").entries:
            words = find_attribute(key, result)
            for name, block in mapping(blocks, f"predicates of attribute '{key.text}'").entries:
                check_name(name, "list of predicates", words.cells, tuple(words.groups))
                words.named[name.text] = read_block(block, words)
    return result


def find_attribute(node: Scalar, vocabularies: dict[str, Vocabulary]) -> Vocabulary:
    """The vocabulary of an attribute that the file names."""
    if node.text not in vocabularies:
        fail(node, f"the domain has no attribute '{node.text}'", suggest(node.text, vocabularies))
    return vocabularies[node.text]


def read_block(node: YamlNode, words: Vocabulary) -> Factor:
    """One block: a word, a group or value, a list of predicates, or a mapping of ``BLOCK_FORMS``."""
    what = f"the block of attribute '{words.cells.name}'"
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and node.value in BLOCK_WORDS:
            return _closed(node, node.value, (), words)
        if node.text in BLOCK_NUMBERS:
            fail(node, f"'{node.text}' needs a number", f"write {{{node.text}: 5}}, for instance")
        if node.text in words.named:
            return words.named[node.text]
        if node.value is None:
            fail(node, f"{what} is missing", f"write one of {', '.join(BLOCK_WORDS)}, a group or a list")
        return _explicit(node, (node,), words, (*BLOCK_WORDS, *words.named))
    if isinstance(node, ListNode):
        return _explicit(node, items(node, what), words)
    assert isinstance(node, Map)
    form = one_of(record(node, what, (*BLOCK_FORMS, "order")), what, BLOCK_FORMS)
    value = node.by_key[form]
    if form == "reordered":
        return _reordered(node, words)
    if node.get("order") is not None:
        fail(node.key("order"), f"{what} has an order with {form}; order belongs to reordered: block")
    if form in BLOCK_NUMBERS:
        return _closed(value, form, (integer(value, form),), words)
    if form == "union":
        return union(*(read_block(part, words) for part in items(value, f"union in {what}")))
    if form == "each":
        return _each(value, words)
    return _explicit(value, items(value, f"predicates in {what}"), words)


def _closed(node: YamlNode, word: str, number: tuple[int, ...], words: Vocabulary) -> Factor:
    """A block that is held by its size, and by a number if it takes one."""
    if word == "hierarchy":
        words.budget.take(node, 4, words.cells.declared, "hierarchies")
    with placed(node.where):
        return block_of(word, number, words.cells)


def _reordered(node: Map, words: Vocabulary) -> Factor:
    """A block over the declared cells in the order that the file gives, each of them once."""
    order = node.get("order")
    name, declared = words.cells.name, words.cells.declared
    if order is None:
        fail(node, f"the block of attribute '{name}' is reordered and has no order", "add order: [value, …]")
    block = read_block(node.by_key["reordered"], words)
    cells = read_members(order, items(order, "order"), words.cells, words.groups, "order")
    if beside := [words.cells.labels[cell] for cell in cells if cell >= declared]:
        fail(order, f"the order of attribute '{name}' has '{beside[0]}', which is beside the values in order")
    if len(cells) < declared:
        missing = words.cells.labels[min(set(range(declared)).difference(cells))]
        fail(order, f"the order of attribute '{name}' lacks '{missing}', expected every value once")
    words.budget.take(order, 2, words.cells.size, "orders")
    return reordered(block, (*cells, *range(declared, words.cells.size)))


def _explicit(
    node: YamlNode, nodes: tuple[YamlNode, ...], words: Vocabulary, others: tuple[str, ...] = ()
) -> Factor:
    """One predicate per node; ``others`` are words that could have stood in its place."""
    words.budget.take(node, len(nodes), words.cells.size)
    chosen = [_predicate(item, words, others) for item in nodes]
    return _factor([cells for cells, _ in chosen], [label for _, label in chosen], words)


def _each(node: YamlNode, words: Vocabulary) -> Factor:
    """One predicate per cell."""
    nodes = items(node, "each") if isinstance(node, ListNode) else (node,)
    cells = read_members(node, nodes, words.cells, words.groups, "each")
    words.budget.take(node, len(cells), words.cells.size)
    return _factor([(cell,) for cell in cells], [words.cells.labels[cell] for cell in cells], words)


def _factor(rows: list[tuple[int, ...]], labels: list[str], words: Vocabulary) -> Factor:
    matrix = np.zeros((len(rows), words.cells.size))
    for row, cells in zip(matrix, rows, strict=True):
        row[list(cells)] = 1.0
    return predicates(matrix, labels)


def _predicate(node: YamlNode, words: Vocabulary, others: tuple[str, ...]) -> tuple[tuple[int, ...], str]:
    """The cells that a predicate counts, and its label."""
    if isinstance(node, Map):
        fail(
            node,
            f"a predicate of attribute '{words.cells.name}' must be a value, a group or a list of them, "
            f"found {describe(node)}",
            "combine blocks with {union: [block, block]}",
        )
    nodes = node.items if isinstance(node, ListNode) else (node,)
    for item in nodes:
        _refuse_block(item, words)
    cells = read_members(node, nodes, words.cells, words.groups, "a predicate", others)
    return cells, _label([item.text for item in nodes if isinstance(item, Scalar)])


def _refuse_block(node: YamlNode, words: Vocabulary) -> None:
    if isinstance(node, Scalar) and (is_block_word(node.text) or node.text in words.named):
        fail(
            node,
            f"'{node.text}' is a block of queries, expected a predicate: a value, a group or a list of them",
            f"combine blocks with {{union: [{node.text}, …]}}",
        )


def _label(names: list[str]) -> str:
    if len(names) <= 4:
        return " or ".join(names)
    return f"{' or '.join(names[:3])} or {len(names) - 3} more"
