"""Exercises, the kinds of answer they take, and how an answer is judged.

An exercise computes what it compares an answer with: no answer is written down here. What it says is the kind
of a mistake, never the answer.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

import mmopt

__all__ = [
    "FUNCTION",
    "NUMBER",
    "PROGRAM",
    "Exercise",
    "Kind",
    "Verdict",
    "WrongKindError",
    "choice",
    "is_near",
    "judged",
    "matrix",
    "vector",
]


class WrongKindError(mmopt.Error):
    """An answer of another type or shape than the exercise asks for."""


@dataclass(frozen=True)
class Kind:
    """A kind of answer: what is expected, in words, and how it is read.

    What cannot be read raises a WrongKindError.
    """

    words: str
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Exercise:
    """A question, the kind of its answer, and who judges it.

    question : in a few words; the lesson says it in full.
    takes : the kind of answer.
    mistake : of an answer of that kind the kind of mistake, a key of ``hints``; None where it is right. An
        ``mmopt.Error`` that it raises is shown as the hint.
    hints : what to think about, by kind of mistake.
    insight : what a right answer shows.
    """

    question: str
    takes: Kind
    mistake: Callable[[Any], str | None]
    hints: Mapping[str, str]
    insight: str


# The words for a verdict and the colour of its bar, by ``Verdict.is_right``.
MARKS = {
    True: ("is right", "#2a9d5c"),
    False: ("not yet", "#d98c00"),
    None: ("has no answer yet", "#8a8a8a"),
}


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer; true where it is right. ``is_right`` is None where there is no answer."""

    exercise: str
    words: str
    is_right: bool | None = False

    def __bool__(self) -> bool:
        return self.is_right is True

    def __repr__(self) -> str:
        return f"{self.exercise} {MARKS[self.is_right][0]}. {self.words}"

    def _repr_html_(self) -> str:
        mark, colour = MARKS[self.is_right]
        words = html.escape(self.words).replace("\n", "<br>")
        return (
            f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em; text-align: left">'
            f"<b>{html.escape(self.exercise)} {mark}.</b> {words}</div>"
        )


def judged(key: str, exercise: Exercise, answer: Any) -> Verdict:
    """Judge an answer; of ``...`` it says that there is none yet."""
    if answer is ...:
        return Verdict(key, f"{exercise.question} Expected: {exercise.takes.words}.", is_right=None)
    try:
        mistake = exercise.mistake(exercise.takes.read(answer))
    except mmopt.Error as error:
        return Verdict(key, str(error))
    if mistake is None:
        return Verdict(key, exercise.insight, is_right=True)
    return Verdict(key, exercise.hints[mistake])


def is_near(answer: float, value: float, tolerance: float = 1e-3) -> bool:
    """Whether two numbers agree, by default to a thousandth: answers may be rounded."""
    return bool(abs(answer - value) <= tolerance * max(abs(value), 1e-12))


def _refused(answer: Any, words: str) -> WrongKindError:
    shape = f" of shape {answer.shape}" if isinstance(answer, np.ndarray) else ""
    return WrongKindError(f"the answer is of type {type(answer).__name__}{shape}, expected {words}")


def _array(answer: Any, shape: tuple[int | None, ...], words: str) -> np.ndarray:
    try:
        array = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(answer, words) from None
    fits = array.ndim == len(shape) and all(
        a == b for a, b in zip(array.shape, shape, strict=True) if b is not None
    )
    if not fits:
        raise WrongKindError(f"the answer has shape {array.shape}, expected {words}")
    if not np.isfinite(array).all():
        raise WrongKindError(f"the answer has entries that are not finite, expected {words}")
    return array


def _number(answer: Any) -> float:
    value = answer.item() if isinstance(answer, (np.ndarray, np.generic)) and answer.size == 1 else answer
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _refused(answer, NUMBER.words)
    try:
        number = float(value)
    except OverflowError:
        raise _refused(answer, NUMBER.words) from None
    if not np.isfinite(number):
        raise _refused(answer, NUMBER.words)
    return number


def _function(answer: Any) -> Callable[..., Any]:
    if not callable(answer):
        raise _refused(answer, FUNCTION.words)
    return answer  # type: ignore[no-any-return]


def _program(answer: Any) -> mmopt.Program:
    if isinstance(answer, mmopt.Program):
        return answer
    if not isinstance(answer, str):
        raise _refused(answer, PROGRAM.words)
    return mmopt.Program.parse(answer)


NUMBER = Kind("a finite number", _number)
FUNCTION = Kind("a function", _function)
PROGRAM = Kind("a program: its text, or what mmopt.Program.parse gives", _program)


def vector(n: int | None = None) -> Kind:
    """A vector of n numbers; of any length where n is None."""
    words = "a vector of numbers" if n is None else f"a vector of {n} numbers"
    return Kind(words, lambda answer: _array(answer, (n,), words))


def matrix(rows: int | None, columns: int | None) -> Kind:
    """A matrix of numbers, or a strategy, which has one; None for any number of rows or columns."""
    sizes = " x ".join("any" if size is None else str(size) for size in (rows, columns))
    words = f"a matrix of numbers ({sizes})"
    return Kind(words, lambda answer: _array(getattr(answer, "matrix", answer), (rows, columns), words))


def choice(*options: str) -> Kind:
    """One of a few words."""
    words = "one of " + ", ".join(f'"{option}"' for option in options)

    def read(answer: Any) -> str:
        if not isinstance(answer, str):
            raise _refused(answer, words)
        if answer not in options:
            raise WrongKindError(f'the answer is "{answer}", expected {words}')
        return answer

    return Kind(words, read)
