"""The table, the chart and the files of a measurement."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from examples.scripts import scripts

from mmopt import ResultError
from mmopt.cli.command_output import show

Row = scripts("scaling").measure.Row
report = scripts("scaling").report
MakeRow = Callable[..., Row]


def some(row: MakeRow) -> list[Row]:
    return [
        row("scs", 16, 2.0, ratio=1.0),
        row("automatic", 16, 0.5, chosen="clarabel", ratio=4.0),
        row("scs", 32, 16.0, gap=0.25, stop="time limit"),
        row("automatic", 32, 1.0, chosen="scs"),
        row("qoco", 16, None),
        row("qoco", 32, None),
    ]


def test_the_table(row: MakeRow, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some(row)
    show(*report.tables(rows, report.exponents(rows), "scs"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "l2_strategy on prefix",
        " n  solver                CPU s  wall s  iter.  MB  n² doubles      gap  ratio",
        "──────────────────────────────────────────────────────────────────────────────",
        "16  scs                       2       1      7   0        10.0  1.0e-07      1",
        "    automatic (clarabel)    0.5       1      7   0        10.0  1.0e-07      4",
        "    qoco                      -       -      -   -           -        -      -",
        "32  scs                      16       1      7   0        10.0  2.5e-01      -",
        "    automatic (scs)           1       1      7   0        10.0  1.0e-07      -",
        "    qoco                      -       -      -   -           -        -      -",
        "",
        "Fitted exponents:",
        "  l2_strategy on prefix, automatic: CPU ~ n^1.00, memory ~ n^2.00 (n = 16 to 32,",
        "2 sizes)",
        "",
        "Neither fitted nor compared:",
        "  l2_strategy on prefix, scs: time limit, at gap 2.5e-01 (n = 32)",
        "  l2_strategy on prefix, qoco: no room (n = 16, 32)",
        "",
        "Medians of 3 solves, each in a fresh process; compiling and certifying included.",
        "MB, n² doubles: the most that the process held above what it held at its start.",
        "gap: objective / bound - 1, recomputed from the program file.",
        "ratio: CPU seconds of scs over these, measured in this run.",
    ]


def test_the_chart(row: MakeRow) -> None:
    rows = [*some(row), row("scs", 16, 3.0, problem="blocks")]
    figure = report.draw(rows, report.exponents(rows))
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "l2_strategy on prefix",
        "l2_strategy on blocks",
    ]
    assert first.get_xscale() == first.get_yscale() == "log"
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["scs", "automatic: n^1.0"]
    # Solvers differ in dash and marker, not in colour only; an open marker on what stopped short.
    lines = [line for line in first.lines if line.get_linestyle() != "None"]
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 2
    hollow = [line for line in first.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [[32]]
    assert list(first.get_xticks()) == [16, 32] and list(second.get_xticks()) == [16]


def test_files(row: MakeRow, tmp_path: Path) -> None:
    rows = [*some(row), row("scs", 64, 3.0, gap=float("inf"), memory=None)]
    found = report.exponents(rows)
    paths = report.write(rows, found, {"threads": 1}, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == list(report.NAMES)
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(report.NAMES)
    with paths[0].open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(r["solver"], r["n"], r["squares"]) for r in table[:2]] == [
        ("scs", "16", "10.0"),
        ("automatic", "16", "10.0"),
    ]
    saved = json.loads(paths[1].read_text(encoding="utf-8"))
    assert saved["settings"] == {"threads": 1}
    assert [r["cpu"] for r in saved["rows"]] == [r.cpu for r in rows]
    assert saved["rows"][-1]["gap"] is None and saved["rows"][-1]["squares"] is None
    assert saved["exponents"][0]["cpu"] == found[0].cpu
    assert paths[2].read_text(encoding="utf-8").startswith("<?xml")
    before = [path.read_bytes() for path in paths]
    report.write(rows, found, {"threads": 1}, tmp_path / "new" / "folder")
    assert [path.read_bytes() for path in paths] == before


def test_nothing_measured_can_be_written(tmp_path: Path) -> None:
    paths = report.write([], [], {}, tmp_path)
    assert paths[0].read_bytes() == b"" and json.loads(paths[1].read_text())["rows"] == []


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultError) as error:
        report.check_folder(tmp_path / "file")
    assert str(error.value) == f"the folder '{tmp_path / 'file'}' cannot be created: File exists"
