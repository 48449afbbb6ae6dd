"""Named columns of answers or errors, as any library of data frames takes them, and answers by name."""

import csv
import datetime
import io
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mmopt.display_base_classes import Tabular
from mmopt.errors import NotFoundError, OptionError, suggest
from mmopt.numerics.arrays import Ints


@dataclass(frozen=True, eq=False, repr=False)
class Frame(Tabular):
    """Columns of equal length, read-only: ``frame["estimate"]`` is a numpy array (rows,).

    ``for row in frame`` gives its rows as dictionaries, ``len(frame)`` their number.
    It has the Arrow PyCapsule interface: ``polars.DataFrame(frame)``, ``pyarrow.table(frame)``,
    ``pandas.DataFrame.from_arrow(frame)`` and DuckDB take it unchanged.

    Parameters
    ----------
    columns : by name, arrays (rows,) of floats, integers, booleans, dates (datetime64[D]), or of texts as
        objects. NaN, NaT and None are missing.
    metadata : about all of them, as texts; written into Parquet files. A ``warning`` is shown with the frame.

    Raises
    ------
    OptionError : no column, or columns of different lengths.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        views = {name: np.asarray(values).view() for name, values in self.columns.items()}
        shapes = {values.shape for values in views.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise OptionError(
                f"a frame has columns of the shapes {sorted(shapes)}, expected vectors of one length"
            )
        for values in views.values():
            values.flags.writeable = False
        object.__setattr__(self, "columns", views)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rows = zip(*(values.tolist() for values in self.columns.values()), strict=True)
        return (dict(zip(self.names, row, strict=True)) for row in rows)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self.names:
            raise NotFoundError(f"there is no column {name!r}", hint=suggest(name, self.columns))
        return self.columns[name]

    def frame(self) -> "Frame":
        """The frame itself."""
        return self

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by name, for JSON: dates are texts, a missing value is None."""
        return {name: [_plain(value) for value in values.tolist()] for name, values in self.columns.items()}

    def to_csv(self) -> str:
        """The text of a CSV file: floats with enough digits to read back equal, missing values empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(
            zip(*(map(as_text, values.tolist()) for values in self.columns.values()), strict=True)
        )
        return text.getvalue()

    def to_parquet(self) -> bytes:
        """The bytes of a Parquet file, with typed columns and the metadata."""
        import pyarrow.parquet

        out = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(self.to_arrow(), out)
        return bytes(out.getvalue())

    def __repr__(self) -> str:
        warning = f"; {self.metadata['warning']}" if self.metadata.get("warning") else ""
        return f"Frame({len(self):,} rows: {', '.join(self.names)}{warning})"


class QueryAnswer(NamedTuple):
    """The answer to one query, in counts, and its refined one where there is one.

    ``half_width`` is that of its interval. Before a release answer and interval are None.
    """

    label: str
    answer: float | None
    standard_error: float
    interval: tuple[float, float] | None
    refined: float | None = None
    half_width: float = math.nan


_OF_AN_ANSWER = ("estimate", "standard_error", "low", "high", "half_width", "refined")
_LONGEST_HINT = 400  # characters: of many queries not all labels are listed


class Answered(Tabular):
    """The base of what has a row for each query: answers by number or name, one after the other."""

    def __len__(self) -> int:
        return len(self.frame())

    def __iter__(self) -> Iterator[QueryAnswer]:
        return map(self._answer, range(len(self)))

    def __contains__(self, query: object) -> bool:
        """Whether brackets find a query of this label or number, or a group; or it is one of the answers."""
        if isinstance(query, str):
            return any(query in self.frame()[name] for name in ("label", "query"))
        if isinstance(query, Integral):
            return -len(self) <= int(query) < len(self)
        return any(query == one for one in self)

    def __getitem__(self, query: int | str | slice | Iterable[int] | Iterable[str]) -> QueryAnswer | Frame:
        """The answer to a query, by its number or label; the rows of several, by slice, list or group.

        Raises
        ------
        NotFoundError : no such query or group; the nearest name is given. It is a KeyError too.
        OptionError : a label that several queries have, or another type.
        """
        frame, rows = self.frame(), self.numbers(query)
        if isinstance(query, str | Integral) and not self._is_group(query):
            return self._answer(int(rows[0]))
        return Frame({name: values[rows] for name, values in frame.columns.items()}, frame.metadata)

    def numbers(self, queries: object) -> Ints:
        """The numbers (k,) of queries: of their numbers, a slice of these, labels, groups, or one of them.

        Raises
        ------
        NotFoundError : no such query. OptionError : a label that several queries have, or another type.
        """
        if isinstance(queries, slice):
            return np.arange(len(self))[queries]
        each = [queries] if isinstance(queries, str) or not isinstance(queries, Iterable) else queries
        groups = self.frame()["query"]
        rows = (np.flatnonzero(groups == one) if self._is_group(one) else [self._number(one)] for one in each)
        return np.array([*itertools.chain.from_iterable(rows)], dtype=np.int64)

    def _is_group(self, query: object) -> bool:
        """Whether it names a group, and no query."""
        frame = self.frame()
        return isinstance(query, str) and query in frame["query"] and query not in frame["label"]

    def _answer(self, row: int) -> QueryAnswer:
        """The answer in a row of the table."""
        columns = self.frame().columns
        figure = {name: float(columns[name][row]) for name in _OF_AN_ANSWER if name in columns}
        ends = (figure["low"], figure["high"]) if "low" in figure else None
        return QueryAnswer(
            columns["label"][row],
            figure.get("estimate"),
            figure["standard_error"],
            ends,
            figure.get("refined"),
            figure["half_width"] if ends is None else (ends[1] - ends[0]) / 2,
        )

    def _number(self, query: object) -> int:
        """The number of a query, from 0, by its number or label."""
        if isinstance(query, str):
            labels = self.frame()["label"]
            rows = np.flatnonzero(labels == query).tolist()
            if len(rows) > 1:
                raise OptionError(
                    f"{len(rows)} queries have the label '{query}': {', '.join(map(str, rows))}",
                    hint="ask for them by number",
                )
            if rows:
                return int(rows[0])
            hint = suggest(query, (*labels, *self.frame()["query"]))
            raise NotFoundError(
                f"there is no query '{query}'",
                hint=hint if len(hint) <= _LONGEST_HINT else "the column 'label' of the answers has them",
            )
        try:
            row = operator.index(query)  # type: ignore[arg-type]
        except TypeError:
            raise OptionError(
                f"a query is asked for by {type(query).__name__}, expected its number or its label"
            ) from None
        if not -len(self) <= row < len(self):
            raise NotFoundError(f"there is no query {row}, expected 0 to {len(self) - 1}")
        return row % len(self)


def texts_column(values: Iterable[str | None]) -> npt.NDArray[Any]:
    """A column of texts, None for an empty one."""
    return np.array([value or None for value in values], dtype=object)


def as_text(value: object) -> str:
    """One value of a column, in a CSV file."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """One value in JSON."""
    if value is None or value != value:
        return None
    return value.isoformat() if isinstance(value, datetime.date) else value
