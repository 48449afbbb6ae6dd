"""Of each person at most k rows are counted: which of them is decided by that person's rows alone.

Of the rows that no rule drops, those of a person stand in the order of a hash of their codes, the person and
a public text, and the first k are kept. Rows of equal codes are one another's equals, as codes are all that
is counted: they get the numbers 0, 1, …, which are hashed, too, so that each of a person's rows is as likely
as any other to be kept.

Theorem: let a table have the rows of one person more than another. Of everybody else the same rows are kept
in both, up to equal codes, and of that person at most k are: the counts differ by at most k rows, all in the
same direction, which is one of the changes of ``Neighbours.of({"rows": k})``. Proof: each window is of one
person, and all that it looks at are that person's codes. It is the bounding of a user's contributions of
Wilson et al., PoPETs 2020, by a hash in place of a sample: whatever sets of attributes are counted, the same
rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmopt.data.cell_codes import shown_type, typed
from mmopt.data.engine import hash_of
from mmopt.data.row_rules import dropped_codes
from mmopt.errors import DataError, counted
from mmopt.strategies import Neighbours
from mmopt.workloads.domain import Attribute

__all__ = ["KEPT", "NOBODY", "check_unit", "kept_rows", "person_of", "refuse_nobody"]

KEPT = "kept"
"""The column that is 1 for rows that count, else 0."""

NOBODY = "nobody"
"""The column that is 1 for rows that name no person, else 0."""


def check_unit(caller: str, unit: object, weight: str | None) -> Neighbours | None:
    """The unit where its rows have to be chosen: where a column names the person.

    Raises
    ------
    DataError : no ``Neighbours``; a column of persons beside weights, of whose rows no one could be left out.
    """
    if unit is None:
        return None
    if not isinstance(unit, Neighbours):
        raise DataError(
            f"unit of {caller} is of type {type(unit).__name__}, expected Neighbours or None",
            hint="write Neighbours.of({'column': 'person', 'rows': 3}), from mmopt.strategies",
        )
    if not unit.column:
        return None
    if weight is not None:
        raise DataError(
            f"unit has the column '{unit.column}' of persons, and data the weight '{weight}': the rows of a "
            "line are not told apart",
            hint="use the table before it was aggregated, or 'unit: {rows: k}' where nobody has more",
        )
    return unit


def kept_rows(
    coded: Any, read: Sequence[Attribute], names: Sequence[str], unit: Neighbours, salt: str
) -> Any:
    """The codes of rows with ``KEPT`` and ``NOBODY``, in place of the column ``person``.

    Parameters
    ----------
    coded : Ibis table of a code for each attribute that is read, in columns of these names, and ``person``.
    salt : public, and the same wherever the same rows are to be kept.
    """
    import ibis

    has_cell: Any = ibis.literal(True)
    for attribute, name in zip(read, names, strict=True):
        if out := dropped_codes(attribute):
            has_cell &= coded[name].notin(out)
    # With its hash: a database may take persons for one that differ in case, or in blanks at the end.
    hashed = coded.mutate(has_cell=has_cell, hash_of_person=hash_of(coded.person))
    # Any order will do: rows of equal codes are equal. Spark wants one.
    equal = ibis.window(group_by=["person", "hash_of_person", *names], order_by=["person"])
    numbered = hashed.mutate(number=ibis.row_number().over(equal))
    parts = [ibis.literal(salt), *(numbered[name].cast("string") for name in (*names, "number"))]
    text = parts[0]
    for part in (*parts[1:], numbered.person):
        text = text + ibis.literal("|") + part
    ordered = numbered.mutate(place=hash_of(text))
    own = ibis.window(group_by=["person", "hash_of_person", "has_cell"], order_by=["place"])
    ranked = ordered.mutate(rank=ibis.row_number().over(own))
    is_kept = ranked.has_cell & ranked.person.notnull() & (ranked["rank"] < unit.at_most)
    return ranked.select(
        *names,
        **{KEPT: ibis.ifelse(is_kept, 1, 0).cast("int64")},
        **{NOBODY: ibis.ifelse(ranked.person.isnull(), 1, 0).cast("int64")},
    )


def person_of(column: Any, table: str, name: str) -> Any:
    """Who a row is of, as a text that is the same on every engine.

    Raises
    ------
    DataError : a column of a type whose texts are not, such as floating numbers.
    """
    column = typed(column)
    kind = column.type()
    if not (kind.is_string() or kind.is_integer() or kind.is_uuid() or kind.is_date()):
        raise DataError(
            f"{table}: column '{name}' is of type {shown_type(kind)}; a person is named by a text, a whole "
            "number, a day or a UUID",
            hint="convert the column first, or name another under 'unit'",
        )
    return column.cast("string")


def refuse_nobody(table: str, unit: Neighbours, nobody: int) -> None:
    """Raise for rows of which it is not known whose they are: how many, nothing else."""
    if nobody:
        raise DataError(
            f"{table}: column '{unit.column}' says whose a row is, and is missing (NULL) in "
            f"{counted(nobody, 'row')} (confidential, for you alone)",
            hint="leave such rows out of the table, or say whose they are",
        )
