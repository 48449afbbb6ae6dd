"""Attributes, small files and refusals that the tests of data share; files lie in the current folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector, marginal_counts
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Bins, Domain, Values


def values(name: str, *cells: Any, **rules: Any) -> Attribute:
    return Attribute(name, tuple(map(str, cells)), encoding=Values(cells), **rules)


def bins(name: str, *edges: float, **rules: Any) -> Attribute:
    encoding = Bins(edges)
    return Attribute(name, encoding.labels(), encoding=encoding, **rules)


ONE = Domain((values("a", 1, 2),))


def text(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def parquet(name: str = "t.parquet", **columns: Any) -> str:
    pq.write_table(pa.table(columns), name)
    return name


def counts(data: Any, *attributes: Attribute) -> list[int]:
    return [int(count) for count in data_vector(data, Domain(attributes)).counts]


def first_counts(data: Any, cells: Sequence[tuple[Any, ...]]) -> list[list[int]]:
    """How often the columns c0, c1, … of a table hold each of their cells."""
    rest = {"outside": "other", "missing": "other"}
    attributes = [
        Attribute(f"c{i}", (*map(str, range(len(own))), "other"), encoding=Values(own), **rest)
        for i, own in enumerate(cells)
    ]
    found = marginal_counts(data, Domain(tuple(attributes)).marginals(1))
    return [found.of((i,))[:-1].tolist() for i in range(len(cells))]


def refusal(data: Any, *asked: Any, **options: Any) -> str:
    """The text of the error for what is asked: attributes, a domain or a workload; else one attribute."""
    over = Domain(asked) if asked and isinstance(asked[0], Attribute) else asked[0] if asked else ONE
    with pytest.raises(DataError) as raised:
        data_vector(data, over, **options)
    # A chained error of the engine would quote confidential rows in a traceback.
    assert raised.value.__cause__ is None and (
        raised.value.__suppress_context__ or raised.value.__context__ is None
    )
    return str(raised.value)
