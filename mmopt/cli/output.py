"""Where output goes: results to stdout, everything else to stderr, all of it taken literally."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["answer", "console", "finite", "json_text", "note", "say", "show", "stdout_to_stderr"]

# What a terminal might obey, or show in another order; line ends and tabs apart.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    """The text with its control characters as JSON writes them: a file's name or contents may hold some."""
    return CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def say(text: str) -> None:
    """Print a text on stdout as it is, control characters apart."""
    typer.echo(escaped(text))


def console(stderr: bool = False) -> Console:
    """A console that reads no markup in what it prints; 80 columns wide when it is not a terminal."""
    from rich.console import Console
    from rich.segment import Segment

    class Literal(Console):
        """Colours are styles; what is printed has no control characters."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(escaped(part.text), part.style)

    return Literal(stderr=stderr, markup=False, highlight=False, emoji=False)


def show(*parts: object) -> None:
    """Print tables and texts on stdout.

    Strings, and texts that say ``no_wrap``, are neither wrapped nor cut, so that they can be copied.
    """
    out = console()
    with out.capture() as captured:
        for part in parts:
            whole = isinstance(part, str) or getattr(part, "no_wrap", False)
            out.print(part, soft_wrap=bool(whole))
    # Tables are padded to their width, which is noise in a file.
    text = "\n".join(line.rstrip(" ") for line in captured.get().removesuffix("\n").split("\n"))
    typer.echo(text)


def json_text(value: Any) -> str:
    """One JSON value as text."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def answer(as_json: bool, value: Any, parts: Iterable[object]) -> None:
    """Print the result on stdout: as one JSON value, or as tables and texts, which may cost time to make."""
    if as_json:
        say(json_text(value))
    else:
        show(*parts)


def note(message: str) -> None:
    """Print a line on stderr as it is: no wrapping, so that carets stay under their columns."""
    typer.echo(escaped(message), err=True)


@contextlib.contextmanager
def stdout_to_stderr(wanted: bool = True) -> Iterator[None]:
    """Send what libraries print to stderr: solvers talk on file descriptor 1, where a result belongs."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
