"""A table becomes a data vector: one count per cell, by one aggregate query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mmopt.data.cell_codes import MISSING, OUTSIDE, UNREADABLE, cell_code, declared_kinds
from mmopt.data.open_table import is_table, open_table
from mmopt.data.weight_column import refuse_weights, weight_fault, weight_of
from mmopt.errors import DataError
from mmopt.limits import require_memory
from mmopt.request import WorkloadLike, as_domain
from mmopt.request.domain_keys import is_delimiter
from mmopt.workloads import Bins, Workload, attribute_uses
from mmopt.workloads.domain import Attribute, Domain

__all__ = ["DataVector", "check_columns", "data_vector"]


@dataclass(frozen=True, eq=False)
class DataVector:
    """The data vector and what was left out of it, all confidential: none of it belongs in a release.

    ``counts`` (n,) int64, read-only, in the domain's order of cells; it is what numpy makes of this object.
    ``rows`` in the table, dropped ones included; ``dropped`` per attribute the rows that its rules drop (a
    row that two drop is in both).
    """

    counts: NDArray[np.int64]
    rows: int
    dropped: Mapping[str, int]

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
        - an Ibis table expression, of which only the grouped counts leave its backend.
    domain : attributes with the columns that they read and their rules for what has no cell; or a workload
        over it, its file or a request.
    workload : the queries that will be asked, over this domain: columns that none needs are not read, and
        each row counts in the first cell of such an attribute (``attribute_uses``). None: all are read.
    table : the table or view of a database that has several.
    weight : the column that says for how many rows each line of the table stands, whole numbers from 0 on.
        What is protected is then one of these rows, not a line.
    delimiter : where the lines of a text file are split. None: at the one of ``,``, ``;``, tab and ``|`` at
        which the header has the columns that are read.

    Where a row is counted depends on that row alone. Values that the domain does not declare follow the
    attribute's ``outside`` rule: text that is no number where numbers are declared, infinities, and an empty
    text (but of a text file) among them. NULL, empty fields of a text file, and NaN where numbers are
    declared follow its ``missing`` rule. A rule is "refuse" (as none), "drop", or the label of a cell to
    count them in.

    Raises
    ------
    DataError : arguments of other types; the table cannot be read, lacks a column or has one of a type that
        holds nothing declared, has weights that are no counts, or has refused rows; a file that changed
        meanwhile. Whether rows are refused, and the message, are facts of the data: confidential, not
        protected.
    TooLargeError : a count for each cell does not fit in memory.
    """
    domain = as_domain(domain)
    wanted = _wanted(data, domain, workload, table, weight, delimiter)
    assert isinstance(domain, Domain)  # else refused
    require_memory((domain.size,), "data vector")
    read = _read_attributes(domain, workload)
    with open_table(data, wanted, table, delimiter) as opened:
        rows_of, columns = opened.rows()
        codes = {
            f"code{i}": cell_code(attribute, columns[attribute.column], opened.name)
            for i, attribute in enumerate(read)
        }
        # Codes are named in an inner select and grouped by name: each is computed once a row.
        if weight is not None:
            fault = weight_fault(columns[weight], opened.name, weight)
            weights = weight_of(columns[weight], fault)
            coded = rows_of.select(**codes, fault=fault, weight=weights)
            query = coded.group_by([*codes, "fault"]).aggregate(rows=coded.weight.sum(), lines=coded.count())
        elif codes:
            coded = rows_of.select(**codes)
            query = coded.group_by(list(codes)).aggregate(rows=coded.count())
        else:
            query = rows_of.aggregate(rows=rows_of.count())
        result = query.to_pyarrow()
    rows = _integers(result, "rows")
    if weight is not None:
        refuse_weights(opened.name, weight, _integers(result, "fault"), _integers(result, "lines"), rows)
    groups = [_integers(result, code) for code in codes]
    found = np.stack(groups, axis=1) if groups else np.zeros((len(rows), 0), np.int64)
    _refuse(opened.name, read, found, rows)
    return _filled(domain, read, found, rows)


def check_columns(
    data: object,
    domain: Domain,
    *,
    workload: Workload | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
) -> None:
    """Refuse what ``data_vector`` with the same arguments would, by the names of the columns alone.

    Raises
    ------
    DataError : arguments of other types; the table cannot be opened, or lacks a column.
    """
    with open_table(data, _wanted(data, domain, workload, table, weight, delimiter), table, delimiter):
        pass


