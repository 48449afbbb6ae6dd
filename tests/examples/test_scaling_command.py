"""The command line of the benchmark, on a tiny run."""

import json
from pathlib import Path

import pytest
from examples.scripts import scripts, status

from mmopt.testing import PROBLEMS

BENCH = "scaling/bench.py"


@pytest.mark.slow
def test_a_tiny_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = (
        "--programs",
        "query_weighting",
        "--problems",
        "prefix",
        "--sizes",
        "4,6",
        "--solvers",
        "automatic",
    )
    assert status(monkeypatch, BENCH, *chosen, "--repeat", "1", "--out", str(tmp_path)) == 0
    said = capsys.readouterr()
    assert said.out.startswith("query_weighting on prefix\nn  solver ")
    assert "  query_weighting on prefix, automatic: CPU ~ n^" in said.out
    assert "ratio: CPU seconds of scs over these" in said.out
    assert said.err.splitlines() == [
        *(f"query_weighting on prefix, {n} cells, {s}" for n in (4, 6) for s in ("scs", "automatic")),
        *(f"written: {tmp_path / name}" for name in scripts("scaling").report.NAMES),
    ]
    saved = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert [(r["solver"], r["n"], r["stop"]) for r in saved["rows"]] == [
        (solver, n, "gap reached") for n in (4, 6) for solver in ("scs", "automatic")
    ]
    assert saved["settings"].items() >= {"baseline": "scs", "repeat": 1, "threads": 1, "seed": 0}.items()


def test_the_list_of_problems(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, BENCH, "--problems", "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [p.name for p in PROBLEMS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sizes", "4,x"), "error: --sizes has 'x', expected whole numbers separated by commas\n"),
        (("--sizes", "1"), "error: a size is at least 2 cells, not 1\n"),
        (("--problems", "prefix,prefix"), "error: --problems names 'prefix' 2 times\n"),
        (("--problems", "prefxi"), "error: there is no problem 'prefxi'\n  did you mean 'prefix'?\n"),
        (("--repeat", "0"), "error: 'repeat' is at least 1, not 0\n"),
        (("--solvers", "scss"), "error: there is no solver 'scss'\n  did you mean 'scs'?\n"),
        (("--baseline", "scss"), "error: there is no solver 'scss'\n  did you mean 'scs'?\n"),
        (("--tolerance", "3"), "error: a tolerance lies between 0 and 1, not 3.0\n"),
        (("--time-limit", "0"), "error: a time limit is a positive number of seconds, not 0.0\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status(monkeypatch, BENCH, *arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", message)
