"""Counts of a table: one per cell, or by few attributes.

``data_vector`` counts the rows in each cell by one aggregate query. ``marginal_counts`` counts them by sets
of few attributes, all that queries of few attributes need, over any number of cells; ``joined`` puts sets
together, so that many tables come from few queries.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mmopt.data.cell_codes import STRAYS
from mmopt.data.counted_rows import (
    FAULTS,
    KEPT,
    NOBODY,
    Part,
    attributes_to_read,
    code_name,
    coded_rows,
    counts_by_group,
    dropped_codes,
    integers,
    is_in_share,
    kept_rows,
    nested_selects_kept,
    refuse_rows,
    refuse_weights,
    targets_of,
    wanted_columns,
)
from mmopt.data.open_table import TableColumns, open_table
from mmopt.data.table_files_and_connections import ibis
from mmopt.errors import DataError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import frozen, grouped
from mmopt.privacy.rounding.norms_and_measured_integers import maximal_sets
from mmopt.request import WorkloadLike, as_domain, as_workload
from mmopt.strategies import Neighbours
from mmopt.workloads import Attribute, Domain, Workload

COUNT_BY_FEW_HINT = "count by few attributes with mmopt.data.counts, where a release needs no more"


@dataclass(frozen=True, eq=False)
class DataVector:
    """The data vector and what was left out of it, all confidential: none of it belongs in a release.

    ``counts`` (n,) int64, read-only, in the domain's order of cells; numpy takes this object for that array.
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
    domain: "Domain | WorkloadLike",
    *,
    workload: Workload | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    unit: Neighbours | None = None,
    null: Sequence[str] = (),
    spelling: str = "exact",
    progress: Callable[[str], None] | None = None,
) -> DataVector:
    """Count the rows of a table in each cell of a domain: the data vector that a strategy measures.

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
    domain : the attributes, with the columns that they read and their rules for rows without a cell; or a
        workload over it, its file or a request.
    workload : the queries over this domain. The columns of attributes that no query needs
        (``attribute_uses``) are then not read, and rows count in the first cell along them. None: all columns
        are read.
    table : the table or view of a database that has several; ``SCHEMA.TABLE`` on a server.
    weight : the column with the number of rows that each line of the table stands for, whole numbers from 0
        on. One of these rows is then protected, not a line.
    delimiter : the character at which lines of a text file are split. None: the one of ``,``, ``;``, tab and
        ``|`` at which the header has the columns that are read.
    part : a column of texts or whole numbers, and a value as a text: only rows with this value are counted,
        as if there were no others. None: all rows.
    unit : one whose ``column`` names the person of each row: at most ``at_most`` rows of a person are
        counted, of those that no rule drops. That person's rows alone, and the workload's hash, decide which
        (``counted_rows.py``). A row with NULL, a blank or a word for missing there is refused.
    null : words that stand for a missing value, in every column; blanks around them do not count. A value
        that a cell lists is none, nor is a declared part. A word that is a number, or a date, also stands for
        it in columns of numbers, or dates, within bins too.
    spelling : "loose": texts count as the declared text that differs from them by blanks around, upper and
        lower case, zeros in front of a whole number, or a point and zeros behind it, where that is one cell.
        "decimal comma", "thousands commas", "thousands apostrophes", "DD.MM.YYYY", "DD/MM/YYYY",
        "MM/DD/YYYY": how numbers and days in texts are written. Several have ", " between. Persons are told
        apart as they are written.
    progress : takes words before each part of many rows is counted, confidential: which, and a forecast.

    A row counts in one cell, which depends on that row alone. A row that has no cell follows the rules of the
    attribute: ``outside`` for a value that the domain does not declare, such as an infinity, or a text that
    is no number where numbers are declared; ``missing`` for NULL, for a text that is empty, blank or a word
    of ``null``, and for NaN where numbers are declared. A rule is "refuse" (the default),
    "drop", or the label of a cell, in which such rows are counted. A row is refused also where it is one of
    those of a person that are not counted.

    Raises
    ------
    DataError : arguments of other types; the table cannot be read, lacks a column or has one of a type that
        holds nothing declared, has weights that are no counts, or has refused rows; a file that changed
        meanwhile. Whether rows are refused, and the message, are facts of the data: confidential, not
        protected.
    TooLargeError : a count for each cell does not fit in memory.
    """
    domain = as_domain(domain)
    wanted, unit = wanted_columns(
        data, domain, workload, table, weight, delimiter, part, unit, null, spelling
    )
    assert isinstance(domain, Domain)  # else refused
    require_memory((domain.size,), "data vector", COUNT_BY_FEW_HINT)
    attributes = attributes_to_read(domain, workload)
    counts = np.zeros(domain.size, dtype=np.int64)
    misfits = np.zeros((len(attributes), STRAYS), dtype=np.int64)
    lines, rows_by_fault = np.zeros((2, FAULTS), dtype=np.int64)
    beyond = nobody = 0
    with open_table(data, wanted, table, delimiter) as opened, ExitStack() as stack:
        shares = _by_shares(
            stack,
            opened,
            partial(coded_rows, opened, attributes, weight, part, unit, null, spelling),
            attributes,
            unit,
            "" if workload is None else workload.hash,
            progress,
        )
        # Codes are named in an inner select and grouped by name: each is computed once a row.
        codes = [code_name(i) for i in range(len(attributes))]
        for batch in chain.from_iterable(
            counts_by_group(coded, codes if weight is None else [*codes, "fault"], weight) for coded in shares
        ):
            rows = integers(batch, "rows")
            fault = np.zeros_like(rows) if weight is None else integers(batch, "fault")
            np.add.at(rows_by_fault, fault, rows)
            np.add.at(lines, fault, rows if weight is None else integers(batch, "lines"))
            # Along an attribute that is not read, rows count in the first cell.
            cells = {attribute.name: np.zeros(len(rows), np.int64) for attribute in domain.attributes}
            for i, attribute in enumerate(attributes):
                code = integers(batch, code_name(i))
                misfits[i] += [rows[code == attribute.size + k].sum() for k in range(STRAYS)]
                cells[attribute.name] = targets_of(attribute)[code]
            has_cell = np.all([cell >= 0 for cell in cells.values()], axis=0)
            kept = rows if unit is None else integers(batch, KEPT)
            if unit is not None:
                beyond += int((rows - kept)[has_cell].sum())
                nobody += int(integers(batch, NOBODY).sum())
            np.add.at(counts, domain.ravel([cell[has_cell] for cell in cells.values()]), kept[has_cell])
    total = int(rows_by_fault.sum())
    if weight is not None:
        refuse_weights(opened.name, weight, np.arange(FAULTS), lines, rows_by_fault)
    refuse_rows(opened.name, attributes, misfits.tolist(), total, unit, nobody, null, spelling)
    return DataVector(frozen(counts), total, _dropped(domain, attributes, misfits.tolist()), beyond)


