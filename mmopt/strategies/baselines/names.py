"""Names of baselines with parameters: ``hierarchical(branching=16)``."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mmopt.errors import OptionError, suggest
from mmopt.strategies.baselines.catalogue import ALIASES, CATALOGUE
from mmopt.strategies.baselines.row import Baseline, Parameter

__all__ = ["Call", "baseline_names", "baseline_words", "is_baseline", "read"]


@dataclass(frozen=True)
class Call:
    """A row of the catalogue with the parameters that were given, by name."""

    baseline: Baseline
    given: tuple[tuple[str, int | None], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.given)
        return f"{self.baseline.name}({given})" if given else self.baseline.name


def baseline_names() -> tuple[str, ...]:
    """What is listed and compared by default: the names, in order, and calls with parameters."""
    return tuple(text for row in CATALOGUE for text in (row.name, *row.shown))


def baseline_words() -> tuple[str, ...]:
    """All names without parameters, short ones too."""
    return (*(row.name for row in CATALOGUE), *ALIASES)


def is_baseline(text: str) -> bool:
    """Whether the text means a baseline: a known name, or anything called with parameters."""
    head, bracket, _ = text.partition("(")
    is_call = bool(bracket) and head.strip().isidentifier() and text.rstrip().endswith(")")
    return text.strip() in baseline_words() or is_call


def read(text: str) -> Call:
    """The baseline that a text names; its values are Python's numbers, True, False and None.

    Raises
    ------
    OptionError : another form, an unknown name or parameter, a parameter that stands twice, or a value of
        another type or out of range; with the nearest names.
    """
    head, given = _parsed(text)
    if head in ALIASES:
        if given:
            raise OptionError(
                f"'{head}' is short for '{ALIASES[head]}' and takes no parameters",
                hint=f"write '{read(ALIASES[head]).baseline.name}' with the parameters",
            )
        return read(ALIASES[head])
    rows = {row.name: row for row in CATALOGUE}
    if head not in rows:
        raise OptionError(f"there is no baseline '{head}'", hint=suggest(head, baseline_words()))
    row = rows[head]
    known = {parameter.name: parameter for parameter in row.parameters}
    for name, value in given:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise OptionError(f"'{head}' has no parameter '{name}', it {takes}", hint=suggest(name, known))
        _check(head, known[name], value)
    return Call(row, tuple(given))


def _parsed(text: str) -> tuple[str, list[tuple[str, int | None]]]:
    wrong = OptionError(
        f"the baseline is '{text}', expected a name, or a name with parameters",
        hint="for example hierarchical(branching=16)",
    )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise wrong from None
    if isinstance(tree, ast.Name):
        return tree.id, []
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)) or tree.args:
        raise wrong
    if len({keyword.arg for keyword in tree.keywords}) < len(tree.keywords):
        raise wrong
    given = []
    for keyword in tree.keywords:
        if keyword.arg is None or not isinstance(keyword.value, ast.Constant | ast.UnaryOp):
            raise wrong
        try:
            given.append((keyword.arg, ast.literal_eval(keyword.value)))
        except ValueError:
            raise wrong from None
    return tree.func.id, given


def _check(head: str, parameter: Parameter, value: object) -> None:
    """OptionError for a value of another type, or out of range. None is fine where it is the default."""
    if value is None and parameter.default is None:
        return
    words = {int: "an integer", bool: "True or False"}
    expected = words[parameter.kind]
    if parameter.least is not None:
        expected += f" of {parameter.least} or more"
    is_right = type(value) is parameter.kind
    if is_right and parameter.least is not None and isinstance(value, int):
        is_right = value >= parameter.least
    if not is_right:
        raise OptionError(
            f"{parameter.name} of '{head}' is {value!r}, expected {expected}",
            hint=f"{parameter.name}: {parameter.about}",
        )
