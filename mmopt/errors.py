"""Every error that mmopt raises on purpose.

A message contains the place (file, line, column, with the line and a caret), the value found, the value
expected, and what to do. The command line prints ``str(error)`` and exits with status 2.
"""

import difflib
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = [
    "ContradictionError",
    "DataError",
    "Error",
    "LedgerError",
    "Location",
    "NotFoundError",
    "OptionError",
    "PrivacyError",
    "ProgramError",
    "ResultError",
    "SolverError",
    "TimeLimitError",
    "TooLargeError",
    "UndecidedError",
    "UnsuitableError",
    "WorkloadError",
    "counted",
    "for_users",
    "last_words",
    "placed",
    "suggest",
    "whole",
    "without_password",
]

MOST_OTHERS = 8  # mistakes of a program that are printed after the first
# A secret among the options of a URL, and the password before its host.
_OPTION = re.compile(r"([?&][^=&\s]*(?:password|passwd|pwd|token|secret)[^=&\s]*=)\S+", re.IGNORECASE)
_PASSWORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:/{1,2}[^\s:/@]*):\S*@")


@dataclass(frozen=True)
class Location:
    """A place in a text: 1-based line and column, counted in characters.

    ``text`` is the line itself and ``width`` the number of characters that the caret underlines; of a part
    over several lines those on its first. A value given in Python has no line: line and column are 0, and
    ``file`` is its path, ``workload[2].weight``.
    """

    file: str
    line: int
    column: int
    text: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def inside(self, column: bool = False) -> str:
        """The place for a message about the same file: ``line 3``, with ``column`` ``line 3, column 5``."""
        if not self.line:
            return self.file
        return f"line {self.line}, column {self.column}" if column else f"line {self.line}"

    def excerpt(self) -> str:
        """The line with a caret below it, or nothing when the line is not known."""
        if not self.text.strip():
            return ""
        # Long lines are cut around the column so that the caret stays on the screen.
        start = max(0, self.column - 60)
        shown = self.text[start : start + 100].replace("\t", " ")
        shown = f"{shown[:99]}…" if len(self.text) > start + 100 else shown
        width = max(1, min(self.width, len(shown) - (self.column - 1 - start)))
        caret = " " * (self.column - 1 - start) + "^" * width
        return f"    {shown}\n    {caret}"


def without_password(text: str) -> str:
    """A text with ``***`` in place of the passwords of URLs, also of those that became paths.

    >>> without_password("postgres://ann:secret@host/people: no such file")
    'postgres://ann:***@host/people: no such file'
    """
    return _OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


class Error(Exception):
    """Base of all errors of mmopt.

    Parameters
    ----------
    message : what was found and what was expected, with both values.
    where : the place in the file, if there is one.
    hint : what to do about it.
    in_python : the same for a call from Python that names no workload file, where ``hint`` is about one.

    The password of a URL is left out of all, wherever it was given.
    """

    def __init__(
        self, message: str, *, where: Location | None = None, hint: str = "", in_python: str = ""
    ) -> None:
        super().__init__(without_password(message))
        self.message = without_password(message)
        self.where = where
        self.hint = without_password(hint)
        self.in_python = without_password(in_python)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.message}" if self.where else self.message]
        if self.where and (excerpt := self.where.excerpt()):
            lines.append(excerpt)
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


class ProgramError(Error):
    """A program file that cannot be read, or whose shapes or curvature do not fit.

    others : the further mistakes, in the order of the text. They are printed beneath, up to ``MOST_OTHERS``.
    """

    others: "tuple[ProgramError, ...]" = ()

    def __str__(self) -> str:
        left = len(self.others) - MOST_OTHERS
        shown = [super().__str__(), *map(str, self.others[:MOST_OTHERS])]
        return "\n".join([*shown, f"and {counted(left, 'more mistake')}"] if left > 0 else shown)


class WorkloadError(Error):
    """A workload file or a query matrix that does not say what is asked."""


class DataError(Error):
    """A table that does not fit the declared domain."""


class OptionError(Error):
    """An option, a name or a given that is unknown or out of range."""


class NotFoundError(OptionError, KeyError):
    """A query, a group or a column that is not there, asked for in brackets."""


class SolverError(Error):
    """A solver that is absent, lacks a cone, or returned no usable point.

    multipliers : of lines that are proved to conflict, by name; ``terms`` add up to what they leave, which is
    more than 0. near : a point that misses these lines by little. direction : by variable, in which a program
    seems to have no end. stages : what was done before, as in a solution.
    """

    multipliers: Mapping[str, Any] = MappingProxyType({})
    direction: Mapping[str, Any] = MappingProxyType({})
    near: Mapping[str, Any] = MappingProxyType({})
    terms: Sequence[Mapping[str, Any]] = ()
    stages: Sequence[Mapping[str, Any]] = ()


class UnsuitableError(SolverError):
    """A solver that cannot take this program: it lacks a cone, or does not claim the program."""


class UndecidedError(SolverError):
    """No point of a solver, and no proof that there is none; ``feasible`` is one from a diagnosis."""

    feasible: object = None


class PrivacyError(Error):
    """Privacy parameters that are invalid, or a release that would exceed them."""


class LedgerError(Error):
    """A ledger of privacy that cannot be read or written, or that is of other data or another unit."""


