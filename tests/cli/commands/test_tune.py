"""``mmopt tune``, and what ``mmopt solve`` says of sub-workloads.

Guards strategies_and_reports.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

TEXT = """\
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65, 115]}
workload:
  - {marginal: [sex], subworkload: sexes}
  - {product: {age: prefix}, name: up to an age}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "parts.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_table_and_json(run: Any, file: Path) -> None:
    done = run("tune", file, "sexes", "--factors", "1,9")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    head, _, *rows = done.out.splitlines()
    assert head.split() == ["optimised", "for", "everything", "sexes", "the", "rest", "gap"]
    assert [row[:16].strip() for row in rows] == ["sexes alone", "the rest alone", "everything", "sexes × 9"]
    assert rows[0].split()[2] == "-" and rows[1].split()[3] == "-"
    found = json.loads(run("tune", file, "sexes", "--factors", "1,9", "--json").out)
    assert [row["factor"] for row in found] == [None, None, 1.0, 9.0]
    assert found[3]["unit_rmse"]["sexes"] < found[2]["unit_rmse"]["sexes"]
    assert all(0 <= row["gap"] <= 1e-6 and row["rmse"] is None for row in found)


def test_json_has_the_errors_of_the_table_at_the_privacy_of_the_file(run: Any, file: Path) -> None:
    file.write_text(TEXT + "privacy: {rho: 0.125}\n", encoding="utf-8")  # noise of deviation 2
    *_, whole = run("tune", file, "sexes", "--factors", "1").out.splitlines()
    found = json.loads(run("tune", file, "sexes", "--factors", "1", "--json").out)[2]
    assert found["rmse"] == pytest.approx({part: 2 * error for part, error in found["unit_rmse"].items()})
    printed = [float(number) for number in whole.split()[1:4]]
    assert printed == pytest.approx(list(found["rmse"].values()), rel=1e-4)


def test_solve_shows_the_errors_of_each(run: Any, file: Path) -> None:
    done = run("solve", file)
    (line,) = [line for line in done.out.splitlines() if line.startswith("sexes")]
    assert line.split()[1] == "2" and float(line.split()[2]) > 1.0
