"""The golden record: what mmopt prints, chooses, refuses and writes, held against what it did before.

``pytest tests/record`` compares some, with ``-m ""`` all. ``pytest tests/record --record -m ""`` writes down
again the cases that differ, and those alone: each line that changes in ``kept/`` is argued in its commit. The
cases use the command line and the public names of ``mmopt`` only, so that they outlive any move of the code.
"""

from pathlib import Path

import pytest
from record.cases import CASES
from record.harness import HERE, Case, agree, checked, difference
from record.inputs import INPUTS


@pytest.mark.some(8)
@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=[getattr(pytest.mark, m) for m in c.marks]) for c in CASES]
)
def test_as_recorded(
    case: Case, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = checked(case, INPUTS, bool(request.config.getoption("--record", default=False)))
    assert not wrong, wrong


def test_every_record_has_its_case() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert sorted(path.stem for path in (HERE / "kept").iterdir()) == sorted(names)
    assert sum(path.stat().st_size for path in (HERE / "saved").iterdir()) <= 100_000


def test_figures_that_agree() -> None:
    same = ("15.0711 15.07108", "19 19.0001", "1.2e-07 3.1e-09", "8.4e-02 8.3e-02")
    for pair in (*same, "15.0711 15.0891", "19 20", "0.95 0.96", "1e-06 1e-05"):
        one, two = pair.split()
        assert agree(one, two, 1e-5) is agree(two, one, 1e-5) is (pair in same), pair


def test_a_difference_is_shown_with_its_lines() -> None:
    old = "objective # (proved) ¦ 15.0711\nbound # ¦ 15.071\n"
    assert difference(old, "objective #\n(proved) ¦ 15.07112\nbound # ¦ 15.071\n", "solve") == ""
    assert difference(old, old.replace("proved", "estimated"), "solve") == (
        "'(proved)' was recorded, '(estimated)' is here now\n"
        "old: objective # (proved) ¦ 15.0711\nnew: objective # (estimated) ¦ 15.0711"
    )
    assert difference(old, old.replace("15.071\n", "15.171\n"), "solve") == (
        "'15.071' was recorded, '15.171' is here now\nold: bound # ¦ 15.071\nnew: bound # ¦ 15.171"
    )
    slack = '"recomputed": "feasible"'
    assert difference(slack, slack.replace("feasible", "feasible~"), "solve") == ""
