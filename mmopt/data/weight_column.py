"""The column of an aggregated table that says for how many rows a line stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.data.cell_codes import shown_type, typed
from mmopt.data.spelled_values import number_in
from mmopt.errors import DataError, counted
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS

__all__ = ["FAULTS", "refuse_weights", "weight_fault", "weight_of"]

#: What a line's weight may be instead of a count; the code of each is its place, from 1 on.
_FAULTS = (
    "missing (NULL, empty or NaN)",
    "no number",
    "negative",
    f"above {MAX_ROWS}",
    "no whole number",
)

FAULTS = len(_FAULTS) + 1
"""Codes of faults, 0 for none among them."""


def weight_fault(column: Any, table: str, name: str) -> Any:
    """An Ibis integer expression: 0 where the value is a count of rows, else the code of what is wrong.

    Raises
    ------
    DataError : the column is of a type that holds no numbers.
    """
    import ibis

    column = typed(column)
    kind = column.type()
    if not (kind.is_string() or kind.is_integer() or kind.is_floating() or kind.is_decimal()):
        raise DataError(
            f"{table}: column '{name}' is of type {shown_type(kind)}; the weight of a line is a whole number",
            hint="name another column with 'weight', or leave it out: each line is a row then",
        )
    number = _number(column)
    exact = column if kind.is_decimal() else number
    tests = (
        column.isnull() | number.isnan(),
        number.isnull(),
        number < 0,
        number > float(MAX_ROWS),
        exact != exact.floor(),
    )
    return ibis.cases(
        *((test, ibis.literal(code, "int64")) for code, test in enumerate(tests, 1)), else_=0
    ).cast("int64")


def weight_of(column: Any, fault: Any) -> Any:
    """The weight of each line as an Ibis integer expression; 0 where it has a fault."""
    import ibis

    # Doubles hold all whole numbers up to MAX_ROWS.
    return ibis.ifelse(fault == 0, _number(column), 0.0).cast("int64")


def _number(column: Any) -> Any:
    column = typed(column)
    return number_in(column) if column.type().is_string() else column.cast("float64")


def refuse_weights(
    table: str, name: str, faults: NDArray[np.int64], lines: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Raise for weights that are no counts, or count too many rows: how many lines, never values.

    Parameters
    ----------
    faults, lines, rows : of each group of lines: the code of ``weight_fault``, how many lines, and for how
        many rows they stand.
    """
    wrong = [
        f"{counted(int(lines[faults == code].sum()), 'line')} {fault}"
        for code, fault in enumerate(_FAULTS, 1)
        if lines[faults == code].any()
    ]
    if wrong:
        raise DataError(
            f"{table}: column '{name}' is the weight of each line, a whole number from 0 to {MAX_ROWS}; "
            f"found (confidential, for you alone) {', '.join(wrong)}",
            hint="correct the table, or leave such lines out of it",
        )
    if int(rows.sum()) > MAX_ROWS:
        raise DataError(
            f"{table}: the lines stand for more rows than the limit, {MAX_ROWS} (confidential, for you alone)"
        )
