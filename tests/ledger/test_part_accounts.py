"""One value has one account, however a copy of the table spells it; other values have others.

Guards account.py.
"""

import datetime
import itertools
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import mmopt
from mmopt.data import data_vector
from mmopt.errors import PrivacyError
from mmopt.ledger import Bill, Ledger, ledger_file
from mmopt.ledger.account import Entry, readings, spent

DOMAIN = mmopt.Domain.of(sex=["F", "M"])

# Groups of texts that may be the same value, one a line; 1,000 may also be 1, and 20200101 a number. The
# ninth to twelfth are of copies that went through doubles, or through a spreadsheet.
SPELLINGS = [
    line.split("|")
    for line in """\
true|TRUE|True|tRuE|t|yes|Y|on|1|01|+1|1.0|1,0|1e0|1.000|\uff11|\uff34\uff32\uff35\uff25|tr\u200bue
false|F|no|n|OFF|0|-0|0.0|0,00|0e5|\u2060false|\uff10
1,5|1.5|1½|1 1/2|3/2|3⁄2|15e-1|01,50|\uff11\uff0e\uff15|1٫5|1.5\xa0|\ufeff1.5
½|0.5|0,5|.5|,5|1/2|1⁄2|5e-1|2/4|2⁄4|50%|50,0 %|٥٠%
⅓|1/3|0.333333333333333|0,33333333333333331|2/6
-½|-0.5|−0.5|–0,5|﹣0.5|\uff0d½
1000|1,000|1 000|1.000|1'000|1’000|1\u202f000|1e3|1_000|1000.0
1234567.5|1,234,567.5|1.234.567,5|1 234 567,5|12,34,567.5|1'234'567.5
9007199254740993|9007199254740992.0|9.007199254740993e15|9.00719925474099E+15
0.1|0.1000000000000000055|0,10|1e-1
1234567890123456|1234567890123450|1234567890123460|1.23456789012346E+15|1,23456789012345E+15
-499153.62237951346|-4,991536223795135E+05|-499153.622379513|-499153.622379514
4.9999999999999996|5|4.99999999999999|5.0000000000000000|4.9999999999999997|5,00
2020-01-01|2020-01-01 00:00:00|2020-01-01T00:00|2020-01-01T00:00:00Z|2020-01-01 00:00:00.000000000|\
2020-01-01 00:00:00+00|2020-01-01 00:00:00 UTC|2020-01-01 00:00:00 +02:00|2019-12-31T22:00:00-02:00|\
1-Jan-2020|01 JAN 2020|01JAN2020|2020 Jan|January 1, 2020|2020-Jan-01|1. January 2020 00:00|Jan 2020|\
2020-01|2020-1|2020 - 01 - 01|2020-01-01 00:00:00 GMT|2020-01-01 12am|\
\u0662\u0660\u0662\u0660-\u0660\u0661-\u0660\u0661|\
20200101|20200101T000000|2020/01/01|2020-1-1|1/1/2020|1/1/2020 0:00|1/1/2020 12:00:00 AM|01.01.2020|\
01-01-2020 00:00|2020\u201101\u201101|\uff12\uff10\uff12\uff10-01-01|2020-01-01\u200b
2020-03-01 13:30:00|2020-03-01T13:30|3/1/2020 1:30 PM|1.3.2020 13:30|20200301T133000|\
2020-03-01 1:30:00 p.m.|2020-03-01 13:30:00.000|2020-03-01T15:30+02:00|Mar 1, 2020 1:30 pm
2021-01-02|2021-01-01T24:00|2021-01-01 24:00:00|2021-01-01 24:00+02:00|02-Jan-2021|Jan 2, 2021
2022-05-01T22:00Z|2022-05-01 24:00+02:00
13:00|13:00:00|1:00 PM|1 p.m.|1pm|13:00:00.000|01:00:00 pm|1900-01-01 13:00
café|cafe\u0301|CAFÉ|\uff43\uff41\uff46é|ca\xadfé| Café |caf\u200de\u0301
straße|STRASSE|Strasse
ΣΊΣΥΦΟΣ|σίσυφος|Σίσυφος
New York|new york|New\xa0York|New  York|NEW\u2009YORK|New\u200b York
O'Neil|O’Neil
Nord-Pas|Nord–Pas|Nord‐Pas
ﬁn|fin|FIN
nan|NaN
İstanbul|istanbul|I\u0307stanbul|i\u0307stanbul|ISTANBUL
north|north\ufe0f|\u3164north""".splitlines()
]

