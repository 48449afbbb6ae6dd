"""``mmopt refine``: a release read, refined and written beside its unbiased answers; and what is refused.

Guards accuracy_release_simulate.py.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mmopt


@pytest.fixture
def released(run: Any, files: Path, saved: Path) -> Path:
    done = run(
        "release", "total.yaml", "people.csv", "--strategy", saved, "--simulate", "3", "--out", "given"
    )
    assert done.status == 0, done
    return files / "given"


def test_a_release_is_refined_and_shown(run: Any, files: Path, released: Path) -> None:
    rows = len((files / "people.csv").read_text(encoding="utf-8").splitlines()) - 1
    done = run("refine", "given", "total.yaml", "--total", rows, "--whole", "--out", "better")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    said = " ".join(done.out.split())
    assert f"refined non-negative, all rows: {rows}, whole (" in said
    assert "they spend no privacy, and are biased; standard errors and intervals are of the unbiased" in said
    assert "SIMULATED NOISE" in said and said.endswith("read it back: mmopt show better")
    lines = (files / "better" / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith(",coverage,refined,private")
    before = (files / "given" / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 2)[0] for line in lines] == [line.rsplit(",", 1)[0] for line in before]
    far = run("refine", "given", "total.yaml", "--total", rows + 9000, "--out", "far")
    pattern = (
        r"warning: the total of all rows is ([\d,]+), and by the released answers it is ([\d.,]+): at least "
        r"([\d,]+) standard errors apart. Is it the total of the rows that were counted\?\n"
    )
    total, estimate, errors = (float(n.replace(",", "")) for n in re.fullmatch(pattern, far.err).groups())
    answers = mmopt.load_release(files / "given").answers
    assert total == rows + 9000 and abs(estimate - rows) < 100
    assert 100 < errors <= (total - estimate) / min(answers["standard_error"])
    shown = run("show", "better")
    assert shown.status == 0 and "refined" in shown.out and "optimum" in shown.out
    done = run("refine", "given", "total.yaml", "--out", "other", "--json")
    found = json.loads(done.out)
    assert done.status == 0 and "NOT" not in done.out and "must not be published" in done.err
    assert found["out"] == "other" and found["refined"]["program"] == "refine_counts"
    assert found["refined"]["whole"] is None and found["refined"]["gap"] <= 1e-6
