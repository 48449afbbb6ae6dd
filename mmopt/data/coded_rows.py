"""The rows of an opened table as codes of cells, one column an attribute: an expression, not yet computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.data.cell_codes import code_of, reading_of
from mmopt.data.open_table import TableColumns
from mmopt.data.part_of_rows import Part, is_in_part
from mmopt.data.person_rows import KEPT, NOBODY, kept_rows, person_of
from mmopt.data.weight_column import weight_fault, weight_of
from mmopt.strategies import Neighbours
from mmopt.workloads.domain import Attribute

__all__ = ["code_name", "coded_rows", "counts_by_group", "in_steps", "integers"]

_BATCH = 2**16
"""Groups that come back from the engine at a time."""


def code_name(place: int) -> str:
    """The column with the codes of the attribute that is read at this place."""
    return f"code{place}"


def coded_rows(
    opened: TableColumns,
    read: Sequence[Attribute],
    weight: str | None,
    part: Part | None = None,
    unit: Neighbours | None = None,
    salt: str = "",
) -> Any:
    """An Ibis table with the code of each attribute, named as ``code_name`` says; may be asked for once.

    With a weight also ``fault`` and ``weight``, as in ``weight_column``; with a unit whose column names
    persons ``KEPT`` and ``NOBODY``, as in ``person_rows``. Without, of no attributes, all that is told is the
    number of rows. Of a part: its rows alone.
    """
    rows, columns = opened.rows()
    readings = [reading_of(a, columns[a.column], opened.name) for a in read]
    fault = {} if weight is None else {"fault": weight_fault(columns[weight], opened.name, weight)}
    in_part = {} if part is None else {"in_part": is_in_part(columns[part[0]], opened.name, part)}
    person = {} if unit is None else {"person": person_of(columns[unit.column], opened.name, unit.column)}
    if not (readings or fault or in_part or person):
        return rows
    seen = {f"{name}{i}": own for i, one in enumerate(readings) for name, own in one.columns().items()}
    weights = {} if weight is None else {"weight": weight_of(columns[weight], fault["fault"])}
    inner = rows.select(**seen, **fault, **weights, **in_part, **person)
    if in_part:
        inner = inner.filter(inner.in_part)
    codes = {
        code_name(i): code_of(a, one.named({name: inner[f"{name}{i}"] for name in one.columns()}))
        for i, (a, one) in enumerate(zip(read, readings, strict=True))
    }
    kept = {name: inner[name] for name in (*fault, *weights, *in_part, *person)}
    coded = inner.select(**codes, **kept)
    return coded if unit is None else kept_rows(coded, read, list(codes), unit, salt)


@contextmanager
def in_steps() -> Iterator[None]:
    """Within, a select of a select stays one, so that what has a name there is computed once a row."""
    import ibis

    known = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = known


def counts_by_group(coded: Any, by: Sequence[str], weight: str | None) -> Iterator[Any]:
    """The rows of each group of ``by``, as batches of Arrow, of groups that there are.

    With a weight those that they stand for, and the lines; with a unit also how many are kept, and how many
    are nobody's.
    """
    sums = {"rows": coded.count()} if weight is None else {"rows": coded.weight.sum(), "lines": coded.count()}
    sums |= {name: coded[name].sum() for name in (KEPT, NOBODY) if name in coded.columns}
    grouped = coded.group_by(list(by)).aggregate(**sums) if by else coded.aggregate(**sums)
    with in_steps():
        if grouped.get_backend().name == "duckdb":
            # Ibis 12 asks for batches through a call that DuckDB 2 has no more.
            batches: Any = grouped.to_pyarrow().to_batches()
        else:
            batches = grouped.to_pyarrow_batches(chunk_size=_BATCH)
    yield from batches


def integers(result: Any, name: str) -> NDArray[np.int64]:
    """A column of counts; NULL, the sum of no rows, is 0."""
    return np.asarray(result[name].fill_null(0).to_numpy(), np.int64)
