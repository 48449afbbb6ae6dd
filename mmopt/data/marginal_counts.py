"""A table becomes counts by few attributes: what queries of few attributes need, over any number of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.data.coded_rows import code_name, coded_rows, counts_by_group, in_steps, integers
from mmopt.data.grouped_sets import counted_sets, joined
from mmopt.data.open_table import open_table
from mmopt.data.part_of_rows import Part
from mmopt.data.person_rows import KEPT, NOBODY, check_unit, refuse_nobody
from mmopt.data.row_rules import dropped_codes, read_attributes, refuse_rows, targets_of, wanted_columns
from mmopt.data.weight_column import refuse_weights
from mmopt.errors import DataError
from mmopt.limits import require_memory
from mmopt.request import WorkloadLike, as_workload
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload
from mmopt.workloads.domain import Attribute, Domain

__all__ = ["MarginalCounts", "marginal_counts"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MarginalCounts:
    """Counts by sets of attributes, and what was left out, all confidential: none belongs in a release.

    ``tables`` by the places of attributes in the domain, ascending: int64, read-only, of their sizes; all
    have the same sum, that of the rows in cells. ``rows``, ``dropped`` and ``beyond`` as of ``DataVector``.
    """

    domain: Domain
    tables: Mapping[tuple[int, ...], Counts] = field(repr=False)
    rows: int
    dropped: Mapping[str, int]
    beyond: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each attribute."""
        return self.domain.shape

    @cached_property
    def _by_attribute(self) -> dict[int, list[tuple[int, ...]]]:
        found: dict[int, list[tuple[int, ...]]] = {}
        for own in sorted(self.tables, key=lambda own: self.tables[own].size):
            for i in own:
                found.setdefault(i, []).append(own)
        return found

    def of(self, attributes: tuple[int, ...]) -> Counts:
        """The rows in each cell of these attributes, ascending; () is the number of rows that have cells.

        DataError where they were not counted together.
        """
        if (known := self.tables.get(attributes)) is not None:
            return known
        around = min((self._by_attribute.get(i, []) for i in attributes), key=len, default=list(self.tables))
        wanted = set(attributes)
        held = next((own for own in around if wanted.issubset(own)), None)
        if held is None or list(attributes) != sorted(wanted):
            names = ", ".join(f"'{self.domain.names[i]}'" for i in attributes)
            raise DataError(
                f"the rows were not counted by {names} together", hint="count them by these attributes, too"
            )
        others = tuple(at for at, i in enumerate(held) if i not in wanted)
        return np.asarray(self.tables[held].sum(axis=others), dtype=np.int64)

    def __repr__(self) -> str:
        return f"MarginalCounts({len(self.tables):,} tables of counts, {self.rows:,} rows)"


def marginal_counts(
    data: object,
    workload: WorkloadLike,
    *,
    sets: Sequence[tuple[int, ...]] | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    unit: Neighbours | None = None,
) -> MarginalCounts:
    """Count the rows of a table by the attributes that each product of a workload looks at.

    The rows become codes of cells once, which the engine keeps; a query for every few sets groups by them.

    Parameters
    ----------
    data, table, weight, delimiter, part, unit : as ``data_vector``, whose rules hold for what has no cell: a
        row that an attribute drops is in no table, nor is one of a person that is not kept.
    workload : what will be asked, from products; columns that none needs are not read.
    sets : other sets of attributes to count by, as places in the domain: those of an integer strategy.

    Raises
    ------
    DataError : as ``data_vector``; a workload from a matrix, or sets of places that are not there.
    TooLargeError : the tables do not fit in memory.
    """
    workload = as_workload(workload)
    domain = workload.domain
    unit = check_unit("marginal_counts", unit, weight)
    wanted = wanted_columns("marginal_counts", data, domain, workload, table, weight, delimiter, part, unit)
    asked = _sets(workload) if sets is None else [tuple(sorted(set(own))) for own in sets]
    if any(not 0 <= i < len(domain.shape) for own in asked for i in own):
        raise DataError(
            f"the sets to count by have places beyond the {len(domain.shape)} attributes of the domain"
        )
    held = counted_sets(asked, domain.shape)
    entries = sum(math.prod(domain.shape[i] for i in own) for own in held)
    require_memory((entries,), f"counts by {len(held):,} sets of attributes")
    read = read_attributes(domain, workload)
    places = {domain.names.index(a.name): at for at, a in enumerate(read)}
    with (
        open_table(data, wanted, table, delimiter) as opened,
        _kept(coded_rows(opened, read, weight, part, unit, workload.hash)) as coded,
    ):
        if weight is not None:
            for lines in counts_by_group(coded, ["fault"], weight):
                faults, stood = integers(lines, "fault"), integers(lines, "rows")
                refuse_weights(opened.name, weight, faults, integers(lines, "lines"), stood)
        beside, rows, nobody = _beside(coded, read, weight)
        if unit is not None:
            refuse_nobody(opened.name, unit, nobody)
        refuse_rows(opened.name, read, beside, rows)
        inside = _in_cells(coded, read, beside)
        beyond = 0
        if unit is not None:
            beyond = int(inside.filter(inside[KEPT] == 0).count().to_pyarrow().as_py())
            inside = inside.filter(inside[KEPT] == 1)
        tables = dict(_tables(inside, domain, held, places, weight))
    dropped = {a.name: 0 for a in domain.attributes} | {
        a.name: sum(own[code - a.size] for code in dropped_codes(a))
        for a, own in zip(read, beside, strict=True)
    }
    return MarginalCounts(domain, MappingProxyType(tables), rows, MappingProxyType(dropped), beyond)


