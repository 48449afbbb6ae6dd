"""The papers by name: each figure of an item agrees with print or says why it does not."""

import csv
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tolerances import ROUNDING

from tests.examples.scripts import EXAMPLES, scripts, status

folder = vars(scripts("reproduce"))
item, page, run = folder["item"], folder["page"], folder["run"]
Item, Row, Source = item.Item, item.Row, item.Source

ERRATA = (EXAMPLES.parent / "programs" / "ERRATA.md").read_text(encoding="utf-8")


def test_items_are_complete(subtests: pytest.Subtests) -> None:
    """Every erratum is named by one; an explained item has a reason and nothing else has none; each has its
    own name. Which items there are is kept on the page of the last run.
    """
    for source in run.SOURCES:
        with subtests.test(source.key):
            assert len({one.name for one in source.items}) == len(source.items)
            heading = rf"^## {re.escape(source.title)}$(.*?)(?=^## |\Z)"
            section = re.search(heading, ERRATA, re.MULTILINE | re.DOTALL)
            assert section is not None
            named = {name for one in source.items for name in one.errata}
            assert named == set(re.findall(r"^- \*\*(.+?)\.\*\*", section[1], re.MULTILINE))
            for one in source.items:
                assert (one.kind == "explained") == (one.rows is None), one.name
                assert one.what.endswith(".") and (one.rows is not None or one.remark.endswith(".")), one.name


QUICK = [(source, one) for source in run.SOURCES for one in source.items if one.rows and not one.is_long]


@pytest.mark.some(3)
@pytest.mark.parametrize(("source", "one"), QUICK, ids=[f"{s.key}-{one.name}" for s, one in QUICK])
def test_quick_items_are_accounted_for(source: Any, one: Any, rng: np.random.Generator) -> None:
    rows = list(one.rows(rng))
    assert rows and all(math.isfinite(row.ours) for row in rows)
    assert [row for row in rows if not row.is_accounted_for] == []
    assert [row for row in rows if row.bound is not None and row.bound > row.ours * (1 + ROUNDING)] == []


def test_verdicts(subtests: pytest.Subtests) -> None:
    for paper, ours, relation, within, verdict in (
        ("45.36", 45.364, "=", 0.0, "agrees"),
        ("45.36", 45.366, "=", 0.0, "differs"),
        ("45.36", 45.366, "=", 0.002, "agrees within 0.2 %"),
        ("45.36", 45.5, "=", 0.002, "differs"),
        ("3", 3.4, "=", 0.0, "agrees"),
        (3.0, 3.4, "=", 0.0, "differs"),
        (3.0, 3.0 + 1e-12, "=", 0.0, "agrees"),
        ("1e-4", 1.4e-4, "=", 0.0, "agrees"),
        (3.0, 2.0, "<=", 0.0, "upper bound holds"),
        (3.0, 3.1, "<=", 0.0, "differs"),
        (3.0, 3.1, "<=", 0.1, "upper bound holds within 10 %"),
        (3.0, 3.1, ">=", 0.0, "lower bound holds"),
        (3.0, 2.9, ">=", 0.0, "differs"),
        (3.0, math.nan, "<=", 0.0, "differs"),
        (math.nan, 3.0, "=", 0.0, "differs"),
    ):
        row = Row("", paper, ours, relation, within)
        with subtests.test(f"{paper} {relation} {ours}"):
            assert row.verdict == verdict
            assert row.is_accounted_for == (verdict != "differs")
            excused = Row("", paper, ours, relation, within, why="a reason")
            assert excused.is_accounted_for != row.is_accounted_for


def test_the_worst_instance_is_the_one_nearest_to_breaking_the_relation() -> None:
    instances = [(1.0, 0.5), (10.0, 9.9), (100.0, 120.0)]
    assert item.worst("x", instances, "<=") == Row("x, worst of 3", 100.0, 120.0, "<=")
    assert item.worst("x", instances, ">=") == Row("x, worst of 3", 1.0, 0.5, ">=")
    assert item.worst("x", instances, "=") == Row("x, worst of 3", 1.0, 0.5, "=")


# -- the command and its page


def test_a_run_writes_its_rows_and_keeps_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for names in ("pods2010,Example 2", "pods2010,Table 1"):
        asked = status(monkeypatch, "reproduce/run.py", "--only", names, "--out", str(tmp_path / "out"))
        assert asked == 0
    with (tmp_path / "out" / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == ["Example 2"] * 3 + ["Table 1"] * 10
    assert {row["verdict"] for row in rows} == {"agrees"} and rows[0]["paper"] == "1"
    text = (tmp_path / "out" / "page.md").read_text(encoding="utf-8")
    assert (
        "| [Example\u00a02](#pods2010-example-2) | Sensitivities of the three matrices. | computed | agrees |"
        in text
    )
    assert "| ‖H₄‖₁ | 3 | 3 | agrees |" in text
    assert (
        "1 items, 0 of them explained; 10 figures, 0 differ from print with a reason"
        in capsys.readouterr().out
    )


def test_a_long_item_is_written_before_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def rows(_: np.random.Generator) -> list[Any]:
        return [Row("a figure", "3", 3.1)]

    def stopped(_: np.random.Generator) -> list[Any]:
        raise KeyboardInterrupt

    items = (Item("Table 1", "A.", "computed", rows, seconds=99), Item("Table 2", "B.", "computed", stopped))
    monkeypatch.setattr(run, "SOURCES", (Source("paper", "A paper", items),))
    with pytest.raises(KeyboardInterrupt):
        run.reproduce(only=None, long=True, out=tmp_path, seed=0, names=False)
    text = (tmp_path / "rows.csv").read_text(encoding="utf-8")
    assert text.splitlines()[1:] == ["paper,Table 1,a figure,=,3,3.1,,agrees,,0"]
    page_text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Together 2 items: 2 computed, 0 checked, 0 explained. 1 figure: agrees (1)." in page_text


def test_names_may_have_commas() -> None:
    def names(only: str) -> list[tuple[str, str]]:
        return [(source.key, one.name) for source, one in run.chosen(only, with_long=True)]

    assert names("pvldb2012, Section 3.4, A_l,Table 1") == [
        ("pvldb2012", "Section 3.4, A_l"),
        ("pvldb2012", "Table 1"),
    ]
    assert {key for key, _ in names("Table 1")} >= {"pods2010", "pvldb2012"}
    assert len(names("")) == sum(len(source.items) for source in run.SOURCES)


def test_a_name_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(monkeypatch, "reproduce/run.py", "--only", "Table 99") == 2
    keys = ", ".join(source.key for source in run.SOURCES)
    assert capsys.readouterr().err == (
        f"error: --only has 'Table 99', expected one of {keys}, or the name of an item (--list)\n"
    )


def test_the_page_of_the_last_run_is_that_of_its_rows() -> None:
    """Every quick item that computes has rows there, no other thing has, and the page is drawn from them."""
    results = EXAMPLES / "reproduce" / "results"
    with (results / "rows.csv").open(encoding="utf-8", newline="") as file:
        figures = page.figures_of(csv.DictReader(file))
    assert (results / "page.md").read_text(encoding="utf-8") == page.page_of(run.SOURCES, figures)
    quick = {(source.key, one.name) for source, one in QUICK}
    assert quick <= set(figures) <= {(s.key, one.name) for s in run.SOURCES for one in s.items if one.rows}
    unaccounted = [
        row for rows in figures.values() for row in rows if (row["verdict"] == "differs") != bool(row["why"])
    ]
    assert unaccounted == []
