"""Answers to the exercises of the lessons, checked: ``from exercises import check; check("1.2", answer)``.

The exercises of lesson NN stand in ``exercises_NN.py`` beside it, a table ``EXERCISES`` from their numbers to
what judges them (``judging.Exercise``); this module reads them all.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from judging import Exercise, Verdict, judged

from mmopt import OptionError

__all__ = ["EXERCISES", "check"]

EXERCISES: dict[str, Exercise] = {
    key: exercise
    for file in sorted(Path(__file__).parent.glob("exercises_[0-9][0-9].py"))
    for key, exercise in importlib.import_module(file.stem).EXERCISES.items()
}


def check(key: str, answer: Any = ...) -> Verdict:
    """Judge the answer to an exercise.

    Parameters
    ----------
    key : its number in the lesson, "3.2".
    answer : what the exercise asks for; without one the question is repeated.

    Returns
    -------
    Verdict : true where the answer is right; it shows a hint where it is not, and never the answer.

    Raises
    ------
    OptionError : there is no such exercise.
    """
    if key not in EXERCISES:
        of_lesson = [one for one in EXERCISES if one.split(".")[0] == str(key).split(".")[0]]
        raise OptionError(
            f"there is no exercise {key!r}", hint=f"there are {', '.join(of_lesson or EXERCISES)}"
        )
    return judged(key, EXERCISES[key], answer)