def _sets(workload: Workload) -> list[tuple[int, ...]]:
    if workload.products is None:
        raise DataError(
            "the workload is a matrix, and counts by few attributes need products",
            hint="count its cells with mmopt.data.data_vector",
        )
    return [product.looked_at for product in workload.products]


@contextmanager
def _kept(coded: Any) -> Iterator[Any]:
    """The codes as a temporary table of their engine; as they are where it has none."""
    import ibis

    try:
        with in_steps():
            kept = coded.cache()
    except (NotImplementedError, ibis.common.exceptions.UnsupportedOperationError):
        yield coded
        return
    try:
        yield kept
    finally:
        kept.release()


def _beside(coded: Any, read: Sequence[Attribute], weight: str | None) -> tuple[list[list[int]], int, int]:
    """Of each attribute the rows with its three codes that are no cell; all rows; those that are nobody's."""
    import ibis

    stands = ibis.literal(1, "int64") if weight is None else coded.weight
    sums = {
        f"{code_name(i)}_{beside}": ibis.ifelse(coded[code_name(i)] == a.size + beside, stands, 0).sum()
        for i, a in enumerate(read)
        for beside in range(3)
    }
    rows = coded.count() if weight is None else stands.sum()
    nobody = {NOBODY: coded[NOBODY].sum()} if NOBODY in coded.columns else {}
    found = coded.aggregate(rows=rows, **sums, **nobody).to_pyarrow()
    own = [[int(integers(found, f"{code_name(i)}_{k}")[0]) for k in range(3)] for i in range(len(read))]
    return own, int(integers(found, "rows")[0]), int(integers(found, NOBODY)[0]) if nobody else 0


def _in_cells(coded: Any, read: Sequence[Attribute], beside: Sequence[Sequence[int]]) -> Any:
    """The rows that no attribute drops."""
    for i, (a, own) in enumerate(zip(read, beside, strict=True)):
        out = [code for code in dropped_codes(a) if own[code - a.size]]
        if out:
            coded = coded.filter(coded[code_name(i)].notin(out))
    return coded


def _tables(
    coded: Any, domain: Domain, held: Sequence[tuple[int, ...]], places: Mapping[int, int], weight: str | None
) -> Iterator[tuple[tuple[int, ...], Counts]]:
    """The table of each set, those that go together from one query.

    places : of the attributes that were read; of others all rows count in the first cell.
    """
    for union, sets in joined(held, domain.shape).items():
        own = [i for i in union if i in places]
        shape = [domain.shape[i] for i in union]
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        for batch in counts_by_group(coded, [code_name(places[i]) for i in own], weight):
            rows = integers(batch, "rows")
            at = np.zeros(len(rows), np.int64)  # row-major, as tables are
            for i in union:
                at *= domain.shape[i]
                if i in places:
                    at += targets_of(domain.attributes[i])[integers(batch, code_name(places[i]))]
            np.add.at(counts, at, rows)
        counts = counts.reshape(shape)
        for one in sets:
            others = tuple(axis for axis, i in enumerate(union) if i not in one)
            table = counts.sum(axis=others) if others else counts
            table.setflags(write=False)
            yield one, np.asarray(table)
