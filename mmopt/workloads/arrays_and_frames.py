"""Labels and entries of data frames, series and arrays, also of arrays in files (.npy and .csv).

The libraries of frames are not imported.

A series or an array counts as a list of labels where each occurs once. One that repeats a label is data: the
labels that occur in data are a fact of the data, and confidential, so that none are read from it. A
categorical declares its labels (pandas ``CategoricalDtype``, polars ``Enum``), whatever data it holds. The
caller has to make sure that they come from a code book, and not from the data as with
``astype("category")``.
"""

import datetime
import zipfile
from collections.abc import Hashable, Iterable, Sequence, Sized
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.errors import OptionError, TooLargeError, WorkloadError
from mmopt.workloads.domain import Attribute, Domain, TableValue, Values, label_of, refuse_repeated

Plain = TableValue | None
#: The endings of files with arrays.
SUFFIXES = (".npy", ".csv")
#: The ending of files that ``scipy.sparse.save_npz`` writes.
SPARSE = ".npz"


def read_array(path: Path, what: str) -> Any:
    """The array in a NumPy file, the table of numbers (2-D) in a file with commas, or a sparse array.

    ``what`` says in messages what the file is for.

    Raises
    ------
    OptionError : no such file, an empty one, or one that holds something else.
    """
    if not path.is_file():
        raise OptionError(f"there is no file '{path}' for {what}")
    kinds = {".npy": "a NumPy array", SPARSE: "a sparse array of scipy.sparse.save_npz"}
    kind = kinds.get(path.suffix.lower(), "a table of numbers, separated by commas")
    try:
        if path.suffix.lower() == SPARSE:
            return scipy.sparse.load_npz(path)
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:  # np.load would take an archive of arrays too
                return np.lib.format.read_array(file, allow_pickle=False)
        if not path.read_text(encoding="utf-8").strip():
            raise OptionError(f"the file '{path}' for {what} is empty")
        return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8")
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(f"the file '{path}' for {what} is not {kind}: {reason}") from None


def plain_value(value: object) -> Plain:
    """A text, number, truth value or None, as Python's own type; a date is its ISO text.

    Raises
    ------
    WorkloadError : anything else; a date with a time of day.
    """
    if isinstance(value, np.generic):
        value = (value.astype("datetime64[us]") if isinstance(value, np.datetime64) else value).item()
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case datetime.datetime() if value != value:  # pandas' NaT
            return None
        case datetime.datetime() if value.time() != datetime.time() or value.tzinfo is not None:
            raise WorkloadError(
                "a date with a time of day or a time zone means nothing here",
                hint="cells of dates are whole days: pass datetime.date values or texts as '2026-01-31'",
            )
        case datetime.datetime():
            return value.date().isoformat()
        case datetime.date():
            return value.isoformat()
    kind = type(value).__name__
    hint = (
        "write the edges of half-open intervals: {'bins': [0, 18, 65]} means [0, 18), [18, 65)"
        if kind == "Interval"
        else "taken are texts, numbers, True, False, None, dates, and lists and dictionaries of them"
    )
    raise WorkloadError(f"a value of type {kind} means nothing here", hint=hint)


def listed(value: Any, most: int) -> Sequence[object] | None:
    """The items of a list, tuple, range, series, index or array, the labels of a categorical; else None.

    Raises
    ------
    WorkloadError : a series or an array that holds a value twice. TooLargeError : more than ``most`` items.
    """
    is_list = isinstance(value, list | tuple | range)
    declared = getattr(getattr(value, "dtype", value), "categories", None)
    # polars' Categories, of a Categorical, has no length: it grows with all data that are read.
    if isinstance(declared, Iterable) and isinstance(declared, Sized):
        return list(declared)
    is_array = hasattr(value, "dtype") and isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0
    if not (is_list or is_array):
        return None
    if len(value) > most:
        raise TooLargeError(
            f"a {type(value).__name__} of more than {most:,} values",
            hint="use range, bins, prefix or all_range instead of long lists",
        )
    items: Sequence[object] = value if is_list else list(value)
    if not is_list and all(isinstance(item, Hashable) for item in items) and len(set(items)) < len(items):
        raise WorkloadError(
            f"a {type(value).__name__} that holds a value twice is data, not a list of labels",
            hint="which labels occur in data is confidential: write them as a list, or as a categorical with "
            "declared categories (pandas.CategoricalDtype, polars.Enum)",
        )
    return items


def is_frame(value: object) -> bool:
    """Whether this is a data frame: it has columns, and can become an array."""
    return hasattr(value, "to_numpy") and hasattr(value, "columns")


def labelled(matrix: Any) -> tuple[Any, tuple[str, ...], Domain | None]:
    """A matrix of queries as (entries, names of the queries, domain); no names or None without labels.

    The index of a data frame names the queries, its columns the cells of one attribute, which has the name of
    the columns (pandas ``columns.name``), or "cell". An index that only counts 0, 1, … names nothing, and
    polars has none.

    Raises
    ------
    WorkloadError : entries that are no numbers, a column label that is there twice, a label of no plain type.
    """
    if not is_frame(matrix):
        return matrix, (), None
    entries = matrix.to_numpy()
    if entries.dtype == object and all(isinstance(entry, Real | np.bool_) for entry in entries.flat):
        entries = entries.astype(np.float64)  # columns of several types, numbers all of them
    if entries.dtype.kind not in "biuf":
        raise WorkloadError(
            f"the data frame holds {entries.dtype.name} values, expected a number per query and cell",
            hint="a row is a query and a column a cell; labels of queries go in the index, data go elsewhere",
        )
    columns = tuple(_label(label) for label in matrix.columns)
    texts = tuple(label_of(label) for label in columns)
    refuse_repeated(texts, lambda text: f"the data frame has two columns '{text}'")
    name = str(getattr(matrix.columns, "name", None) or "cell")
    domain = Domain((Attribute(name, texts, encoding=Values(columns)),))
    return entries, _names(getattr(matrix, "index", None)), domain


def check_labels(names: Sequence[str], **series: object) -> None:
    """WorkloadError for a series with another index than the queries, which pandas would align."""
    for what, values in series.items():
        index = getattr(values, "index", None)
        labels = () if index is None or callable(index) else _names(index)
        if names and labels and labels != tuple(names):
            kind = "the same labels in another order" if set(labels) == set(names) else "other labels"
            raise WorkloadError(
                f"the {what} have {kind} than the queries", hint=f"pass {what}.reindex(queries.index)"
            )


def _names(index: Any) -> tuple[str, ...]:
    """The names of queries in an index; none where it only counts."""
    is_count = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return () if index is None or is_count else tuple(label_of(_label(label)) for label in index)


def _label(label: object) -> TableValue:
    """The label of a query or a cell as a plain value; WorkloadError for an empty one."""
    if isinstance(label, tuple):  # of an index of several levels
        return ", ".join(label_of(_label(part)) for part in label)
    value = plain_value(label)
    if value is None or value == "":
        raise WorkloadError("a query or a cell of the frame has an empty label")
    return value