def _dropped(
    domain: Domain, attributes: Sequence[Attribute], misfits: Sequence[Sequence[int]]
) -> Mapping[str, int]:
    """The rows that the rules of each attribute drop."""
    dropped = {
        attribute.name: sum(numbers[code - attribute.size] for code in dropped_codes(attribute))
        for attribute, numbers in zip(attributes, misfits, strict=True)
    }
    return MappingProxyType({name: dropped.get(name, 0) for name in domain.names})


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
    null: Sequence[str] = (),
    spelling: str = "exact",
) -> int | None:
    """Refuse what ``data_vector`` with the same arguments would, by names and types of the columns alone.

    Returns the number of rows of a Parquet file, confidential; else None. Of a reader of batches, which can
    be read only once, the types are left to the count.

    Raises
    ------
    DataError : arguments of other types; the table cannot be opened, lacks a column, or has one of a type
        that holds nothing declared.
    """
    wanted, unit = wanted_columns(
        data, domain, workload, table, weight, delimiter, part, unit, null, spelling
    )
    with open_table(data, wanted, table, delimiter) as opened:
        if not hasattr(data, "read_next_batch"):
            coded = coded_rows(
                opened, attributes_to_read(domain, workload), weight, part, unit, null, spelling
            )
            return int(coded.count().to_pyarrow().as_py()) if opened.is_stored else None
    return None