APART = """\
2|-1|1.5|15|150|0.15|10|100|north|south|a+|a-|c|c++|c#|11/2|1/11|inf|cafe|café|m|w|01x|x01|1/8|125
2020-01-01|2020-01-02|2020-02-01|2020-12-31|2020-01-01T00:00:01|1-Mar-2020|2020-04|2019-20|2020-13|2020|mar|\
market 1 2020|100%|1%|13:00|13:01|1:00|1:00:01|25:00|16:9|12 am|123456789012345|123456789012346|\
1234567890123456|1234567890123476|\
0.123456789012345|0.123456789012347|1.5000000000001""".replace("\n", "|").split("|")
"""Texts that spell no value together."""


def test_two_spellings_of_a_value_share_an_account(subtests: pytest.Subtests) -> None:
    for first, *others in SPELLINGS:
        for one, other in itertools.combinations([first, *others], 2):
            with subtests.test(f"{one!a} {other!a}"):
                entries = [Entry(1, "", Fraction(1), "", "", one), Entry(2, "", Fraction(2), "", "", other)]
                assert spent(entries, one) == spent(entries, other) == spent(entries, None) == 3


def test_other_values_have_other_accounts() -> None:
    for one, other in itertools.combinations(APART, 2):
        assert not readings(one) & readings(other), (one, other)
    groups = [{r for text in group for r in readings(text)} for group in SPELLINGS]
    shared = [
        (a[0], b[0])
        for (a, of_a), (b, of_b) in itertools.combinations(zip(SPELLINGS, groups, strict=True), 2)
        if of_a & of_b
    ]
    assert shared == [("true", "1000")]


# -- each kind of source


def in_sqlite(folder: Path, kind: str, values: list[object]) -> Path:
    path = folder / "t.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t (sex TEXT, part {kind})")
        connection.executemany("INSERT INTO t VALUES ('F', ?)", [(value,) for value in values])
        connection.commit()
    return path


