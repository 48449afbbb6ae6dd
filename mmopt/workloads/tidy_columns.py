"""The meaning of each query for each attribute, as columns next to its label.

It comes from the factors of the products: the meaning of a row of a factor is computed once, however many
queries have it.
"""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from mmopt.limits import require_memory
from mmopt.numerics.arrays import Ints
from mmopt.workloads.blocks.combined_blocks import Padded, Stack
from mmopt.workloads.blocks.query_matrices import Implicit, Sparse
from mmopt.workloads.blocks.range_blocks import Prefix, Ranges
from mmopt.workloads.domain import Attribute, Bins
from mmopt.workloads.workload import Workload

Column = np.typing.NDArray[Any]

_ENTRIES = 2**20  # of a factor's rows that are computed together
_NAMED = 3  # cells that are listed for a set without a name
_SIZE_OF_ROW, _SIZE_OF_ATTRIBUTE = 32, 3  # the memory of a query's texts and figures, in doubles


class _RowMeanings(NamedTuple):
    """For each row of a factor its text (None: all cells), and first and last cell of its run (-1: none)."""

    texts: Column
    low: Ints
    high: Ints


def require_table(workload: Workload) -> None:
    """TooLargeError where a table with a row for each query does not fit in memory."""
    require_memory(
        (workload.m, _SIZE_OF_ROW + _SIZE_OF_ATTRIBUTE * len(workload.domain.attributes)),
        "table with a row for each query",
        hint="ask for fewer queries at a time; tables on a screen show the first of each product",
    )


def query_columns(workload: Workload, used_names: Collection[str]) -> dict[str, Column]:
    """Columns that describe the query of each row: query (its group) and label, then ``tidy_columns``.

    ``used_names`` are those of further columns. Raises as ``require_table``.
    """
    require_table(workload)
    groups = [name for name, rows in workload.groups() for _ in range(rows.stop - rows.start)]
    return {
        "query": np.array(groups, dtype=object),
        "label": np.array(workload.labels(), dtype=object),
        **tidy_columns(workload, ("query", "label", *used_names)),
    }


def tidy_columns(workload: Workload, used_names: Collection[str] = ()) -> dict[str, Column]:
    """By name, columns (m,) of the meaning of the queries of products, in the order of the attributes.

    An attribute that some query restricts has one column of texts under its name: a value ("Female"), a
    range ("[18, 25)"), the name of a group, of a prefix the words of its label ("up to 18-64", "< 25"), also
    of the last; None where any other query counts all cells. One of bins has two more, ``NAME_low`` and
    ``NAME_high``: the ends of the range of values that is counted, half-open; floats, or dates where the
    edges are dates; NaN or NaT where the range is open there, where the cells are not one run of bins, and
    where the text is None. A level has a column of its name, with the set that holds what a query counts.

    Names differ, even without regard to capitals, from each other and from the ``used_names``: any other gets
    an underscore at its end, the name of an end before that of an attribute.

    Queries given as a matrix have no meaning by attributes: where there are some, there are no columns.
    """
    products = workload.products
    if products is None:
        return {}
    meanings: dict[tuple[int, str], _RowMeanings] = {}
    restricted: list[tuple[Attribute, _RowMeanings]] = []
    for axis, attribute in enumerate(workload.domain.attributes):
        for about in (*(attribute.at_level(level)[0] for level in attribute.levels), attribute):
            parts = []
            for product in products:
                factor = product.factors[axis]
                key = id(factor), about.name  # equal factors are one object
                if key not in meanings:
                    inner, seen = factor.plain.viewed(attribute)
                    rows = _row_meanings(inner, seen)
                    meanings[key] = rows if seen.name == about.name else _around(rows, attribute, seen, about)
                counts = [f.rows for f in product.factors]
                before, behind = math.prod(counts[:axis]), math.prod(counts[axis + 1 :])
                parts.append([np.tile(np.repeat(column, behind), before) for column in meanings[key]])
            each = _RowMeanings(*map(np.concatenate, zip(*parts, strict=True)))
            if any(text is not None for text in each.texts):
                restricted.append((about, each))
    used = {name.casefold() for name in used_names}
    names = [_free(attribute.name, used) for attribute, _ in restricted]
    columns: dict[str, Column] = {}
    for name, (attribute, each) in zip(names, restricted, strict=True):
        columns[name] = each.texts
        if isinstance(attribute.encoding, Bins):
            for end, values in zip(("low", "high"), _ends(attribute.encoding, each), strict=True):
                columns[_free(f"{attribute.name}_{end}", used)] = values
    return columns


def _free(name: str, used: set[str]) -> str:
    """The name, with underscores at its end until it is not used, and now used; ``used`` has no capitals."""
    while name.casefold() in used:
        name += "_"
    used.add(name.casefold())
    return name


def _ends(bins: Bins, rows: _RowMeanings) -> tuple[Column, Column]:
    """The ends of the ranges of values that are counted; NaN or NaT as in ``tidy_columns``."""
    low, high = rows.low, rows.high
    is_range = (low >= 0) & (high < bins.size) & [text is not None for text in rows.texts]
    edges = np.array(bins.edges, dtype=float)
    edges[np.isinf(edges)] = np.nan
    columns = (np.where(is_range, edges[np.where(is_range, at, 0)], np.nan) for at in (low, high + 1))
    first, end = (values.astype("datetime64[D]") if bins.dates else values for values in columns)
    return first, end


