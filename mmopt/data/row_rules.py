"""Which columns are read, which cell a code counts into, and rows that the rules refuse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmopt.data.cell_codes import MISSING, OUTSIDE, UNREADABLE, declared_kinds
from mmopt.data.open_table import OF_PERSONS, is_table
from mmopt.data.part_of_rows import Part
from mmopt.errors import DataError
from mmopt.request.domain_keys import is_delimiter
from mmopt.strategies import Neighbours
from mmopt.workloads import Bins, Workload, attribute_uses
from mmopt.workloads.domain import Attribute, Domain

__all__ = ["dropped_codes", "read_attributes", "refuse_rows", "targets_of", "wanted_columns"]


def wanted_columns(
    caller: str,
    data: object,
    domain: object,
    workload: Workload | None,
    table: str | None,
    weight: str | None,
    delimiter: str | None,
    part: Part | None = None,
    unit: Neighbours | None = None,
) -> dict[str, str]:
    """The columns that are read, each with what for, and arguments of other types refused."""
    if not (is_table(data) and isinstance(domain, Domain)):
        raise DataError(
            f"{caller} has a {type(data).__name__} and a {type(domain).__name__}, expected a table (path, "
            "data frame, dictionary of columns or Ibis table) and a Domain",
            hint=_way_in(caller, data),
        )
    if workload is not None and getattr(workload, "domain", None) != domain:
        raise DataError(
            "the workload says which columns are read, and is not over this domain",
            hint=f"write {caller}(data, workload.domain, workload=workload)",
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
    for attribute in read_attributes(domain, workload):
        wanted.setdefault(attribute.column, f"attribute '{attribute.name}'")
    if weight is not None:
        wanted.setdefault(weight, "the weight of each line")
    if part is not None:
        wanted.setdefault(part[0], "the partition of the ledger")
    if unit is not None:
        wanted[unit.column] = OF_PERSONS
    return wanted


def _way_in(caller: str, data: object) -> str:
    """What to pass in place of an object that is no table."""
    if type(data).__module__.partition(".")[0] == "pyspark":
        return "pass ibis.pyspark.connect(session), and the name of a table or view with table="
    if hasattr(data, "collect"):
        return "collect the lazy frame first: data.collect()"
    return f"write {caller}('people.csv', request.workload.domain)"


def read_attributes(domain: Domain, workload: Workload | None) -> tuple[Attribute, ...]:
    """Those whose columns are read."""
    uses = {} if workload is None else attribute_uses(workload)
    return tuple(a for a in domain.attributes if uses.get(a.name) != "none")


def targets_of(attribute: Attribute) -> NDArray[np.int64]:
    """For each code the cell that it counts into, -1 for dropped rows."""
    rules = {OUTSIDE: attribute.outside, MISSING: attribute.missing, UNREADABLE: attribute.outside}
    extra = [
        -1 if rules[code] in ("", "refuse", "drop") else attribute.labels.index(rules[code])
        for code in range(3)
    ]
    return np.array([*range(attribute.size), *extra], dtype=np.int64)


def dropped_codes(attribute: Attribute) -> list[int]:
    """The codes of rows that are counted nowhere."""
    return np.flatnonzero(targets_of(attribute) < 0).tolist()


def refuse_rows(
    path: str, attributes: Sequence[Attribute], beside: Sequence[Sequence[int]], total: int
) -> None:
    """Raise for rows that the rules refuse: counts only, never values.

    Parameters
    ----------
    beside : of each attribute the rows with its three codes that are no cell. total : all rows.
    """
    refused: list[str] = []
    example = wrong = ends = ""
    for attribute, count in zip(attributes, beside, strict=True):
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
            if count[UNREADABLE] == total - count[MISSING]:
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
            f"{path}: rows without a cell, of {total} (confidential, for you alone):" + "".join(refused),
            hint=f"{wrong}say where they go in the workload file: {example} leaves them out, "
            f"the label of a cell in place of 'drop' counts them there{ends}",
        )