def _wanted(
    data: object,
    domain: object,
    workload: Workload | None,
    table: str | None,
    weight: str | None,
    delimiter: str | None,
) -> dict[str, str]:
    """The columns that are read, each with what for, and arguments of other types refused."""
    if not (is_table(data) and isinstance(domain, Domain)):
        raise DataError(
            f"data_vector has a {type(data).__name__} and a {type(domain).__name__}, expected a table (path, "
            "data frame, dictionary of columns or Ibis table) and a Domain",
            hint="collect the lazy frame first: data.collect()"
            if hasattr(data, "collect")
            else "write data_vector('people.csv', request.workload.domain)",
        )
    if workload is not None and getattr(workload, "domain", None) != domain:
        raise DataError(
            "the workload says which columns are read, and is not over this domain",
            hint="write data_vector(data, workload.domain, workload=workload)",
        )
    for option, given in (("table", table), ("weight", weight), ("delimiter", delimiter)):
        if not isinstance(given, str | None):
            raise DataError(f"{option} is of type {type(given).__name__}, expected a text or None")
    if delimiter is not None and not is_delimiter(delimiter):
        raise DataError(
            f"the delimiter is {delimiter!r}, expected one character",
            hint="for example '~'; a quote or a line end cannot be one",
        )
    wanted: dict[str, str] = {}
    for attribute in _read_attributes(domain, workload):
        wanted.setdefault(attribute.column, f"attribute '{attribute.name}'")
    if weight is not None:
        wanted.setdefault(weight, "the weight of each line")
    return wanted


def _read_attributes(domain: Domain, workload: Workload | None) -> tuple[Attribute, ...]:
    uses = {} if workload is None else attribute_uses(workload)
    return tuple(a for a in domain.attributes if uses.get(a.name) != "none")


def _integers(result: Any, name: str) -> NDArray[np.int64]:
    return np.asarray(result[name].fill_null(0).to_numpy(), np.int64)


def _filled(
    domain: Domain, read: tuple[Attribute, ...], found: NDArray[np.int64], rows: NDArray[np.int64]
) -> DataVector:
    """The counts: each group of rows in its cell, the first of attributes that were not read."""
    kept = np.ones(len(rows), dtype=np.bool_)
    dropped = {attribute.name: 0 for attribute in domain.attributes}
    cells = {attribute.name: np.zeros(len(rows), np.int64) for attribute in domain.attributes}
    for i, attribute in enumerate(read):
        target = _targets(attribute)[found[:, i]]
        dropped[attribute.name] = int(rows[target < 0].sum())
        kept &= target >= 0
        cells[attribute.name] = target
    counts = np.zeros(domain.size, dtype=np.int64)
    np.add.at(counts, domain.ravel([cell[kept] for cell in cells.values()]), rows[kept])
    counts.setflags(write=False)
    return DataVector(counts, int(rows.sum()), MappingProxyType(dropped))


def _targets(attribute: Attribute) -> NDArray[np.int64]:
    """For each code the cell that it counts into, -1 for dropped rows."""
    rules = {OUTSIDE: attribute.outside, MISSING: attribute.missing, UNREADABLE: attribute.outside}
    extra = [
        -1 if rules[code] in ("", "refuse", "drop") else attribute.labels.index(rules[code])
        for code in range(3)
    ]
    return np.array([*range(attribute.size), *extra], dtype=np.int64)


def _refuse(
    path: str, attributes: tuple[Attribute, ...], found: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Raise for rows that the rules refuse: counts only, never values."""
    refused: list[str] = []
    example = wrong = ends = ""
    for i, attribute in enumerate(attributes):
        count = [int(rows[found[:, i] == attribute.size + code].sum()) for code in range(3)]
        outside = count[OUTSIDE] + count[UNREADABLE]
        parts = []
        if attribute.outside in ("", "refuse") and outside:
            kind = declared_kinds(attribute).removesuffix("s")
            unreadable = f" (of them {count[UNREADABLE]} text that is no {kind})" if count[UNREADABLE] else ""
            parts.append(f"{outside} outside the declared domain{unreadable}")
            example = example or f"'{attribute.name}: {{…, outside: drop}}'"
            if (
                count[OUTSIDE]
                and isinstance(attribute.encoding, Bins)
                and attribute.encoding.edges[-1] != np.inf
            ):
                ends = f"; the right end of the last bin of '{attribute.name}' is outside, too"
            if count[UNREADABLE] == int(rows.sum()) - count[MISSING]:
                wrong = f"is '{attribute.column}' the right column? name another with 'column:', or "
        if attribute.missing in ("", "refuse") and count[MISSING]:
            parts.append(f"{count[MISSING]} missing (NULL, empty or NaN)")
            example = example or f"'{attribute.name}: {{…, missing: drop}}'"
        if parts:
            refused.append(
                f"\n    column '{attribute.column}' (attribute '{attribute.name}'): {', '.join(parts)}"
            )
    if refused:
        raise DataError(
            f"{path}: rows without a cell, of {int(rows.sum())} (confidential, for you alone):"
            + "".join(refused),
            hint=f"{wrong}say where they go in the workload file: {example} leaves them out, "
            f"the label of a cell in place of 'drop' counts them there{ends}",
        )
