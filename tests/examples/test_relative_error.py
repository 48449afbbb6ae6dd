"""The relative-error example: its population, the command at the head of a file, the figures it states."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import called

from mmopt import Privacy, Workload, data_vector, load_request, plan, solve
from mmopt.mechanism.simulated_releases import simulate_errors

FOLDER = Path(__file__).parents[2] / "examples" / "relative-error"
EPSILONS = (0.1, 0.5, 1.0, 2.5)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    make = runpy.run_path(str(FOLDER / "population.py"))["main"]
    arguments, sys.argv = sys.argv, ["population.py", "30000", str(path)]
    try:
        make()
    finally:
        sys.argv = arguments
    return path


def stated(heading: str) -> dict[str, list[float]]:
    """The rows of the table below a line that starts so, by their first column."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    lines = text[text.index(heading) :].split("\n\n")[1].splitlines()[2:]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {row[0]: [float(value) for value in row[1:]] for row in rows}


def expected(w: Workload, program: str, optimised: Workload, counts: np.ndarray) -> list[float]:
    """Mean relative errors in closed form, then the root mean square at ε = ½."""
    strategy = solve(optimised, program).strategy
    privacies = [Privacy(epsilon=e, delta=1e-4) for e in EPSILONS]
    plans = [plan(w, strategy, privacy) for privacy in privacies]
    found = simulate_errors(w, strategy, counts, plans, trials=2)
    means = [own.whole.expected for own in found]
    return [mean for mean in means if mean is not None] + [found[1].whole.predicted]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("file", "heading"), [("ranges.yaml", "Ranges of age"), ("marginals.yaml", "Counts by one")]
)
def test_figures(people: Path, file: str, heading: str) -> None:
    w = load_request(FOLDER / file).workload
    count = f"{w.m:,} queries over {w.n:,} cells"
    assert count in (FOLDER / file).read_text(encoding="utf-8")
    assert count in (FOLDER / "README.md").read_text(encoding="utf-8")
    counts = data_vector(people, w.domain).counts
    table = stated(heading)
    plain = expected(w, "l2_strategy", w, counts)
    scaled = expected(w, "l2_strategy", w.normalised(), counts)
    # Fifty draws of the noise: their mean is within a few per cent of what it is a draw of.
    for found, row in ((plain, "l2_strategy"), (scaled, "l2_strategy, normalised")):
        np.testing.assert_allclose(found[:-1], table[row][:-1], rtol=0.05)
        assert found[-1] == pytest.approx(table[row][-1], rel=1e-3)
    assert all(one < other for one, other in zip(scaled[:-1], plain[:-1], strict=True))
    assert scaled[-1] > plain[-1]


@pytest.mark.slow
def test_the_commands_run(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    lines = (FOLDER / "ranges.yaml").read_text(encoding="utf-8").splitlines()
    (command,) = [line.split()[2:] for line in lines if line.startswith("#   mmopt")]
    command = [str(FOLDER / "ranges.yaml") if part.endswith(".yaml") else part for part in command]
    result = called(*command, "--trials", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("l2_strategy, normalised") == result.stdout.count("rectangles") / 2 == 4
