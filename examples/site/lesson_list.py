"""Titles and summaries of the lessons, for the pages that list them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from run_notebooks import Page, PageError

__all__ = ["Lesson", "lesson", "with_lessons"]

# Lines of a page, comments to MyST, that a list takes the place of.
LIST, TABLE = "% lessons: list", "% lessons: table"
WORDS_A_MINUTE = 100
MINUTES_AN_EXERCISE = 10


@dataclass(frozen=True)
class Lesson:
    """``assumes`` and ``ends_in``: what it says after these words; ``minutes``: counted, not measured."""

    name: str
    title: str
    assumes: str
    ends_in: str
    exercises: int
    minutes: int


def lesson(page: Page) -> Lesson:
    """The facts of a lesson.

    Raises
    ------
    PageError : a heading, what it assumes, or what it ends in is missing.
    """
    text = page.text.split("\n---\n", 1)[-1]
    said = {
        what: re.search(pattern, text, re.MULTILINE | re.DOTALL)
        for what, pattern in {
            "# a heading": r"^# ([^\n]+)",
            "**Assumes**": r"^\*\*Assumes\*\* (.*?)\n\n",
            "**Ends in**": r"^\*\*Ends in\*\* (.*?)\n\n",
        }.items()
    }
    title, assumes, ends_in = (" ".join(match[1].split()) if match else "" for match in said.values())
    if lacking := [what for what, match in said.items() if not match]:
        raise PageError(f"{page.file}: a lesson says at its beginning {', '.join(lacking)}")
    exercises = len(set(re.findall(r'^check\("([\d.]+)"', text, re.MULTILINE)))
    minutes = len(text.split()) / WORDS_A_MINUTE + exercises * MINUTES_AN_EXERCISE
    return Lesson(page.name, title, assumes, ends_in, exercises, 5 * round(minutes / 5))


def with_lessons(page: Page, lessons: Sequence[Page]) -> str:
    """The text of a page, its lists of lessons filled in."""
    text = page.text
    for place, lines in ((LIST, _list), (TABLE, _table)):
        if place in text.splitlines():
            up = "../" * page.name.count("/")
            text = text.replace(place, "\n".join(lines([lesson(one) for one in lessons], up)))
    return text


def _list(lessons: Sequence[Lesson], up: str) -> Iterator[str]:
    for one in lessons:
        yield f"- [{one.title}]({up}{one.name}.md): {one.ends_in}"


def _table(lessons: Sequence[Lesson], up: str) -> Iterator[str]:
    yield from ("| lesson | assumes | ends in | exercises | minutes |", "|---|---|---|---:|---:|")
    for one in lessons:
        linked = f"[{one.title}]({up}{one.name}.md)"
        yield f"| {linked} | {one.assumes} | {one.ends_in} | {one.exercises} | {one.minutes} |"
