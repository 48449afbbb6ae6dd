"""Commands over more cells than can be listed: an answer, or at once what to use in their place."""

from pathlib import Path
from typing import Any

import pytest

NAMES = [f"a{i}" for i in range(20)]


def over(names: list[str]) -> str:
    """Prefixes of one and two attributes of three values."""
    lines = [
        "domain:",
        *(f"  {name}: {{range: [0, 3], width: 1}}" for name in names),
        "workload:\n  - products: {ways: [1, 2], each: prefix}",
        "privacy: {epsilon: 1.0, delta: 1.0e-6}\n",
    ]
    return "\n".join(lines)


@pytest.fixture
def wide(files: Path) -> Path:
    (files / "wide.yaml").write_text(over(NAMES), encoding="utf-8")
    (files / "many.yaml").write_text(over(NAMES[:13]), encoding="utf-8")
    (files / "wide.csv").write_text(f"{','.join(NAMES)}\n{','.join('1' * 20)}\n", encoding="utf-8")
    return files


def test_what_lists_the_cells_is_refused_before_anything_is_solved(run: Any, wide: Path) -> None:
    exported = run("export", "l2_strategy", "wide.yaml", "--out", "wide.cbf")
    assert (exported.status, exported.err) == (
        2,
        "error: a file of 'l2_strategy' lists the cells, and there are 3,486,784,401\n"
        "  'mmopt solve' takes queries of few attributes over any number of cells; or group values of the "
        "attributes, so that there are fewer cells\n",
    )
    simulated = run("simulate", "wide.yaml", "wide.csv")
    assert (simulated.status, simulated.err) == (
        2,
        "error: errors are simulated on a data vector, and there are 3,486,784,401 cells\n"
        "  'mmopt accuracy' has every standard error as a formula; 'mmopt release --simulate SEED' draws "
        "noise once\n",
    )


def test_a_saved_solution_is_explained_and_reported(run: Any, wide: Path) -> None:
    assert run("solve", "many.yaml", "--program", "l2_strategy", "--out", "wide.npz").status == 0
    explained = run("explain", "l2_strategy", "many.yaml", "--solution", "wide.npz")
    assert explained.status == 0, explained
    assert "over cells that are not listed, of which the largest entry alone is known" in " ".join(
        explained.out.split()
    )
    reported = run("report", "many.yaml", "--strategy", "wide.npz", "--out", "wide.html")
    assert reported.status == 0, reported
    page = (wide / "wide.html").read_text(encoding="utf-8")
    assert "SetStrategy" in page and "<th>squared column norms" not in page
    assert page.count("No chart: ") == 2, "entries and the cost of each cell"
