"""A table becomes a data vector: one count per cell, by one aggregate query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mmopt.data.coded_rows import code_name, coded_rows, counts_by_group, integers
from mmopt.data.open_table import open_table
from mmopt.data.part_of_rows import Part
from mmopt.data.person_rows import KEPT, NOBODY, check_unit, refuse_nobody
from mmopt.data.row_rules import dropped_codes, read_attributes, refuse_rows, targets_of, wanted_columns
from mmopt.data.weight_column import FAULTS, refuse_weights
from mmopt.limits import require_memory
from mmopt.request import WorkloadLike, as_domain
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload
from mmopt.workloads.domain import Attribute, Domain

__all__ = ["DataVector", "check_columns", "data_vector"]


TOO_LARGE_HINT = "count by few attributes with mmopt.data.marginal_counts, where a release needs no more"


@dataclass(frozen=True, eq=False)
class DataVector:
    """The data vector and what was left out of it, all confidential: none of it belongs in a release.

    ``counts`` (n,) int64, read-only, in the domain's order of cells; it is what numpy makes of this object.
    ``rows`` in the table, dropped ones included; ``dropped`` per attribute the rows that its rules drop (a
    row that two drop is in both); ``beyond`` the rows of persons who have more than the unit counts.
    """

    counts: NDArray[np.int64]
    rows: int
    dropped: Mapping[str, int]
    beyond: int = 0

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"DataVector({self.counts.size} cells, {self.rows} rows)"


def data_vector(
    data: object,
    domain: Domain | WorkloadLike,
    *,
    workload: Workload | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    unit: Neighbours | None = None,
) -> DataVector:
    """Count the rows of a table per cell of a domain.

    Parameters
    ----------
    data : any of

        - the path of a text file ``.csv``, ``.tsv``, ``.txt``, also with ``.gz`` (UTF-8, first line column
          names), of a ``.parquet`` file, or of a database: DuckDB (``.duckdb``, ``.ddb``, ``.db``) or SQLite
          (``.sqlite``, ``.sqlite3``, ``.db``; its values are read as text, its booleans are 0 and 1);
        - a data frame of any library that has the Arrow PyCapsule interface (pandas, polars, pyarrow,
          DuckDB's relations) or ``__dataframe__``;
        - a dictionary of columns, name -> list or array;
        - an Ibis table expression, of which only the grouped counts leave its backend;
        - an Ibis connection, or a URL such as ``postgres://user@host/database``, and the name of a table.
    domain : attributes with the columns that they read and their rules for what has no cell; or a workload
        over it, its file or a request.
    workload : the queries that will be asked, over this domain: columns that none needs are not read, and
        each row counts in the first cell of such an attribute (``attribute_uses``). None: all are read.
    table : the table or view of a database that has several; ``schema.table`` on a server.
    weight : the column that says for how many rows each line of the table stands, whole numbers from 0 on.
        What is protected is then one of these rows, not a line.
    delimiter : where the lines of a text file are split. None: at the one of ``,``, ``;``, tab and ``|`` at
        which the header has the columns that are read.
    part : a column and the value, as a text, that it has in the rows that are counted; other rows are as if
        they were not there. The column holds texts or whole numbers. None: all rows.
    unit : one whose ``column`` names the person of each row: of those rows that no rule drops at most
        ``at_most`` of a person are counted. Which of them depends on that person's rows alone, and on the
        workload's hash (``person_rows``). A person without a name, NULL, is refused.

    Where a row is counted depends on that row alone. Values that the domain does not declare follow the
    attribute's ``outside`` rule: text that is no number where numbers are declared, infinities, and an empty
    text (but of a text file) among them. NULL, empty fields of a text file, and NaN where numbers are
    declared follow its ``missing`` rule. A rule is "refuse" (as none), "drop", or the label of a cell to
    count them in. All rows are looked at for what is refused, those of persons with many rows, too.

    Raises
    ------
    DataError : arguments of other types; the table cannot be read, lacks a column or has one of a type that
        holds nothing declared, has weights that are no counts, or has refused rows; a file that changed
        meanwhile. Whether rows are refused, and the message, are facts of the data: confidential, not
        protected.
    TooLargeError : a count for each cell does not fit in memory.
    """
    domain = as_domain(domain)
    unit = check_unit("data_vector", unit, weight)
    wanted = wanted_columns("data_vector", data, domain, workload, table, weight, delimiter, part, unit)
    assert isinstance(domain, Domain)  # else refused
    require_memory((domain.size,), "data vector", TOO_LARGE_HINT)
    read = read_attributes(domain, workload)
    with open_table(data, wanted, table, delimiter) as opened:
        coded = coded_rows(opened, read, weight, part, unit, "" if workload is None else workload.hash)
        # Codes are named in an inner select and grouped by name: each is computed once a row.
        codes = [code_name(i) for i in range(len(read))]
        groups = counts_by_group(coded, codes if weight is None else [*codes, "fault"], weight)
        found = _filled(domain, read, groups)
    rows = int(found.rows.sum())
    if weight is not None:
        refuse_weights(opened.name, weight, np.arange(len(found.rows)), found.lines, found.rows)
    if unit is not None:
        refuse_nobody(opened.name, unit, found.nobody)
    refuse_rows(opened.name, read, found.beside.tolist(), rows)
    dropped = {attribute.name: 0 for attribute in domain.attributes}
    for attribute, beside in zip(read, found.beside, strict=True):
        dropped[attribute.name] = sum(int(beside[code - attribute.size]) for code in dropped_codes(attribute))
    return DataVector(found.counts, rows, MappingProxyType(dropped), found.beyond)


def check_columns(
    data: object,
    domain: Domain,
    *,
    workload: Workload | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    unit: Neighbours | None = None,
) -> None:
    """Refuse what ``data_vector`` with the same arguments would, by the names of the columns alone.

    Raises
    ------
    DataError : arguments of other types; the table cannot be opened, or lacks a column.
    """
    unit = check_unit("data_vector", unit, weight)
    wanted = wanted_columns("data_vector", data, domain, workload, table, weight, delimiter, part, unit)
    with open_table(data, wanted, table, delimiter):
        pass


@dataclass(frozen=True, eq=False)
class _Found:
    """The counts (n,), and beside them, of all groups that came back: rows with each attribute's three codes
    that are no cell; of each fault of a weight the lines and rows (fault 0 where there are no weights); the
    rows that no unit kept though they have cells; those that are nobody's."""

    counts: NDArray[np.int64]
    beside: NDArray[np.int64]
    lines: NDArray[np.int64]
    rows: NDArray[np.int64]
    beyond: int
    nobody: int


def _filled(domain: Domain, read: tuple[Attribute, ...], groups: Iterable[Any]) -> _Found:
    """Each group of rows in its cell, the first of attributes that were not read; of a batch at a time."""
    counts = np.zeros(domain.size, dtype=np.int64)
    beside = np.zeros((len(read), 3), dtype=np.int64)
    lines, stood = np.zeros((2, FAULTS), dtype=np.int64)
    beyond = nobody = 0
    for batch in groups:
        rows = integers(batch, "rows")
        names = batch.schema.names
        fault = integers(batch, "fault") if "fault" in names else np.zeros(len(rows), np.int64)
        np.add.at(stood, fault, rows)
        np.add.at(lines, fault, integers(batch, "lines") if "lines" in names else rows)
        kept = np.ones(len(rows), dtype=np.bool_)
        cells = {attribute.name: np.zeros(len(rows), np.int64) for attribute in domain.attributes}
        for i, attribute in enumerate(read):
            code = integers(batch, code_name(i))
            beside[i] += [rows[code == attribute.size + k].sum() for k in range(3)]
            cells[attribute.name] = targets_of(attribute)[code]
            kept &= cells[attribute.name] >= 0
        counted_rows = rows
        if KEPT in names:
            counted_rows = integers(batch, KEPT)
            beyond += int((rows - counted_rows)[kept].sum())
            nobody += int(integers(batch, NOBODY).sum())
        at = domain.ravel([cell[kept] for cell in cells.values()])
        np.add.at(counts, at, counted_rows[kept])
    counts.setflags(write=False)
    return _Found(counts, beside, lines, stood, beyond, nobody)
