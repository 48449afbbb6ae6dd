"""``mmopt init`` drafts a workload file from names of columns alone, or from values declared public.

Guards workload_files.py.
"""

import subprocess
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pytest
from command_line import called

from mmopt.request import load_request

SEX, AGE = "sex={values: [F, M]}", "age={range: [0, 100], width: 50}"


@pytest.mark.quick
def test_a_draft_depends_on_no_row(run: Any, files: Path) -> None:
    drafts = []
    for number, rows in enumerate(("", "F,30\n" * 9, "secret,1\n")):
        (files / "people.csv").write_text(f"sex,age\n{rows}", encoding="utf-8")
        done = run("init", "people.csv", "--out", f"{number}.yaml")
        assert (done.status, done.out) == (0, "")
        assert done.err == (
            f"written: {number}.yaml (2 attributes)\nto be filled in: sex, age\n"
            f"next: mmopt check {number}.yaml\n"
        )
        drafts.append((files / f"{number}.yaml").read_text(encoding="utf-8"))
    assert len(set(drafts)) == 1
    done = run("check", "0.yaml")
    assert done.status == 2 and done.err.startswith("error: 0.yaml:7:8: 'FILL-IN' is still to be filled in")


def test_a_first_line_that_holds_values_is_warned_of(run: Any, files: Path) -> None:
    (files / "rows.csv").write_text("F,30,2020-01-31\nM,20,2020-02-01\n", encoding="utf-8")
    assert run("init", "rows.csv").err.startswith("warning: named like values: '30', '2020-01-31'. ")


def test_what_is_given_fills_it(run: Any, files: Path) -> None:
    assert run("init", "people.csv", "--column", SEX, "--column", AGE).status == 0
    domain = load_request("workload.yaml").workload.domain
    assert (domain.names, domain.shape) == (("sex", "age"), (2, 2))
    assert run("check", "workload.yaml").status == 0
    run("init", "people.csv", "--column", "sex=skip", "--column", AGE, "--out", "age.yaml")
    run("init", "people.csv", "--only", "age", "--column", AGE, "--out", "only.yaml")
    assert (files / "age.yaml").read_text() == (files / "only.yaml").read_text()
    assert load_request("age.yaml").workload.domain.names == ("age",)


def test_a_name_may_hold_an_equals_sign(run: Any, files: Path) -> None:
    (files / "people.csv").write_text("a,a=b\n", encoding="utf-8")
    assert run("init", "people.csv", "--column", "a=b={values: [F, M]}", "--column", "a=skip").status == 0
    assert load_request("workload.yaml").workload.domain.names == ("a=b",)


def test_public_values_are_proposed_and_released(run: Any, files: Path) -> None:
    done = run("init", "people.csv", "--public")
    assert (done.status, done.out) == (0, "") and "to be filled in" not in done.err
    text = (files / "workload.yaml").read_text(encoding="utf-8")
    assert "  sex: {values: [F, M]}\n  age: {values: [" in text and "--public" in text


def test_questions(files: Path) -> None:
    answers = "val\nF, [\nF, M\nnumbers\n0, 100\n0, 100, 7\n0, 100, 5\n"
    done = called("init", "people.csv", "--ask", stdin=answers)
    assert done.exit_code == 0 and done.stdout == ""
    assert "expected 3 parts, separated by commas" in done.stderr
    assert "expected a whole number" in done.stderr
    assert load_request("workload.yaml").workload.domain.shape == (2, 20)
    done = called("init", "people.csv", "--ask", "--out", "b.yaml", stdin="skip\n\n")
    assert done.exit_code == 0 and "to be filled in: age\n" in done.stderr
    done = called("init", "people.csv", "--ask", "--out", "c.yaml", stdin="val\n")
    assert done.exit_code == 130 and not (files / "c.yaml").exists()


def test_a_url_is_read_by_types_and_shown_without_its_password(
    run: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is DuckDB's in memory: of PostgreSQL's, ``-m engines`` tells."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits (region VARCHAR, age INTEGER, day DATE)")
    monkeypatch.setattr(ibis, "connect", lambda url: connection)
    done = run("init", "postgres://ann:secret@host/hospital?a=b", "--table", "visits")
    assert (done.status, done.out) == (0, ""), done.err
    assert "secret" not in done.err
    text = (files / "workload.yaml").read_text(encoding="utf-8")
    assert (
        text.startswith("# Drafted by mmopt init from hospital: ")
        and 'data: {table: "visits", null: [' in text
    )
    assert "  age: {range: FILL-IN, width: FILL-IN}" in text
    assert "ann" not in text and "secret" not in text


