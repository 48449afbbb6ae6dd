"""Tables from the command line: every kind of file, weights, columns that are not read."""

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import scipy.sparse as sp

WORKLOAD = """\
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65]}
  city: {values: [A, B], missing: drop}
  wage: {bins: [0, 1000], outside: '[0, 1000)'}
workload: [{name: by sex, marginal: [sex]}]
privacy: {rho: 10000.0}
"""
ROWS = [("F", "A", 500), ("M", "B", 300), ("M", None, 7), ("M", "A", 0)]


@pytest.fixture
def tables(files: Path) -> Path:
    """A workload that does not need all columns, and databases that lack those."""
    for name, extra in (("plain", ""), ("several", "data: {table: people, weight: n}\n")):
        (files / f"{name}.yaml").write_text(WORKLOAD + extra, encoding="utf-8")
    with duckdb.connect(files / "t.duckdb") as connection:
        connection.execute("CREATE TABLE people (sex TEXT, city TEXT, n INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
        connection.execute("CREATE VIEW others AS FROM people")
    lite = sqlite3.connect(files / "t.db")
    lite.execute("CREATE TABLE people (sex, city, n)")
    lite.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    lite.execute("CREATE TABLE others (x)")
    lite.commit()
    lite.close()
    lines = "".join(f"{sex}~{city or ''}~{n}\n" for sex, city, n in ROWS)
    (files / "t.txt").write_text(f"sex~city~n\n{lines}", encoding="utf-8")
    (files / "delimiter.yaml").write_text(WORKLOAD + "data: {delimiter: '~', weight: n}\n", encoding="utf-8")
    return files


def test_a_release_from_every_kind_of_file(run: Any, tables: Path, subtests: pytest.Subtests) -> None:
    for workload, table in (("several", "t.duckdb"), ("several", "t.db"), ("delimiter", "t.txt")):
        with subtests.test(table):
            done = run("release", f"{workload}.yaml", table, "--simulate", 1, "--out", f"{table}.out")
            assert done.status == 0, done
            assert "publish: 800 of 807 rows in the table are counted, 7 dropped (7 by 'city')" in done.err
            lines = (tables / f"{table}.out" / "answers.csv").read_text(encoding="utf-8").splitlines()
            rows = list(csv.DictReader(lines))
            assert [round(float(row["estimate"])) for row in rows] == [500, 300]
            manifest = json.loads((tables / f"{table}.out" / "manifest.json").read_text(encoding="utf-8"))
            assert manifest["privacy"]["not_covered"] == (
                "whether the table can be read, its weights (if it has any) are counts, and it has at most "
                "2147483648 rows; whether a row is refused, for sex, city, and the message that says so"
            )
    done = run("simulate", "several.yaml", "t.db", "--trials", 2, "--epsilon", 1, "--delta", 1e-6)
    assert done.status == 0, done


def test_tables_are_refused_before_anything_is_solved(tables: Path, refused: Callable[..., str]) -> None:
    for command in ("release", "simulate"):
        assert refused(command, "plain.yaml", "t.duckdb").startswith(
            "error: t.duckdb: the database has 2 tables and views, and none is named: others, people\n"
        )
        assert refused(command, "several.yaml", "people.csv") == (
            "error: people.csv: the table 'people' was requested, and the file is not a database\n"
            "  leave out --table (table= in Python), or 'table' under 'data' in the workload file"
        )
        assert refused(command, "plain.yaml", "people.csv") == (
            "error: people.csv: no column 'city' (attribute 'city')\n  the table has: sex, age"
        )


def test_check_says_which_columns_are_not_read(run: Any, tables: Path) -> None:
    done = run("check", "several.yaml")
    assert done.status == 0, done
    words = " ".join(done.out.split())
    assert "not read age, wage: no query tells their cells apart" in words
    assert "only filters city: drop rows, and no query tells cells apart" in words
    assert "table table 'people', weight 'n'" in words
    for line in ("not read", "only filters", "table "):
        assert not any(text.startswith(line) for text in run("check", "total.yaml").out.splitlines())


def test_a_sparse_given_from_a_file(run: Any, files: Path, refused: Callable[..., str]) -> None:
    (files / "a.program").write_text(
        "program own\ngiven\n    A: matrix[m, n]\n    b: vector[m]\nchoose\n    x: vector[n] >= 0\n"
        "minimize\n    sum(x)\nsubject to\n    cover: A @ x >= b\n",
        encoding="utf-8",
    )
    sp.save_npz(files / "A.npz", sp.csr_array([[1.0, 0.0, 2.0], [0.0, 4.0, 0.0]]))
    sp.save_npz(files / "b.npz", sp.coo_array([[1], [2]]))
    np.savez(files / "other.npz", a=np.ones(3))
    (files / "no.npz").write_text("no archive", encoding="utf-8")
    names = "total.yaml", "--program", "a.program", "--given", "b=b.npz", "--json"
    done = run("solve", *names, "--given", "A=A.npz")
    assert done.status == 0, done
    assert json.loads(done.out)["objective"] == pytest.approx(1.0)
    for file in ("other.npz", "no.npz"):
        start = f"error: the file '{file}' for the given 'A' is not a sparse array of scipy.sparse.save_npz: "
        assert refused("solve", *names, "--given", f"A={file}").startswith(start)
