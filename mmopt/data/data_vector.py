"""A table becomes a data vector: one count per cell, by one aggregate query."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from mmopt.data.cell_codes import MISSING, OUTSIDE, UNREADABLE, cell_code, declared_kinds
from mmopt.data.table_file import open_columns, reading, table_file
from mmopt.errors import DataError
from mmopt.limits import require_memory
from mmopt.request import WorkloadLike, as_domain
from mmopt.workloads.domain import Attribute, Domain

__all__ = ["DataVector", "data_vector"]


@dataclass(frozen=True, eq=False)
class DataVector:
    """The data vector and what was left out of it, all confidential: none of it belongs in a release.

    ``counts`` (n,) int64, read-only, in the domain's order of cells; ``rows`` in the table, dropped ones
    included; ``dropped`` per attribute the rows that its rules drop (a row that two drop is in both).
    """

    counts: NDArray[np.int64]
    rows: int
    dropped: Mapping[str, int]

    def __repr__(self) -> str:
        return f"DataVector({self.counts.size} cells, {self.rows} rows)"


def data_vector(path: str | os.PathLike[str], domain: Domain | WorkloadLike) -> DataVector:
    """Count the rows of a table per cell of a domain.

    Parameters
    ----------
    path : ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz`` (UTF-8, first line column names) or ``.parquet``.
    domain : attributes with the columns that they read and their rules for what has no cell; or a workload
        over it, its file or a request.

    Where a row is counted depends on that row alone. Values that the domain does not declare follow the
    attribute's ``outside`` rule: text that is no number where numbers are declared, infinities, and an empty
    text (of Parquet) among them. NULL, empty CSV fields, and NaN where numbers are declared follow its
    ``missing`` rule. A rule is "refuse" (as none), "drop", or the label of a cell to count them in.

    Raises
    ------
    DataError : arguments of other types; the file cannot be read, lacks a column or has one of a type that
        holds nothing declared, or has refused rows. Whether rows are refused, and the message, are facts of
        the data: confidential, not protected.
    TooLargeError : a count for each cell does not fit in memory.
    """
    domain = as_domain(domain)
    if not all(isinstance(v, kind) for v, kind in ((path, str | os.PathLike), (domain, Domain))):
        raise DataError(
            f"data_vector has a {type(path).__name__} and a {type(domain).__name__}, "
            "expected the path of a table and a Domain",
            hint="write data_vector('people.csv', request.workload.domain); save data frames as Parquet",
        )
    assert isinstance(domain, Domain)
    require_memory((domain.size,), "data vector")
    file = table_file(path)
    attributes = domain.attributes
    with reading(file) as connection:
        table, columns = open_columns(connection, file, {a.name: a.column for a in attributes})
        codes = [
            cell_code(attribute, columns[attribute.name], file.path).name(f"code{i}")
            for i, attribute in enumerate(attributes)
        ]
        # Codes are named in an inner select and grouped by name: each is computed once a row.
        coded = table.select(*codes)
        query = coded.group_by(coded.columns).aggregate(rows=coded.count())
        # One array per column, straight from DuckDB: no detour through data frames.
        result = connection.raw_sql(connection.compile(query)).fetchnumpy()
    found = np.stack([np.asarray(result[f"code{i}"], np.int64) for i in range(len(attributes))], axis=1)
    rows = np.asarray(result["rows"], np.int64)
    _refuse(file.path, attributes, found, rows)

    kept = np.ones(len(rows), dtype=np.bool_)
    dropped: dict[str, int] = {}
    for i, attribute in enumerate(attributes):
        target = _targets(attribute)[found[:, i]]
        dropped[attribute.name] = int(rows[target < 0].sum())
        kept &= target >= 0
        found[:, i] = target
    counts = np.zeros(domain.size, dtype=np.int64)
    np.add.at(counts, domain.ravel(list(found[kept].T)), rows[kept])
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
    example = wrong = ""
    for i, attribute in enumerate(attributes):
        count = [int(rows[found[:, i] == attribute.size + code].sum()) for code in range(3)]
        outside = count[OUTSIDE] + count[UNREADABLE]
        parts = []
        if attribute.outside in ("", "refuse") and outside:
            kind = declared_kinds(attribute).removesuffix("s")
            unreadable = f" (of them {count[UNREADABLE]} text that is no {kind})" if count[UNREADABLE] else ""
            parts.append(f"{outside} outside the declared domain{unreadable}")
            example = example or f"'{attribute.name}: {{…, outside: drop}}'"
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
            "the label of a cell in place of 'drop' counts them there",
        )