def test_what_a_type_cannot_be_is_said_by_init_check_and_release_alike(run: Any, files: Path) -> None:
    with duckdb.connect("v.duckdb") as connection:
        connection.execute(
            "CREATE TABLE v AS SELECT 's'::ENUM('s', 'l') AS size, "
            "TIMESTAMPTZ '2020-01-31 23:30+00' AS seen, ['x7'] AS tags"
        )
    done = run("init", "v.duckdb", "--out", "v.yaml")
    hint = 'count a value made of it, in a view or a copy of the table, for instance "tags"[1]'
    assert (
        f"left out: tags: of type array<string>; {hint}" in done.err and "to be filled in: seen" in done.err
    )
    text = (files / "v.yaml").read_text(encoding="utf-8")
    assert "  size: {values: [s, l]}\n" in text and f"  # tags: of type array<string>; {hint}\n" in text
    assert "'FILL-IN' is still to be filled in, in 1 line" in run("check", "v.yaml", "v.duckdb").err
    text = text.replace("range: FILL-IN", "range: [2020-01-01, 2020-03-01]") + "privacy: {rho: 1}\n"
    for zone, declared, words in (
        ("Europe/Berlin", "", ""),
        ("Europe/Berln", "", "there is no time zone 'Europe/Berln'"),
        ("Europe/Berlin", "  tags: {values: [a]}\n", hint),
        ("", "", "its day depends on the time zone: write 'seen: {…, zone: Europe/Berlin}'"),
    ):
        form = text.replace("zone: FILL-IN", f"zone: {zone}" if zone else "outside: drop")
        (files / "v.yaml").write_text(form.replace("workload:\n", f"{declared}workload:\n"), encoding="utf-8")
        done = run("check", "v.yaml", "v.duckdb")
        assert (done.status, words in done.err) == (2 if words else 0, True), done.err
        assert bool(words) or ("names and types" in done.out and "as declared, in v.duckdb" in done.out)
        if words:
            assert run("release", "v.yaml", "v.duckdb").err == done.err and "x7" not in done.err
    assert "no effect" in run("check", "l2_strategy", "v.duckdb").err


def test_a_column_without_a_usable_name_is_named_and_no_attribute(run: Any, files: Path) -> None:
    Path("t.csv").write_text(f"Einkommen (\u0080),b,,b,<<,{'k' * 151},ok\n", encoding="utf-8")
    done = run("init", "t.csv", "--out", "t.yaml")
    lines = done.err.splitlines()
    assert lines[0] == "written: t.yaml (1 attributes)"
    left = ['"Einkommen (\\u0080)"', "b", '""', '"<<"', "k" * 151]
    assert sorted(line.split(": its name is")[0] for line in lines[1:6]) == sorted(
        f"left out: {one}" for one in left
    )
    text = Path("t.yaml").read_text(encoding="utf-8")
    assert all(f"  # {one}: its name is blank, <<, appears twice" in text for one in left)
    Path("t.yaml").write_text(text.replace("ok: FILL-IN", "ok: {values: [x]}"), encoding="utf-8")
    assert run("check", "t.yaml").status == 0
    done = run("init", "t.csv", "--out", "u.yaml", "--only", "ok")
    assert "left out" not in done.err


def test_check_names_words_within_bins_and_texts_like_runs(run: Any, files: Path) -> None:
    forms = "age: {bins: [0, 50, open]}, c: {categories: {x: [I00-I99], y: ['18-64', A1-B2, z]}}"
    file = f"domain: {{{forms}}}\nworkload: [{{marginal: [age]}}]\ndata: {{null: [99, -9, NA]}}\n"
    Path("w.yaml").write_text(file, encoding="utf-8")
    said = " ".join(run("check", "w.yaml").out.split())
    assert "null 99: missing in bins of numbers, too" in said
    assert "no runs I00-I99, 18-64: one text each; categories list value by value" in said
    Path("w.yaml").write_text(file.replace("99, -9", "-9").replace("I00-I99", "I00"), encoding="utf-8")
    said = run("check", "w.yaml").out
    assert "in bins of numbers" not in said and "no runs 18-64" in " ".join(said.split())


@pytest.mark.parametrize("first", ["sep=;", '"sep=,"', "\ufeffsep=\t"])
def test_a_line_for_a_spreadsheet_is_named_and_the_line_that_leaves_it_out_works(
    run: Any, files: Path, first: str
) -> None:
    Path("old.csv").write_text(f"{first}\na;b\n1;2\n", encoding="utf-8")
    done = run("init", "old.csv", "--out", "w.yaml")
    assert done.status == 2 and done.err.startswith("error: old.csv:1:1: the first line is 'sep=")
    subprocess.run(done.err.rpartition("for instance: ")[2], shell=True, check=True)
    assert "2 attributes" in run("init", "new.csv", "--out", "w.yaml").err
