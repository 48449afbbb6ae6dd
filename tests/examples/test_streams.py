"""Banded strategies beside columns of one length: what the README prints."""

import re

import pytest
from examples.scripts import EXAMPLES, scripts

study = scripts("streams").study
README = (EXAMPLES / "streams" / "README.md").read_text()


def test_printed_figures() -> None:
    """64 steps here; those of 256 are of the same run."""
    rows = re.findall(r"^\| (\d+ \|.*) \|$", README, re.MULTILINE)
    printed = {tuple(map(int, row.split("|")[:2])): [float(x) for x in row.split("|")[2:]] for row in rows}
    assert set(printed) == {(64, 4), (64, 16), (256, 4), (256, 16)}
    assert all(gap <= 1e-6 and ratio >= 1.04 for _, gap, _, ratio, _ in printed.values())
    for b in (4, 16):
        _, _, banded, gap, equal, ratio, bound = study.row(64, b)
        assert [banded, equal, ratio, bound] == pytest.approx(
            [printed[64, b][i] for i in (0, 2, 3, 4)], rel=1e-4
        )
        assert 0 <= gap <= 1e-6 and bound < banded


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "--steps", "8", "--apart", "2"])
    study.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].startswith("| 8 | 2 | ")
