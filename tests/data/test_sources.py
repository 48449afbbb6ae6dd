"""Sources count alike: a table gives the same counts from each, those of a plain loop."""

import csv
import datetime
import gzip
import io
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import DataVector, data_vector
from mmopt.workloads.domain import Attribute, Bins, Categories, Domain, Values

Columns = dict[str, list[Any]]

COLUMNS = {
    "größe, 'in' cm": pa.float64(),
    'a "quoted"; name': pa.string(),
    "id|whole": pa.int64(),
    "paid": pa.bool_(),
    "day": pa.date32(),
    "price": pa.decimal128(7, 2),
}
SIZE, WORD, WHOLE, PAID, DAY, PRICE = COLUMNS
LARGE = 2**60
WORDS = ["a", "ü", 'say "x"', "1;2", "3,4", "5|6", "tab\there", "two\nlines", " a", "NULL"]
DAYS = [datetime.date(2024, 1, 5), datetime.date(1970, 1, 1), datetime.date(1899, 12, 31)]
PRICES = [Decimal("1.50"), Decimal("-2.00"), Decimal("0.10"), Decimal("99.99")]


def domain(rng: np.random.Generator) -> Domain:
    """Attributes that read each column, with rules that place every row or drop it."""

    def rules(labels: tuple[str, ...]) -> dict[str, str]:
        return {key: str(rng.choice(["drop", labels[-1]])) for key in ("outside", "missing")}

    edges = (*map(float, np.unique(np.round(rng.normal(0, 9, size=5), 1))), 99.0)
    words = Categories((("a",), ('say "x"', "1;2", "tab\there"), ("3,4", "5|6", "two\nlines")))
    encodings = {
        SIZE: Bins(edges),
        WORD: words,
        WHOLE: Values((-1, 0, LARGE, LARGE + 1)),
        PAID: Values((False, True)),
        DAY: Values(tuple(map(str, DAYS[:2]))),
        PRICE: Values((1.5, -2, 0.1)),
    }
    attributes = []
    for column, encoding in encodings.items():
        labels = tuple(map(str, range(encoding.size)))
        attributes.append(Attribute(f"of {column}", labels, column, encoding, **rules(labels)))
    return Domain(tuple(attributes))


def table(rng: np.random.Generator, edges: tuple[float, ...]) -> Columns:
    """Random columns; an eighth of the values is NULL."""
    rows = int(rng.integers(0, 60))
    numbers = [*map(float, rng.normal(0, 9, size=5)), *edges, -0.0, 1e300, float("inf")]
    pools: dict[str, list[Any]] = {
        SIZE: numbers,
        WORD: WORDS,
        WHOLE: [-1, 0, 1, LARGE, LARGE + 1, LARGE + 2, -(2**63), 2**63 - 1],
        PAID: [True, False],
        DAY: DAYS,
        PRICE: PRICES,
    }
    return {
        name: [None if rng.random() < 0.125 else pool[rng.integers(len(pool))] for _ in range(rows)]
        for name, pool in pools.items()
    }


def cell(attribute: Attribute, value: Any) -> int | None:
    """The cell of a value along an attribute, as documented; None where the row is dropped."""
    encoding = attribute.encoding
    rule = attribute.missing
    if value is not None:
        rule = attribute.outside
        for i in range(attribute.size):
            if isinstance(encoding, Bins):
                fits = encoding.edges[i] <= value < encoding.edges[i + 1]
            else:
                members = encoding.members[i]
                same = str(value) if isinstance(value, datetime.date) else value
                fits = any(same == (Decimal(str(m)) if isinstance(value, Decimal) else m) for m in members)
            if fits:
                return i
    return None if rule == "drop" else attribute.labels.index(rule)


def counted(over: Domain, columns: Columns) -> np.ndarray[Any, np.dtype[np.int64]]:
    expected = np.zeros(over.size, np.int64)
    for row in zip(*(columns[a.column] for a in over.attributes), strict=True):
        codes = [cell(a, value) for a, value in zip(over.attributes, row, strict=True)]
        if None not in codes:
            expected[over.ravel(codes)] += 1  # type: ignore[arg-type]
    return expected


def arrow(columns: Columns) -> pa.Table:
    types = COLUMNS | {"n": pa.int64()}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def text_of(columns: Columns, delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row)
    return out.getvalue()


def as_text(folder: Path, name: str, delimiter: str) -> Callable[[Columns], Path]:
    def write(columns: Columns) -> Path:
        content = text_of(columns, delimiter).encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return folder / name

    return write


def as_duckdb(folder: Path, name: str, view: bool) -> Callable[[Columns], Path]:
    def write(columns: Columns) -> Path:
        with duckdb.connect(folder / name) as connection:
            rows = arrow(columns)
            connection.register("rows", rows)
            connection.execute("CREATE TABLE people AS FROM rows")
            if view:
                connection.execute("CREATE VIEW seen AS FROM people")
        return folder / name

    return write


