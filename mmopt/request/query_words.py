"""What a word of the file means for an attribute: a block of queries, or cells.

Cells are named by a label, a table value, or a run such as 18-64.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Callable
from functools import cached_property

from mmopt.errors import suggest
from mmopt.request.attribute_keys import Encoding
from mmopt.request.yaml_nodes import Scalar, YamlNode, fail, scalar
from mmopt.workloads import Bins, Categories, Factor, Values
from mmopt.workloads.blocks.factor_blocks import (
    all_range,
    haar,
    hierarchy,
    identity,
    padded,
    prefix,
    total,
    width_range,
)
from mmopt.workloads.calendar_periods import period_days
from mmopt.workloads.encodings import label_of

__all__ = ["BLOCK_NUMBERS", "BLOCK_WORDS", "OF_ALL_CELLS", "RUN", "CellWords", "block_of", "is_block_word"]

RUN = re.compile(r"(-?[0-9]{1,18})-(-?[0-9]{1,18})")
"""An inclusive run of integers: 18-64, -5--1."""

_MOST_LISTED = 12  # known names that a hint lists in full


class CellWords:
    """The cells of one attribute and the words for them.

    Parameters
    ----------
    name : the attribute's name.
    labels, encoding : as in ``mmopt.workloads.Attribute``; labels beyond the encoding's are of cells that
        hold no declared value.
    """

    def __init__(self, name: str, labels: tuple[str, ...], encoding: Encoding) -> None:
        self.name = name
        self.labels = labels
        self.encoding = encoding
        self.by_label = {label: i for i, label in enumerate(labels)}

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    def declared(self) -> int:
        """Number of cells that hold declared values, the first ones."""
        return self.encoding.size

    def find(self, node: YamlNode, others: tuple[str, ...] = (), noun: str = "value") -> tuple[int, ...]:
        """The cells that a word means.

        Parameters
        ----------
        node : a label or value of one cell, or a run of integers, both ends included; of bins of dates a
            day, month, quarter or year that is made up of cells.
        others : further words that the caller would have understood (groups), for the suggestion.
        noun : what the word could have been, for the message.
        """
        word = scalar(node, f"a value of attribute '{self.name}'")
        if (cell := self._one(word)) is not None:
            return (cell,)
        if isinstance(self.encoding, Bins) and self.encoding.dates:
            return self._period(word, self.encoding, others, noun)
        if isinstance(word.value, str) and (run := RUN.fullmatch(word.value)):
            return self._run(word, int(run.group(1)), int(run.group(2)))
        value = word.value
        if isinstance(value, int) and not isinstance(value, bool) and isinstance(self.encoding, Bins):
            alone = [i for i, ends in self._integers.items() if ends == (value, value)]
            if alone:
                return (alone[0],)
        fail(word, f"attribute '{self.name}' has no {noun} {_spelled(word)}", self._hint(word, others))

    def find_one(self, node: YamlNode) -> int | None:
        """The one cell that a label or value means, or None."""
        return self._one(node) if isinstance(node, Scalar) and node.value is not None else None

    def _one(self, word: Scalar) -> int | None:
        assert word.value is not None
        cell = self.by_label.get(label_of(word.value))
        if cell is None and isinstance(self.encoding, Values) and _numeric(word.value):
            # 1 and 1.0 are the same table value.
            cell = self._by_number.get(word.value)
        return cell

    @cached_property
    def _by_number(self) -> dict[object, int]:
        assert isinstance(self.encoding, Values)
        return {value: i for i, value in enumerate(self.encoding.values) if _numeric(value)}

    @cached_property
    def _integers(self) -> dict[int, tuple[int, int]]:
        """First and last integer of each cell that holds a run of integers."""
        if isinstance(self.encoding, Bins):
            pairs = [*enumerate(itertools.pairwise(self.encoding.edges))]
            if any(math.isfinite(edge) and not edge.is_integer() for edge in self.encoding.edges):
                return {}
            return {i: (int(a), int(b) - 1) for i, (a, b) in pairs if math.isfinite(b - a)}
        if isinstance(self.encoding, Values):
            values = enumerate(self.encoding.values)
            return {i: (v, v) for i, v in values if isinstance(v, int) and not isinstance(v, bool)}
        return {}

    def _run(self, word: Scalar, first: int, last: int) -> tuple[int, ...]:
        if not self._integers:
            fail(
                word,
                f"the run {word.text} needs a cell per integer or bins with integer edges, "
                f"attribute '{self.name}' has neither",
                self._hint(word, ()),
            )
        if first > last:
            fail(word, f"the run {word.text} goes down, expected {last}-{first}")
        for end, side, known in (
            (first, "starts", sorted({low for low, _ in self._integers.values()})),
            (last, "ends", sorted({high for _, high in self._integers.values()})),
        ):
            if end not in known:
                nearest = min(known, key=lambda value, end=end: abs(value - end))  # type: ignore[misc]
                fail(
                    word,
                    f"the run {word.text} {side} at {end}, where no cell of attribute '{self.name}' {side}",
                    f"the nearest cell {side} at {nearest}; both ends of a run are included",
                )
        return tuple(i for i, (low, high) in self._integers.items() if first <= low and high <= last)

    def _period(self, word: Scalar, bins: Bins, others: tuple[str, ...], noun: str) -> tuple[int, ...]:
        """The cells that make up a period of the calendar."""
        try:
            period = period_days(word.text)
        except ValueError as error:
            fail(word, f"{word.text} is no date: {error}")
        if period is None:
            fail(word, f"attribute '{self.name}' has no {noun} {_spelled(word)}", self._hint(word, others))
        first, end = (bisect.bisect_left(bins.edges, day) for day in period)
        if first >= end or [bins.edges[first], bins.edges[min(end, bins.size)]] != list(period):
            fail(
                word,
                f"{word.text} is not made up of cells of attribute '{self.name}'",
                f"the cells are {', '.join(bins.labels()[:3])}{', …' if bins.size > 3 else ''}",
            )
        return tuple(range(first, end))

    def _hint(self, word: Scalar, others: tuple[str, ...]) -> str:
        value, encoding = word.value, self.encoding
        if isinstance(encoding, Categories):
            for i, members in enumerate(encoding.members):
                if value in members:
                    return f"it belongs to the category '{self.labels[i]}': name the category"
        if isinstance(encoding, Bins) and isinstance(value, int | float) and not isinstance(value, bool):
            for i, (low, high) in enumerate(itertools.pairwise(encoding.edges)):
                if low <= value < high:
                    return f"it lies inside the cell '{self.labels[i]}'"
            first, last = encoding.edges[0], encoding.edges[-1]
            if math.isinf(first):
                return f"the cells end below {last:.12g}"
            return f"the cells go from {first:.12g}" + f" to below {last:.12g}" * math.isfinite(last)
        # Comparing with thousands of labels takes seconds; those of a long range are not misspelt words.
        known = (*others, *self.labels[:1000])
        hint = suggest(word.text, known)
        if hint.startswith("known") and len(known) > _MOST_LISTED:
            return f"known: {', '.join(known[: _MOST_LISTED - 2])}, …, {self.labels[-1]}"
        return hint


def _numeric(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _spelled(word: Scalar) -> str:
    return f"'{word.text}'" if isinstance(word.value, str) else word.text


BLOCK_WORDS: dict[str, Callable[[int], Factor]] = {
    "identity": identity,
    "total": total,
    "prefix": prefix,
    "all_range": all_range,
    "haar": haar,
    "hierarchy": hierarchy,
}
"""Blocks of queries on one attribute that need its size only."""

OF_ALL_CELLS = ("identity", "total")
"""Blocks that count cells beside the declared ones too; the others rest on an order, which those have not."""

BLOCK_NUMBERS: dict[str, Callable[[int, int], Factor]] = {
    "width_range": width_range,
    "hierarchy": hierarchy,
}
"""Blocks that take an integer too: ``{width_range: 5}``."""


def block_of(word: str, number: tuple[int, ...], cells: CellWords) -> Factor:
    """A block that is held by its size, and by a number if it takes one.

    WorkloadError for a number or a size that it does not take.
    """
    if word in OF_ALL_CELLS:
        return BLOCK_WORDS[word](cells.size)
    block = BLOCK_NUMBERS[word](cells.declared, *number) if number else BLOCK_WORDS[word](cells.declared)
    return padded(block, cells.size)


def is_block_word(text: str) -> bool:
    """Whether the word means a block of queries, so that no value, group or list may have it as its name."""
    return text in BLOCK_WORDS or text in BLOCK_NUMBERS
