"""Arguments of the command line, read and checked before any work."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmopt.cli.command_output import note
from mmopt.driver.accepted_options_and_inputs import named_givens, workload_for
from mmopt.errors import OptionError, suggest
from mmopt.language import Program
from mmopt.numerics.arrays import Array, numbers
from mmopt.privacy.noise import NOISES
from mmopt.report.chart_parts import check_chart
from mmopt.request import Request, load_request
from mmopt.strategies.baselines import baseline_words, is_baseline
from mmopt.workloads import (
    SPARSE,
    SUFFIXES,
    Workload,
    read_array,
)


def read_request(
    path: str | Path | None, table: str | None = None, *, programs: Sequence[str | None] = ()
) -> Request:
    """The request in a workload file, about the ``table`` of a database where --table names one.

    Without a file that of ``programs`` which need no workload. OptionError for a table or a program in the
    file's place, without showing a line of it.
    """
    if path is None:
        return Request(alone := workload_for(None, *programs), None, None, "no workload", alone.hash)
    if Path(path).suffix == ".program":
        raise OptionError(
            f"'{path}' is a program, and a workload file (.yaml) is expected",
            hint=f"name it with --program: mmopt solve [WORKLOAD] --program {path}",
        )
    if Path(path).suffix.lower() in (".csv", ".tsv", ".parquet", ".duckdb", ".sqlite", ".db", ".gz"):
        raise OptionError(
            f"'{path}' looks like a table, and a workload file (.yaml) is expected",
            hint="the workload file comes first: mmopt release WORKLOAD DATA",
        )
    request = load_request(path)
    return request if table is None else replace(request, table=replace(request.table, table=table))


def note_request(request: Request, *, is_planned: bool = False) -> None:
    """Print a note on what figures refer to, where a workload file has neighbours or normalised rows.

    is_planned : whether the figures are those of a release, which are for the neighbours of the file.
    """
    if not is_planned and request.neighbours is not None and str(request.neighbours) != "add-remove":
        note(
            f"neighbours: a release adds noise for {request.neighbours}, as the workload file says; "
            "objective, bound and gap here are for the neighbours of the program (one row if it names none)"
        )
    if request.workload.is_normalised:
        note(
            "normalise: objective, bound and error are of rows scaled to unit length; rmse is of the queries"
        )


def read_givens(texts: Sequence[str] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The values of ``--given NAME=VALUE`` for a program; errors as ``givens_for_all``."""
    return named_givens(givens_for_all(texts, [program]), program, workload)


def givens_for_all(texts: Sequence[str] | None, programs: Sequence[Program]) -> dict[str, Any]:
    """The values of ``--given NAME=VALUE``: a number, a baseline's name, or an array from a file.

    Raises
    ------
    OptionError : not of that form, a name that occurs twice, or a value that is none of these.
    """
    declared = {d.name: len(d.dims) for program in programs for d in program.givens}
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise OptionError(f"--given is '{text}', expected NAME=VALUE", hint="for example --given Q=haar")
        if name in values:
            raise OptionError(f"data for '{name}' are passed twice", hint="keep one of them")
        values[name] = value if is_baseline(value) else _fitted(_value(name, value), declared.get(name, 0))
    return values


def _value(name: str, text: str) -> Array:
    """The value of the given ``name``: a number, or an array from a file."""
    path = Path(text)
    try:
        is_file = path.suffix.lower() in (*SUFFIXES, SPARSE)
        what = f"the given '{name}'"
        return numbers(what, read_array(path, what) if is_file else float(text))
    except ValueError:
        raise OptionError(
            f"the value '{text}' for '{name}' is not a number, a baseline, or a .npy, .csv or .npz file",
            hint=suggest(text, baseline_words()),
        ) from None


def _fitted(array: Array, dims: int) -> Any:
    """An array with as many dimensions as declared: a row or column as a vector, one entry as a number."""
    if dims == 1 and array.ndim == 2 and 1 in array.shape:
        return array.ravel()
    return array.ravel()[0] if dims == 0 and array.size == 1 else array


HAVE_ONE_ENDING = ("--history", "--trace-page")


def check_out(path: Path | None, option: str = "--out", example: str = "solution.npz") -> None:
    """Refuse an output file that could not be written, among them a ``--chart`` that cannot be drawn."""
    if path is None:
        return
    if path.is_dir():
        raise OptionError(
            f"'{path}' is a folder, {option} names a file", hint=f"for example {path / example}"
        )
    ending = Path(example).suffix
    if option in HAVE_ONE_ENDING and path.suffix.lower() not in (ending, ending[:4]):
        raise OptionError(f"{option} writes a {ending} file, not '{path}'")
    check_parent(path, path.with_name(f".{path.name}.{os.getpid()}.part"))
    if option == "--chart":
        check_chart(path)


def check_parent(path: Path, trial: Path) -> None:
    """Refuse a path where ``trial``, the name under which it is written first, cannot be made."""
    parent = path.parent
    if not parent.is_dir():
        raise OptionError(
            f"cannot write '{path}': there is no folder '{parent}'", hint="make the folder first"
        )
    try:
        trial.mkdir()
        trial.rmdir()
        with suppress(FileNotFoundError):
            path.lstat()  # raises for a name that is too long
    except OSError as error:
        raise OptionError(
            f"cannot write '{path}': {error.strerror}", hint="another folder or a shorter name may do"
        ) from error


def refuse_without_effect(what: str, options: Mapping[str, object], why: str = "") -> None:
    """Refuse options (by their names on the command line) that have no effect with another; ``why``."""
    for name, value in options.items():
        if value is not None and value != []:
            raise OptionError(f"{name} has no effect with {what}{why}", hint=f"leave out {name} or {what}")


def names_in(text: str | None, option: str) -> list[str]:
    """The names of a list separated by commas; OptionError for an empty one or a repeated name."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise OptionError(f"{option} is '{text}', expected names separated by commas")
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"{option} names '{repeated}' {names.count(repeated)} times")
    return names


def integers_in(text: str | None, option: str) -> list[int]:
    """The whole numbers of a list separated by commas; OptionError as ``names_in``."""
    names = names_in(text, option)
    for name in names:
        if not name.isdecimal():
            raise OptionError(f"{option} has '{name}', expected whole numbers separated by commas")
    return [int(name) for name in names]


def numbers_in(text: str | None, option: str) -> list[float]:
    """The numbers of a list separated by commas; OptionError as ``names_in``."""
    numbers = []
    for name in names_in(text, option):
        try:
            numbers.append(float(name))
        except ValueError:
            raise OptionError(f"{option} has '{name}', expected numbers separated by commas") from None
    return numbers


def norm_of_noise(noise: str) -> int:
    """The norm of sensitivities under a noise; OptionError for another word."""
    norms = {row.name.lower(): row.norm for row in NOISES}
    if noise not in norms:
        raise OptionError(f"--noise is '{noise}', expected {' or '.join(norms)}")
    return norms[noise]