def as_sqlite(folder: Path, name: str) -> Callable[[Columns], Path]:
    def write(columns: Columns) -> Path:
        connection = sqlite3.connect(folder / name)
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        connection.execute(f"CREATE TABLE people ({names})")
        plain = (bool, datetime.date, Decimal)
        rows = [
            [str(v).lower() if isinstance(v, plain) else v for v in row]
            for row in zip(*columns.values(), strict=True)
        ]
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(columns))})", rows)
        connection.commit()
        connection.close()
        return folder / name

    return write


def as_pandas(columns: Columns) -> pd.DataFrame:
    # A category without any value would be of numbers.
    kinds = {WHOLE: "Int64", PAID: "boolean", WORD: pd.CategoricalDtype(WORDS)}
    return pd.DataFrame({k: pd.Series(v, dtype=kinds.get(k, object)) for k, v in columns.items()})


class Capsule:
    """A frame of a library that nobody has heard of."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def encoded(columns: Columns) -> pa.Table:
    rows = arrow(columns)
    return rows.set_column(rows.schema.get_field_index(WORD), WORD, rows[WORD].dictionary_encode())


def relation(columns: Columns) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(arrow(columns))


def ibis_table(columns: Columns) -> ibis.Table:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
        return ibis.duckdb.connect().create_table("people", arrow(columns))


def sources(folder: Path) -> Iterator[tuple[Callable[[Columns], Any], dict[str, str]]]:
    """Makers of a source from columns, and the options that each needs."""
    yield as_text(folder, "comma.csv", ","), {}
    yield as_text(folder, "semicolon.CSV", ";"), {}
    yield as_text(folder, "tab.tsv", "\t"), {}
    yield as_text(folder, "bar.txt", "|"), {}
    yield as_text(folder, "packed.csv.gz", ";"), {}
    yield as_text(folder, "said.csv", "~"), {"delimiter": "~"}
    yield as_text(folder, "wide.txt", "§"), {"delimiter": "§"}
    yield as_duckdb(folder, "one.duckdb", view=False), {}
    yield as_duckdb(folder, "two.db", view=True), {"table": "seen"}
    yield as_sqlite(folder, "lite.sqlite"), {}
    yield as_sqlite(folder, "lite.db"), {"table": "people"}
    yield as_pandas, {}
    yield lambda columns: pl.from_arrow(encoded(columns)), {}
    yield arrow, {}
    yield encoded, {}
    # A reader without a row is taken for one that was read.
    yield lambda columns: arrow(columns).to_reader() if columns[SIZE] else arrow(columns), {}
    yield lambda columns: Capsule(arrow(columns)), {}
    yield lambda columns: columns, {}
    yield lambda columns: dict(pl.DataFrame(arrow(columns)).to_dict()), {}
    yield relation, {}
    yield ibis_table, {}
    yield lambda columns: ibis.memtable(arrow(columns)), {}

    def parquet(columns: Columns) -> Path:
        pq.write_table(arrow(columns), folder / "t.parquet")
        return folder / "t.parquet"

    yield parquet, {}


def aggregated(columns: Columns) -> Columns:
    """One line for each different row, and one that stands for none."""
    lines = Counter(zip(*columns.values(), strict=True))
    lines[tuple(values[0] if values else None for values in columns.values())] += 0
    return {name: [line[i] for line in lines] for i, name in enumerate(columns)} | {"n": list(lines.values())}


def compare(folder: Path, rng: np.random.Generator, some: int) -> None:
    over = domain(rng)
    columns = table(rng, over.attributes[0].encoding.edges)  # type: ignore[union-attr]
    columns = {name: columns[name] for name in rng.permutation(sorted(columns)).tolist()}
    expected = counted(over, columns)
    rows = len(columns[WHOLE])
    every = list(sources(folder))
    for place in rng.permutation(len(every))[:some]:
        make, options = every[place]
        weighed = bool(rng.random() < 0.5)
        data = make(aggregated(columns) if weighed else columns)
        found = data_vector(data, over, weight="n" if weighed else None, **options)
        np.testing.assert_array_equal(found.counts, expected, err_msg=f"source {place}, weighed: {weighed}")
        assert found.rows == rows


@pytest.mark.draws(2)
def test_every_source_gives_the_counts_of_a_plain_loop(tmp_path: Path, rng: np.random.Generator) -> None:
    compare(tmp_path, rng, 6)


@pytest.mark.slow
@pytest.mark.draws(30)
def test_every_source_gives_the_same_counts(tmp_path: Path, rng: np.random.Generator) -> None:
    compare(tmp_path, rng, 6)


def test_a_data_vector_is_an_array_of_its_counts() -> None:
    found = data_vector({"a": [1, 2, 2]}, Domain((Attribute("a", ("1", "2"), encoding=Values((1, 2))),)))
    assert isinstance(found, DataVector)
    np.testing.assert_array_equal(np.asarray(found), [1, 2])
    assert np.asarray(found, dtype=np.float64).dtype == np.float64
