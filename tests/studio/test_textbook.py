"""Each program from a textbook is solved with a closed gap, and its multipliers prove its bound on the page.

Guards mmopt/studio/textbook.
"""

from pathlib import Path

import pytest

import mmopt
from mmopt.language import Program
from mmopt.studio.calls import Bound, Solve
from tests.studio.test_calls import answered, chosen_of
from tests.tolerances import GAP

FILES = sorted((Path(mmopt.__file__).parent / "studio" / "textbook").iterdir())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_is_solved_and_its_multipliers_are_set(file: Path) -> None:
    program = Program.parse(file.read_text(encoding="utf-8"), file.name)
    assert file.stem == program.name.replace("_", "-") and program.title and program.about
    solution = mmopt.solve(None, program)
    assert solution.bound_grade == "proved" and 0 <= solution.gap <= GAP
    page = answered(Solve(text=program.text, workload={}))["solution"]
    assert {m["name"] for m in page["multipliers"]} == {line["name"] for line in page["lines"]}
    bound = answered(
        Bound(text=program.text, workload={}, multipliers=chosen_of(page), point=page["variables"])
    )
    assert bound["dual"]["value"] == pytest.approx(solution.objective, rel=GAP)
