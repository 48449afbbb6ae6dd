"""Factorisation norms of prefix sums, and banded strategies of streams: closed forms, and what is printed."""

import math
import re

import numpy as np
import pytest

from tests.examples.scripts import EXAMPLES, scripts

study, streams = scripts("prefix-norms").study, scripts("streams").study


def printed(folder: str) -> list[list[float]]:
    rows = re.findall(r"^\| (\d+ \|.*) \|$", (EXAMPLES / folder / "README.md").read_text(), re.MULTILINE)
    return [[float(x) for x in row.split("|")] for row in rows]


def test_closed_forms_are_those_of_the_matrices() -> None:
    for n in (2, 7, 32):
        prefix, signs = np.tri(n), 2.0 * np.tri(n) - 1.0
        assert study.from_equal_multipliers(n) == pytest.approx(np.linalg.norm(prefix, "nuc") / n)
        assert study.from_signs(n) == pytest.approx((1.0 + np.linalg.norm(signs, "nuc") / n) / 2.0)
        root = sum(c * np.eye(n, k=-k) for k, c in enumerate(study.root_coefficients(n)))
        assert root @ root == pytest.approx(prefix, abs=1e-12)
        columns, rows = np.linalg.norm(root, axis=0), np.linalg.norm(root, axis=1)
        expected = columns.max() * rows.max(), columns.max() * math.sqrt(np.square(rows).mean())
        assert study.root_factorisation(n) == pytest.approx(expected)


def test_a_row_is_printed_and_its_bounds_hold() -> None:
    n = 16
    _, gamma_2, gap_2, lower, mathias, root, above, gamma_f, gap_f, root_f, above_f = study.row(n)
    assert 0 <= gap_2 <= 1e-8 and 0 <= gap_f <= 1e-8
    assert lower < gamma_f < gamma_2 < min(mathias, root) and gamma_f < root_f
    assert above == pytest.approx(gamma_2 - math.log(n) / math.pi)
    kept = next(row for row in printed("prefix-norms") if row[0] == n)
    assert [kept[1], kept[6], kept[7], kept[10]] == pytest.approx(
        [gamma_2, above, gamma_f, above_f], abs=2e-8
    )


def test_banded_strategies_reach_what_is_printed() -> None:
    """64 steps here; those of 256 are of the same run."""
    known = {tuple(row[:2]): row[2:] for row in printed("streams")}
    assert set(known) == {(64, 4), (64, 16), (256, 4), (256, 16)}
    assert all(gap <= 1e-6 and ratio >= 1.04 for _, gap, _, ratio, _ in known.values())
    for b in (4, 16):
        _, _, banded, gap, equal, ratio, bound = streams.row(64, b)
        assert [banded, equal, ratio, bound] == pytest.approx(
            [known[64, b][i] for i in (0, 2, 3, 4)], rel=1e-4
        )
        assert 0 <= gap <= 1e-6 and bound < banded


def test_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "--most", "4"])
    study.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[2].startswith("| 2 | 1.1547005")
    monkeypatch.setattr("sys.argv", ["study.py", "--steps", "8", "--apart", "2"])
    streams.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].startswith("| 8 | 2 | ")