def _around(rows: _RowMeanings, attribute: Attribute, seen: Attribute, level: Attribute) -> _RowMeanings:
    """The sets of a level that hold runs of ``seen``, of a finer one or of all cells; else without a text."""
    texts, order = np.full(len(rows.texts), None), [*attribute.levels, attribute.name]
    if order.index(level.name) < order.index(seen.name):
        sets = np.arange(attribute.size) if seen is attribute else attribute.at_level(seen.name)[1]
        above = np.array(attribute.levels[level.name], dtype=object)[np.unique(sets, return_index=True)[1]]
        run = np.cumsum(np.append(False, above[1:] != above[:-1]))
        is_part = (rows.low >= 0) & [text is not None for text in rows.texts]
        is_inside = is_part & (run[rows.low] == run[rows.high])
        texts[is_inside] = above[rows.low[is_inside]]
    return _RowMeanings(texts, *np.full((2, len(texts)), -1))


def _row_meanings(factor: Implicit, attribute: Attribute) -> _RowMeanings:
    """The meanings of the rows of a factor without weights."""
    if isinstance(factor, Stack):
        parts = (_row_meanings(block.plain, attribute) for block in factor.blocks)
        return _RowMeanings(*map(np.concatenate, zip(*parts, strict=True)))
    if isinstance(factor, Padded):  # its cells are the first ones, and no query counts all cells
        return _row_meanings(factor.inner.plain, attribute)
    if isinstance(factor, Ranges):
        low, high = factor.ends(np.arange(factor.rows))
        labels = factor.labels(attribute) if isinstance(factor, Prefix) else [None] * factor.rows
        texts = [
            _range_text(attribute, a, b) if label is None else _without_name(label, attribute.name)
            for a, b, label in zip(low.tolist(), high.tolist(), labels, strict=True)
        ]
        return _RowMeanings(np.array(texts, dtype=object), low, high)
    chunks = factor.chunks(max(1, _ENTRIES // factor.size))
    rows = [factor.values] if isinstance(factor, Sparse) else map(scipy.sparse.csr_array, chunks)
    return _of_sets(factor, attribute, list(map(_sets, rows)))


class _Sets(NamedTuple):
    """The cells in which rows (r,) are not 0: first, last, how many, whether they are 1; the first few."""

    low: Ints
    high: Ints
    cells: Ints
    is_set: np.typing.NDArray[np.bool_]
    few: list[list[int]]


def _sets(rows: scipy.sparse.csr_array) -> _Sets:
    """The sets of sparse rows."""
    starts = rows.indptr[:-1]  # no row is empty
    return _Sets(
        low=np.minimum.reduceat(rows.indices, starts).astype(np.int64),
        high=np.maximum.reduceat(rows.indices, starts).astype(np.int64),
        cells=np.diff(rows.indptr),
        is_set=np.logical_and.reduceat(rows.data == 1, starts),
        few=[np.sort(cells)[: _NAMED + 1].tolist() for cells in np.split(rows.indices, rows.indptr[1:-1])],
    )


def _of_sets(factor: Implicit, attribute: Attribute, chunks: list[_Sets]) -> _RowMeanings:
    """The name that was given to a set of cells, else its cells; for any other row its label."""
    low, high, counts, is_set = (np.concatenate(c) for c in list(zip(*chunks, strict=True))[:4])
    few = [cells for chunk in chunks for cells in chunk.few]
    is_run = is_set & (counts == high - low + 1)
    labels = [] if factor.names or is_set.all() else factor.labels(attribute)
    texts: list[str | None] = []
    for row, cells in enumerate(few):
        if is_set[row] and counts[row] == attribute.size:
            texts.append(None)
        elif factor.names:
            texts.append(factor.names[row])
        elif is_run[row]:
            texts.append(_range_text(attribute, int(low[row]), int(high[row])))
        elif is_set[row]:
            more = int(counts[row]) - _NAMED
            named = [attribute.labels[cell] for cell in (cells if more == 1 else cells[:_NAMED])]
            texts.append(" or ".join([*named, *([f"{more} more"] if more > 1 else [])]))
        else:
            texts.append(labels[row])
    return _RowMeanings(np.array(texts, dtype=object), np.where(is_run, low, -1), np.where(is_run, high, -1))


def _without_name(label: str, name: str) -> str:
    """The label of a prefix without the attribute's name, which is its first or its last word."""
    is_first = label.startswith(f"{name} ")
    return label.removeprefix(f"{name} ") if is_first else label.removesuffix(f" {name}")


def _range_text(attribute: Attribute, low: int, high: int) -> str | None:
    """The cells low to high, both included; None for all."""
    bins = attribute.encoding
    if high - low + 1 == attribute.size:
        return None
    if low == high:
        return attribute.labels[low]
    if not isinstance(bins, Bins) or high >= bins.size:
        return f"{attribute.labels[low]} to {attribute.labels[high]}"
    first, end = bins.edges[low], bins.edges[high + 1]
    if math.isinf(first):
        return "any" if math.isinf(end) else f"< {bins.edge_text(end)}"
    if math.isinf(end):
        return f">= {bins.edge_text(first)}"
    return f"[{bins.edge_text(first)}, {bins.edge_text(end)})"