class ResultError(Error):
    """A saved result that cannot be read, or that does not belong to this workload."""


class ContradictionError(Error):
    """Two figures of mmopt that cannot both be right: one of them is a bug."""


class TimeLimitError(Error):
    """Work that was given up at its time limit, without a result."""


class TooLargeError(Error):
    """A request beyond the memory budget; the message names the size."""


#: What has to be said even where the process is ended at once, by the blocks of ``last_words`` that run.
LAST_WORDS: list[list[str]] = []


@contextmanager
def last_words(*texts: str) -> Iterator[list[str]]:
    """Within, whatever ends the block says these texts: an ``Error`` in its hint, all else in notes.

    Yields their list, which the block may change.
    """
    words = list(texts)
    LAST_WORDS.append(words)
    try:
        yield words
    except BaseException as error:
        for text in words:
            if isinstance(error, Error) and text not in str(error):
                error.hint = "\n  ".join(filter(None, (error.hint, text)))
            elif not isinstance(error, Error) and text not in getattr(error, "__notes__", ()):
                error.add_note(text)
        raise
    finally:
        LAST_WORDS[:] = [others for others in LAST_WORDS if others is not words]


@contextmanager
def placed(where: Location) -> Iterator[None]:
    """Give a place to errors without one, such as an exceeded limit."""
    try:
        yield
    except Error as error:
        error.where = error.where or where
        raise


def suggest(name: object, words: Iterable[str], likeness: float = 0.6) -> str:
    """A hint that names the nearest of the words, at least so like the name, or lists them."""
    names = sorted(set(words))
    near = [word for word in names if word.lower() == str(name).lower()]
    near = near or difflib.get_close_matches(str(name), names, n=1, cutoff=likeness)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(names)}" if names else ""


def counted(number: int, noun: str) -> str:
    """``1 query``, ``2 queries``, ``1,000 cells``, ``10^20 cells``."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{whole(number)} {plural}"


def whole(number: int) -> str:
    """A whole number in digits, ``1,000``; from 10^18 on by its size: ``10^20``, ``1.73e+23``."""
    if number < 10**18:
        return f"{number:,}"
    power = len(str(number)) - 1
    return f"10^{power}" if number == 10**power else f"{Decimal(number):.2e}"


WORKLOAD_FILES = (".yaml", ".yml")

# Options of version 0.1.0, by the names that they have now (the command line's); and parts of an option.
_RENAMED = {
    "delta": "privacy",
    "epsilon": "privacy",
    "name": "subworkload",
    "rho": "privacy",
    "simulate_seed": "simulate",
    "solution": "strategy",
    "text": "name",
    "tolerances": "tolerance",
}


def for_users(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as users call it: its errors are noted to be its own, and arguments of other types are such.

    Types are compared after something went wrong with them: what behaves as what is asked for is taken.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            # First: they are called when privacy is spent, or in the loop of another.
            if not all(callable(options.get(name) or print) for name in ("progress", "say", "chart")):
                raise TypeError
            return function(*arguments, **options)
        except (Error, AttributeError, TypeError, ValueError) as raised:
            is_plain = isinstance(raised, Error) or hasattr(raised, "__notes__")  # which say what was spent
            error = raised if is_plain else _misfit(function, arguments, options, str(raised))
            if not isinstance(error, Error):
                raise
            if not any(map(_is_of_file, (*arguments, *options.values()))):
                error.hint = error.in_python or error.hint
            error.add_note(f"in mmopt.{function.__name__}")
            raise error from error.__cause__

    call.__module__ = "mmopt"
    return call


def _is_of_file(value: object) -> bool:
    """Whether an argument is the path of a workload file, or a request that was read from one."""
    if isinstance(value, str | Path):
        return str(value).lower().endswith(WORKLOAD_FILES)
    return hasattr(value, "text_hash") and getattr(value, "path", "") != "<Python>"


def _misfit(
    function: Callable[..., Any], arguments: tuple[object, ...], options: dict[str, object], text: str
) -> OptionError | None:
    """The error for the first option that there is not, or argument of a type that is not taken.

    text : of the error. A function that passes options on does not know them: the text says whether there is
    such an option.
    """
    signature, hints = inspect.signature(function), typing.get_type_hints(function)
    is_open = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
    for name, value in (*zip(signature.parameters, arguments, strict=False), *options.items()):
        near = _RENAMED.get(name)
        if name in signature.parameters and not _fits(value, hints[name]):
            kinds = inspect.formatannotation(signature.parameters[name].annotation)
            kinds = re.sub(r"(\w+\.)+|'", "", kinds)
            return OptionError(f"{name} is of type {type(value).__name__}, expected {kinds}")
        is_unknown = not is_open or f"unexpected keyword argument '{name}'" in text
        if name not in signature.parameters and (near in signature.parameters or is_unknown):
            hint = f"write {near}=…" if near in signature.parameters else ""
            return OptionError(
                f"there is no option '{name}'", hint=hint or suggest(name, signature.parameters)
            )
    return None


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of the annotated type, as far as its class says so."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, type(int | str)) else (hint,)
    wider = {float: typing.SupportsFloat, int: typing.SupportsIndex}
    try:
        return isinstance(value, tuple(wider.get(kind, typing.get_origin(kind) or kind) for kind in kinds))
    except TypeError:  # no class: Any, a protocol, a dictionary of declared keys
        return True