def in_duckdb(folder: Path, table: pa.Table) -> Path:
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("source", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM source")
    return path


def written(path: Path, write: Callable[[Path], object]) -> Path:
    write(path)
    return path


SOURCES: dict[str, Callable[[Path, pa.Table], object]] = {
    "csv": lambda folder, table: written(folder / "t.csv", lambda p: pa.csv.write_csv(table, p)),
    "parquet": lambda folder, table: written(folder / "t.parquet", lambda p: pq.write_table(table, p)),
    "sqlite": lambda folder, table: in_sqlite(folder, "TEXT", table["part"].to_pylist()),
    "duckdb": in_duckdb,
    "pandas": lambda _, table: table.to_pandas(),
    "polars": lambda _, table: pl.DataFrame(table),
    "dictionary": lambda _, table: table.to_pydict(),
}


@pytest.mark.some(1, "source")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("group", SPELLINGS, ids=lambda group: ascii(group[0]))
def test_each_kind_of_source_counts_a_spelling_and_the_ledger_its_value(
    source: str, group: list[str], tmp_path: Path
) -> None:
    """Rows are counted by the text as it stands there; what that costs counts for all spellings."""
    texts = [text for each in SPELLINGS for text in each]
    data = SOURCES[source](tmp_path, pa.table({"sex": ["F"] * len(texts), "part": texts}))
    path = Ledger.create(tmp_path / "t.ledger", "t", rho=1.0, partition="part").path
    first = group[0]
    Bill.to(path, "t", first).spend("add-remove", 1.0, None, "", "")
    for text in group:
        assert data_vector(data, DOMAIN, part=("part", text)).rows == texts.count(text), text
        with pytest.raises(PrivacyError) as caught:
            Bill.to(path, "t", text).spend("add-remove", 0.5, None, "", "")
        also = "" if text == first else f" (one account with {first!r})"
        assert str(caught.value) == (
            f"nothing is left of rho 1 for the part '{text}'{also} in "
            f"'{path}'\n  nothing was spent and no row was released; no useful release of these rows is "
            "possible any more: 'mmopt ledger show' lists what was spent on what"
        )


WRITERS: dict[str, Callable[[Path, object], None]] = {
    "pandas": lambda path, value: pd.DataFrame({"v": [value]}).to_csv(path, index=False),
    "polars": lambda path, value: pl.DataFrame({"v": [value]}).write_csv(path),
    "arrow": lambda path, value: pa.csv.write_csv(
        pa.table({"v": [value]}), path, pa.csv.WriteOptions(quoting_style="none")
    ),
    "duckdb": lambda path, value: duckdb.sql("SELECT ? AS v", params=[value]).write_csv(str(path)),
    "json": lambda path, value: path.write_text(f"v\n{json.dumps(value, default=str)}"),
    "python": lambda path, value: path.write_text(f"v\n{value}"),
}


def test_what_programs_write_of_a_value_shares_an_account(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Their own spellings, with those of SQLite's columns and of a column that went through doubles."""
    for value in (
        *(True, False, 0, 1, -7, 1000, 20200101, 2**53 + 1, 0.5, 1.5, 0.1 + 0.2, 1e22, 1e-7),
        *(datetime.date(2020, 3, 1), datetime.datetime(2020, 3, 1), datetime.datetime(2020, 3, 1, 13, 30, 5)),
    ):
        texts = {}
        for name, write in WRITERS.items():
            write(tmp_path / "v.csv", value)
            texts[name] = (tmp_path / "v.csv").read_text().splitlines()[1].strip('"')
        with closing(sqlite3.connect(":memory:")) as connection:
            number = value if isinstance(value, float | int) else str(value)
            texts["sqlite"] = str(connection.execute("SELECT CAST(? AS TEXT)", [number]).fetchone()[0])
        if isinstance(value, float | int):
            texts["doubles"] = str(float(value))
            texts["spreadsheet"] = f"{value:.15G}".replace(".", ",")
        for (one, first), (other, second) in itertools.combinations(texts.items(), 2):
            with subtests.test(f"{one} {first}, {other} {second}"):
                assert readings(first) & readings(second)


@pytest.mark.quick
def test_copies_of_a_number_of_more_digits_share_an_account(rng: np.random.Generator) -> None:
    """Through doubles, in 16 or 17 digits, and in 15, rounded or cut off."""
    ways = [Context(prec=15, rounding=ROUND_DOWN), *(Context(prec=digits) for digits in (15, 16, 17))]
    for _ in range(300):
        digits = "".join(str(d) for d in rng.integers(0, 10, 18))
        run = rng.choice(["", "9" * 6, "0" * 6, "5" + "0" * 5, "4" + "9" * 5])  # about where others are cut
        at = int(rng.integers(10, 16))
        text = f"{digits[0].replace('0', '1')}{digits[1:at]}{run}{digits[at:]}"
        number = Decimal(text).scaleb(int(rng.choice([-30, -20, -18, -16, -8, -2, 0, 5])))
        # Of fifteen digits before the point neighbours have accounts of their own.
        if 10**14 <= number < 10**15:
            continue
        copies = [number, *(way.plus(number) for way in ways), repr(float(number)), f"{float(number):.15G}"]
        for one, other in itertools.combinations(map(str, copies), 2):
            assert readings(one) & readings(other), (one, other)
            assert readings(f"-{one}") & readings(f"-{other}") and not readings(one) & readings(f"-{other}")


@pytest.mark.quick
def test_a_boolean_of_a_text_file_and_of_a_database_is_charged_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex,part\nF,true\nM,false\nF,true\n")
    table = in_sqlite(tmp_path, "BOOLEAN", [True, False, True])
    path = Ledger.create(tmp_path / "t.ledger", "t", rho=1.0, partition="part").path
    asked = {"workload": DOMAIN.marginal("sex"), "privacy": {"rho": 1.0}, "ledger": path, "data_set": "t"}
    assert mmopt.release(tmp_path / "t.csv", **asked, part="true").manifest["ledger"]["left"] == 0.0
    with pytest.raises(PrivacyError) as caught:
        mmopt.release(table, **asked, part="1", table="t")
    assert "nothing is left of rho 1 for the part '1' (one account with 'true')" in str(caught.value)
    assert data_vector(table, DOMAIN, table="t", part=("part", "1")).rows == 2
    ledger = Ledger.load(path)
    assert (ledger.spent, ledger.left_for("0"), ledger.left_for("TRUE")) == (1.0, 1.0, 0.0)


def test_what_was_spent_under_two_spellings_counts_together(tmp_path: Path) -> None:
    """A ledger that took them for two parts: nothing is lost, and more than the total may be spent."""
    path = Ledger.create(tmp_path / "t.ledger", "t", rho=1.0, partition="part").path
    for part in ("true", "1", "false", "½"):
        ledger_file.spend(path, Entry(0, "", Fraction(1), "", "", part), lambda _: None)
    ledger = Ledger.load(path)
    assert [entry.part for entry in ledger.account.entries] == ["true", "1", "false", "½"]
    assert spent(ledger.account.entries, None) == 2 and ledger.left == -1.0
    assert ledger.summary()["left_for_parts"] == {"true": -1.0, "false": 0.0, "½": 0.0}
    assert dict(ledger.rows())["spent"] == "rho 2; MORE THAN THE TOTAL: nothing can be released"
    with pytest.raises(PrivacyError):
        Bill.to(path, "t", "yes").check("add-remove", 1e-9, None)
