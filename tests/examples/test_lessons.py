"""The lessons: their form, the checker of their exercises, and that each one runs.

Right answers and wrong ones of lesson NN stand in ``lesson_answers_NN.py`` beside this, not in the lessons.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mmopt import OptionError
from tests.examples.lesson_runner import cells
from tests.examples.scripts import EXAMPLES, scripts

FOLDER = EXAMPLES / "lessons"
WIDTH = 84  # of code on a page 1200 pixels wide
LESSONS = sorted(file.stem for file in FOLDER.glob("[0-9][0-9]-*.md"))
HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# """

# Exercises whose checkers solve programs for a second or more.
COSTLY = ("2.4", "3.3", "4.2", "4.3", "9.1", "9.4", "10.2")
CERTIFICATE = "10.3"

own = scripts("lessons")
check, EXERCISES = own.exercises.check, own.exercises.EXERCISES
ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    key: answers
    for file in sorted(Path(__file__).parent.glob("lesson_answers_[0-9][0-9].py"))
    for key, answers in importlib.import_module(f"tests.examples.{file.stem}").ANSWERS.items()
}


def _text(lesson: str) -> str:
    return (FOLDER / f"{lesson}.md").read_text(encoding="utf-8")


def _number(lesson: str) -> str:
    return str(int(lesson[:2]))


def test_a_lesson_says_what_it_assumes_and_ends_in_a_certified_number(subtests: pytest.Subtests) -> None:
    for lesson in LESSONS:
        with subtests.test(lesson):
            text = _text(lesson)
            assert text.startswith(f"{HEADER}{_number(lesson)}. ")
            begin = text.split("```")[0]
            assert "\n**Assumes** " in begin and "\n**Ends in** " in begin
            code = cells(text)
            assert len(code) == text.count("{code-cell}"), "every cell begins with ```{code-cell} python"
            assert not [line for cell in code for line in cell.splitlines() if len(line) > WIDTH]
            assert re.fullmatch(
                r"\S*(objective|error), \S*(bound|error_bound), \S*(gap|error_gap)", code[-1].splitlines()[-1]
            )


def test_a_lesson_has_three_exercises_that_the_checker_knows(subtests: pytest.Subtests) -> None:
    words = r"^\*\*Exercise (\d+\.\d+)\.\*\* .*?"
    cell = r'```\{code-cell\} python\nanswer = \.\.\..*?\ncheck\("(.*?)", answer\)'
    for lesson in LESSONS:
        with subtests.test(lesson):
            asked = re.findall(words + cell, _text(lesson), re.MULTILINE | re.DOTALL)
            assert all(named == checked for named, checked in asked)
            known = [key for key in EXERCISES if key.split(".")[0] == _number(lesson)]
            assert [named for named, _ in asked] == known
            assert len(asked) >= 3 and _text(lesson).count("**Exercise ") == len(asked)


def test_lessons_with_exercises_are_there() -> None:
    assert {key.split(".")[0] for key in EXERCISES} == {_number(lesson) for lesson in LESSONS}


def _judged(key: str) -> None:
    right, wrong = ANSWERS[key]
    assert right and wrong and wrong.keys() == EXERCISES[key].hints.keys()
    for answer in right:
        assert repr(check(key, answer)) == f"{key} is right. {EXERCISES[key].insight}"
    for kind, answer in wrong.items():
        verdict = check(key, answer)
        assert not verdict and repr(verdict) == f"{key} not yet. {EXERCISES[key].hints[kind]}", kind


def test_right_answers_pass_and_each_kind_of_mistake_has_its_hint(subtests: pytest.Subtests) -> None:
    for key in [key for key in EXERCISES if key not in (*COSTLY, CERTIFICATE)]:
        with subtests.test(key):
            _judged(key)


@pytest.mark.some(1)
@pytest.mark.parametrize("key", COSTLY)
def test_so_do_those_of_exercises_that_solve_more(key: str) -> None:
    _judged(key)


@pytest.mark.nightly  # its checker tries random points of eight programs
def test_so_do_those_of_certificates() -> None:
    _judged(CERTIFICATE)


def test_what_is_no_answer_is_said(subtests: pytest.Subtests) -> None:
    for key, exercise in EXERCISES.items():
        with subtests.test(key):
            assert not check(key) and repr(check(key)) == (
                f"{key} has no answer yet. {exercise.question} Expected: {exercise.takes.words}."
            )
            verdict = check(key, {"no": "answer"})
            assert not verdict
            assert verdict.words == f"the answer is of type dict, expected {exercise.takes.words}"


def test_there_is_no_such_exercise() -> None:
    with pytest.raises(OptionError) as error:
        check("1.9", 3)
    assert str(error.value) == "there is no exercise '1.9'\n  there are 1.1, 1.2, 1.3"


def test_a_verdict_is_displayed_with_what_it_says() -> None:
    verdict = own.judging.Verdict("1.1", "a < b\nc", is_right=True)
    assert "<b>1.1 is right.</b> a &lt; b<br>c</div>" in verdict._repr_html_()
    assert "<b>1.1 not yet.</b> " in own.judging.Verdict("1.1", "")._repr_html_()


def test_another_kind_is_named(subtests: pytest.Subtests) -> None:
    judging = own.judging
    vector, matrix, choice = judging.vector(2), judging.matrix(None, 2), judging.choice("a", "b")
    for kind, answer, found, expected in (
        (judging.NUMBER, True, "is of type bool", "a finite number"),
        (judging.NUMBER, float("nan"), "is of type float", "a finite number"),
        (judging.NUMBER, 10**400, "is of type int", "a finite number"),
        (vector, [1, 2, 3], "has shape (3,)", "a vector of 2 numbers"),
        (vector, [1, float("inf")], "has entries that are not finite", "a vector of 2 numbers"),
        (matrix, [1, 2], "has shape (2,)", "a matrix of numbers (any x 2)"),
        (choice, "c", 'is "c"', 'one of "a", "b"'),
    ):
        with subtests.test(found), pytest.raises(judging.WrongKindError) as error:
            kind.read(answer)
        assert str(error.value) == f"the answer {found}, expected {expected}"


@pytest.mark.nightly  # 80 CPU seconds
def test_a_lesson_runs(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """All in one process, which imports once."""
    shutil.copytree(FOLDER, tmp_path / "lessons")
    paths = [str(EXAMPLES.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    runner = Path(__file__).with_name("lesson_runner.py")
    command = [sys.executable, str(runner), str(tmp_path / "lessons")]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr
    for lesson in LESSONS:
        with subtests.test(lesson):
            assert f"\n{lesson} ran\n" in f"\n{said}", said
