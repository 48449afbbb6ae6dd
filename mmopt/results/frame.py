"""Named columns of answers or errors, as any library of data frames takes them."""

from __future__ import annotations

import csv
import datetime
import importlib.util
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mmopt.display_base_classes import Displayed
from mmopt.errors import OptionError, suggest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True, eq=False, repr=False)
class Frame(Displayed):
    """Columns of equal length, read-only: ``frame["estimate"]`` is a numpy array (rows,).

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

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self.columns:
            raise OptionError(f"there is no column '{name}'", hint=suggest(name, self.columns))
        return self.columns[name]

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table``; missing values are null, and the metadata go into its schema."""
        import pyarrow

        arrays = {
            name: pyarrow.array(
                values, type=pyarrow.string() if values.dtype == object else None, from_pandas=True
            )
            for name, values in self.columns.items()
        }
        return pyarrow.table(arrays, metadata=dict(self.metadata))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream (PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``, with the metadata in ``attrs``. OptionError if pandas is not installed."""
        _need("pandas")
        import pandas

        frame = pandas.DataFrame({name: values.copy() for name, values in self.columns.items()})
        frame.attrs.update(self.metadata)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``. OptionError where polars is not installed."""
        _need("polars")
        import polars

        return polars.DataFrame(self)

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


def _need(library: str) -> None:
    """Raise OptionError where the library is not installed."""
    if importlib.util.find_spec(library) is None:
        raise OptionError(
            f"a {library} frame needs {library}, which is not installed", hint=f"pip install {library}"
        )