#: Entries of a table up to which smaller tables are summed from it instead of being counted.
LARGEST_SUMMED = 10**6

#: Entries of the table of several sets together, up to which counting it takes as long as counting one.
LARGEST_JOINED = 2**15


def counted_sets(queried: Iterable[tuple[int, ...]], sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The sets whose tables are kept: those inside no other, and those inside large ones only."""
    every = sorted(set(queried))
    outer = maximal_sets(every)
    small = [set(attributes) for attributes in outer if _entries(attributes, sizes) <= LARGEST_SUMMED]
    if len(small) == len(outer):
        return outer
    inner = [
        attributes
        for attributes in sorted(set(every) - set(outer))
        if not any(around.issuperset(attributes) for around in small)
    ]
    return (*outer, *inner)


def joined(
    sets: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Mapping[tuple[int, ...], list[tuple[int, ...]]]:
    """Sets by the attributes that are counted for them: the blocks of small attributes that they touch.

    Attributes are put into blocks, in order, such that a set of the largest order touches blocks whose union
    has at most ``LARGEST_JOINED`` entries; where it has more the set is counted by itself.
    """
    order = max((len(attributes) for attributes in sets), default=1) or 1
    most = LARGEST_JOINED ** (1 / order)
    blocks: list[list[int]] = []
    entries = most + 1.0  # of the last block; there is none yet
    for i in sorted({i for attributes in sets for i in attributes}):
        if entries * sizes[i] > most:
            blocks.append([])
            entries = 1.0
        blocks[-1].append(i)
        entries *= sizes[i]
    block_of = {i: block for block in blocks for i in block}
    unions = ((one, tuple(sorted({j for i in one for j in block_of[i]}))) for one in sets)
    by_union = grouped(
        (union if _entries(union, sizes) <= LARGEST_JOINED else attributes, attributes)
        for attributes, union in unions
    )
    # A union for a single set is not counted: the set is, or a union of several that contains it.
    several = {union: attributes for union, attributes in by_union.items() if len(attributes) > 1}
    around = grouped((i, union) for union in several for i in union)
    for (attributes,) in (group for group in by_union.values() if len(group) == 1):
        others = around.get(attributes[0], []) if attributes else list(several)
        union = next((other for other in others if set(other).issuperset(attributes)), attributes)
        several.setdefault(union, []).append(attributes)
    return several


def _entries(attributes: Iterable[int], sizes: Sequence[int]) -> int:
    """Entries of the table over these attributes."""
    return math.prod(sizes[i] for i in attributes)


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
        """The sets with tables that contain each attribute, the smallest table first."""
        by_size = sorted(self.tables, key=lambda attributes: self.tables[attributes].size)
        return grouped((i, attributes) for attributes in by_size for i in attributes)

    def of(self, attributes: tuple[int, ...]) -> Counts:
        """The rows in each cell of these attributes, ascending; () is the number of rows that have cells.

        DataError where they were not counted together.
        """
        if (table := self.tables.get(attributes)) is not None:
            return table
        around = min((self._by_attribute.get(i, []) for i in attributes), key=len, default=list(self.tables))
        wanted = set(attributes)
        larger = next((one for one in around if wanted.issubset(one)), None)
        if larger is None or list(attributes) != sorted(wanted):
            names = ", ".join(f"'{self.domain.names[i]}'" for i in attributes)
            raise DataError(
                f"the rows were not counted by {names} together", hint="count them by these attributes, too"
            )
        others = tuple(at for at, i in enumerate(larger) if i not in wanted)
        return np.asarray(self.tables[larger].sum(axis=others), dtype=np.int64)

    def __repr__(self) -> str:
        return f"MarginalCounts({len(self.tables):,} tables of counts, {self.rows:,} rows)"


def marginal_counts(
    data: object,
    workload: "WorkloadLike",
    *,
    sets: Sequence[tuple[int, ...]] | None = None,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    unit: Neighbours | None = None,
    null: Sequence[str] = (),
    spelling: str = "exact",
    progress: Callable[[str], None] | None = None,
) -> MarginalCounts:
    """Count the rows of a table by the attributes that each product of a workload depends on.

    The rows become codes of cells once, which the engine keeps; each query groups by those of a few sets.

    Parameters
    ----------
    data, table, weight, delimiter, part, unit, null, spelling, progress : as ``data_vector``, whose rules
        hold for rows without a cell: one that an attribute drops is in no table, nor is a row of a person
        that is not kept.
    workload : the queries, made from products; columns that no query needs are not read.
    sets : other sets of attributes to count by, as places in the domain: those of an integer strategy.

    Raises
    ------
    DataError : as ``data_vector``; a workload from a matrix, or sets with places beyond the domain.
    TooLargeError : the tables do not fit in memory.
    """
    workload = as_workload(workload)
    domain = workload.domain
    wanted, unit = wanted_columns(
        data, domain, workload, table, weight, delimiter, part, unit, null, spelling
    )
    if sets is None and workload.products is None:
        raise DataError(
            "the workload is a matrix, and counts by few attributes need products",
            hint="count its cells with mmopt.data.counts",
        )
    queried = (
        [product.looked_at for product in workload.products or ()]
        if sets is None
        else [tuple(sorted(set(places))) for places in sets]
    )
    if any(not 0 <= i < len(domain.shape) for places in queried for i in places):
        raise DataError(
            f"the sets to count by have places beyond the {len(domain.shape)} attributes of the domain"
        )
    kept_sets = counted_sets(queried, domain.shape)
    entries = sum(_entries(places, domain.shape) for places in kept_sets)
    require_memory((entries,), f"counts by {len(kept_sets):,} sets of attributes")
    attributes = attributes_to_read(domain, workload)
    places = {domain.names.index(a.name): at for at, a in enumerate(attributes)}
    with open_table(data, wanted, table, delimiter) as opened, ExitStack() as stack:
        code = partial(coded_rows, opened, attributes, weight, part, unit, null, spelling)
        shares = _by_shares(stack, opened, code, attributes, unit, workload.hash, progress)
        coded = ibis.union(*[stack.enter_context(_stored(share)) for share in shares])
        if weight is not None:
            for lines in counts_by_group(coded, ["fault"], weight):
                faults, rows_by_fault = integers(lines, "fault"), integers(lines, "rows")
                refuse_weights(opened.name, weight, faults, integers(lines, "lines"), rows_by_fault)
        misfits, rows, nobody = _misfits(coded, attributes, weight)
        refuse_rows(opened.name, attributes, misfits, rows, unit, nobody, null, spelling)
        # The lines that no attribute drops, also of those that stand for no row.
        inside = coded
        for i, a in enumerate(attributes):
            if out := dropped_codes(a):
                inside = inside.filter(inside[code_name(i)].notin(out))
        beyond = 0
        if unit is not None:
            beyond = int(inside.filter(inside[KEPT] == 0).count().to_pyarrow().as_py())
            inside = inside.filter(inside[KEPT] == 1)
        tables = dict(_tables(inside, domain, kept_sets, places, weight))
    return MarginalCounts(
        domain, MappingProxyType(tables), rows, _dropped(domain, attributes, misfits), beyond
    )


#: Rows, on average, among which those of each person are told apart at a time, in memory.
ROWS_OF_SHARE = 2**22


BY_ENGINE = "by the database, which reports neither progress nor an estimate of the time"


def counting_words(rows: int | None, unit: Neighbours | None, is_remote: bool = False) -> str:
    """How long counting takes, and in how much memory of this machine: roughly, for few attributes.

    rows : how many, confidential; None for words that hold for any table. is_remote : on a server.
    """
    if is_remote:
        return f"{BY_ENGINE}; in about 0.4 GB of memory here"
    seconds, gigabytes, more = (
        (
            3.0,
            2.2e-7 * min(rows or math.inf, ROWS_OF_SHARE),
            ", and 30 MB more for each million rows, unless in Parquet",
        )
        if unit is not None and unit.column
        else (0.4, 0.0, "")
    )
    return (
        f"{'each million rows' if rows is None else f'{rows:,} rows (confidential, do not publish)'}: "
        f"about {math.ceil(seconds * (rows or 1e6) / 1e6):,} s, in about {0.35 + gigabytes:.1f} GB of memory"
        f"{more}"
    )


def _by_shares(
    stack: ExitStack,
    opened: TableColumns,
    code: Callable[..., Any],
    attributes: Sequence[Attribute],
    unit: Neighbours | None,
    salt: str,
    progress: Callable[[str], None] | None,
) -> Iterator[Any]:
    """The codes of all rows; with a unit of ``kept_rows``, share by share of the persons.

    Which rows of a person are kept does not depend on the shares. Where the engine is not in this process
    there is one: it sorts on its own disk, and one statement has to read what others may write meanwhile.

    code : gives ``coded_rows``, of a ``share``.
    """
    coded = code()
    shares = 1
    if unit is not None and coded.get_backend().name == "duckdb":
        coded = coded if opened.is_stored else stack.enter_context(_stored(coded))
        count = int(coded.count().to_pyarrow().as_py())
        # Codes that are stored take as much memory as half of a share.
        shares = math.ceil(count * (1 if opened.is_stored else 2) / ROWS_OF_SHARE) or 1
    if progress is not None and coded.get_backend().name != "duckdb":
        progress(BY_ENGINE)
    for share in ((at, shares) for at in range(shares)):
        rows = coded
        if shares > 1:
            if progress is not None:
                progress(f"part {share[0] + 1} of {shares} of {counting_words(count, unit)}")
            rows = code(share=share) if opened.is_stored else coded.filter(is_in_share(coded.person, share))
        yield rows if unit is None else kept_rows(rows, attributes, unit, salt)


def _stored(coded: Any) -> AbstractContextManager[Any]:
    """The codes in a temporary table of their engine; as they are where it has none."""
    try:
        with nested_selects_kept():
            return cast(AbstractContextManager[Any], coded.cache())
    except (NotImplementedError, ibis.common.exceptions.UnsupportedOperationError):
        return nullcontext(coded)


def _misfits(
    coded: Any, attributes: Sequence[Attribute], weight: str | None
) -> tuple[list[list[int]], int, int]:
    """The rows with each attribute's codes that are no cell; all rows; those that name no person."""
    rows_of_line = ibis.literal(1, "int64") if weight is None else coded.weight
    sums = {
        f"{code_name(i)}_{code}": ibis.ifelse(coded[code_name(i)] == a.size + code, rows_of_line, 0).sum()
        for i, a in enumerate(attributes)
        for code in range(STRAYS)
    }
    rows = coded.count() if weight is None else rows_of_line.sum()
    nobody = {NOBODY: coded[NOBODY].sum()} if NOBODY in coded.columns else {}
    row = coded.aggregate(rows=rows, **sums, **nobody).to_pyarrow()
    misfits = [
        [int(integers(row, f"{code_name(i)}_{k}")[0]) for k in range(STRAYS)] for i in range(len(attributes))
    ]
    return misfits, int(integers(row, "rows")[0]), int(integers(row, NOBODY)[0]) if nobody else 0


def _tables(
    coded: Any,
    domain: Domain,
    kept_sets: Sequence[tuple[int, ...]],
    places: Mapping[int, int],
    weight: str | None,
) -> Iterator[tuple[tuple[int, ...], Counts]]:
    """The table of each set; the sets of one group come from one query.

    places : the places of attributes among those that are read; along others all rows count in the first
        cell.
    """
    for union, sets in joined(kept_sets, domain.shape).items():
        grouped = [i for i in union if i in places]
        shape = [domain.shape[i] for i in union]
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        for batch in counts_by_group(coded, [code_name(places[i]) for i in grouped], weight):
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
            yield one, frozen(np.asarray(counts.sum(axis=others)) if others else counts)
