"""The study of CIKM 2013's figures: what its README says of them, on smaller draws."""

import re
import subprocess
import sys

import numpy as np
import pytest
from examples.scripts import EXAMPLES, scripts

FOLDER = EXAMPLES / "orthogonal"
study = scripts("orthogonal").study


@pytest.mark.parametrize("density", [0.2, 0.4, 0.8])
def test_the_orthogonal_mechanism_is_least_and_measures_the_cells(density: float) -> None:
    draws = study.errors(60, 300, density, study.CLOSED, 2)
    assert draws.shape == (2, 4)
    for orthogonal, laplace, spectral, bound in draws:
        assert bound < orthogonal < min(laplace, spectral)
        assert orthogonal == pytest.approx(2 * 300 * density / 3, rel=0.1)  # E w² = τ/3 for each weight


def test_queries_are_as_dense_as_said_and_never_empty() -> None:
    w = study.draw(400, 5, 0.2, np.random.default_rng(1))
    assert w.matrix.any(axis=1).all() and w.matrix.max() <= 1
    wide = study.draw(50, 400, 0.2, np.random.default_rng(1))
    assert (wide.matrix != 0).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("call", "columns"),
    [
        ("list(study.LOW_RANK), study.CLOSED[:2], 1", 5),  # the low-rank searches themselves take minutes
        pytest.param("[(50, 1000)], study.CLOSED, 20", 8, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_readme_shows_what_is_printed(call: str, columns: int) -> None:
    """Lines of its tables, as the command prints them; ``columns`` are compared."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "-c", f"import study; study.table('', {call})"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = re.findall(r"^\| 0.*$", printed, flags=re.MULTILINE)
    assert len(lines) % 3 == 0 and lines
    for line in lines:
        assert "|".join(line.split("|")[: columns + 1]) + "|" in readme, line
