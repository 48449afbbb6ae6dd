"""What comes in from the command line, read; and what of it can be refused before any work is done."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt.cli.command_output import note
from mmopt.errors import OptionError, PrivacyError, suggest

if TYPE_CHECKING:
    from mmopt.comparison import Stated
    from mmopt.language import Program
    from mmopt.request import Request
    from mmopt.workloads import Workload

__all__ = [
    "check_folder",
    "check_out",
    "check_privacy",
    "check_table",
    "note_request",
    "read_givens",
    "read_program",
    "read_request",
    "refuse_beside",
    "stated_in",
]


def read_request(path: str | Path, table: str | None = None) -> Request:
    """What a workload file asks for, of the ``table`` of a database where --table names one.

    OptionError for a table in its place, of which no line is shown.
    """
    from mmopt.request import load_request

    if Path(path).suffix.lower() in (".csv", ".tsv", ".parquet", ".duckdb", ".sqlite", ".db", ".gz"):
        raise OptionError(
            f"'{path}' looks like a table, and a workload file (.yaml) is expected",
            hint="the workload file stands first: mmopt release WORKLOAD DATA",
        )
    request = load_request(path)
    return request if table is None else replace(request, table=replace(request.table, table=table))


def read_program(name: str | None, request: Request) -> Program:
    """The program named, or the default one for the workload and its privacy; stderr says which and why."""
    from mmopt.driver import default_program
    from mmopt.language import Program

    if name is None:
        name, why = default_program(request.workload, request.privacy is not None and request.privacy.is_pure)
        note(f"program: {name}, by default: {why} (choose another with --program)")
    return Program.load(name)


def note_request(request: Request, *, is_planned: bool = False) -> None:
    """Say what a solve refers to, for a workload with neighbours of its own, and one with normalised rows.

    is_planned : the figures are those of a release, which are for the neighbours of the file.
    """
    if not is_planned and request.neighbours is not None and str(request.neighbours) != "add-remove":
        note(
            "neighbours: objective, bound and sensitivity are for those of the program (add-remove, where it "
            f"names none); a release is calibrated for {request.neighbours}, as the workload file says"
        )
    if request.workload.is_normalised:
        note(
            "normalise: objective, bound and error are of rows scaled to unit length; rmse is of the queries"
        )


def read_givens(texts: Sequence[str] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The values of ``--given NAME=VALUE``: a number, a baseline's name, or a file.

    Raises
    ------
    OptionError : not of that form, a name that the program does not have or that stands twice, or a value
        that is neither.
    """
    names = [d.name for d in program.givens] + [p.name for p in program.parameters]
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise OptionError(f"--given is '{text}', expected NAME=VALUE", hint="for example --given Q=haar")
        if name not in names:
            raise OptionError(f"'{program.name}' has no given '{name}'", hint=suggest(name, names))
        if name in values:
            raise OptionError(f"the given '{name}' is passed twice", hint="keep one of them")
        dims = next((len(d.dims) for d in program.givens if d.name == name), 0)
        values[name] = _fitted(_value(name, value, workload, program.meaning.norm), dims)
    return values


def _value(name: str, text: str, workload: Workload, norm: int) -> Any:
    from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
    from mmopt.workloads.matrix_files import SUFFIXES, read_array

    if is_baseline(text):
        return design_rows(text, workload, norm)
    path = Path(text)
    if path.suffix.lower() in SUFFIXES:
        return read_array(path, f"the given '{name}'")
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            f"the value '{text}' of the given '{name}' is no number, no baseline, and no .npy or .csv file",
            hint=suggest(text, baseline_words()),
        ) from None


def _fitted(value: Any, dims: int) -> Any:
    """A file with one row or one column where a vector is declared, or one entry for a number."""
    import numpy as np

    array = np.asarray(value)
    if dims == 1 and array.ndim == 2 and 1 in array.shape:
        return array.ravel()
    return array.ravel()[0] if dims == 0 and array.size == 1 else value


# -- refusals


def check_out(path: Path | None, option: str = "--out", example: str = "solution.npz") -> None:
    """Refuse an output file that could not be written."""
    if path is None:
        return
    if path.is_dir():
        raise OptionError(
            f"'{path}' is a folder, {option} names a file", hint=f"for example {path / example}"
        )
    _check_parent(path, path.with_name(f".{path.name}.{os.getpid()}.part"))


def check_folder(out: Path) -> None:
    """Refuse a release folder that exists, or could not be made."""
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already; a release is written to a new folder",
            hint="name another folder with --out",
        )
    from mmopt.mechanism.release_folder import partial_sibling

    _check_parent(out, partial_sibling(out))


def _check_parent(path: Path, trial: Path) -> None:
    """Refuse a path where ``trial``, under whose name it is written first, cannot be made."""
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


def check_privacy(request: Request, program: str, by_targets: bool, norm: int) -> None:
    """Refuse a release when neither privacy parameters nor targets decide how much noise is added.

    And when the parameters are not those of a noise for the norm: Laplace for 1, Gaussian for 2.
    """
    from mmopt.privacy.guarantee import PURE_HINT
    from mmopt.privacy.table_of_noises import noise_for

    if request.privacy is not None:
        noise = noise_for(norm, request.privacy)
        if request.privacy.is_pure and not noise.takes(request.privacy):
            raise PrivacyError(
                f"'{request.path}' asks for pure epsilon (no delta), and '{program}' is for "
                f"{noise.name} noise",
                hint=PURE_HINT,
            )
        noise.allowed(request.privacy)
    if request.privacy is None and not by_targets:
        why = f"'{program}' does not set the noise by targets" if program else "not every query has a target"
        raise PrivacyError(
            f"'{request.path}' has no privacy parameters, and {why}",
            hint="add a line such as 'privacy: {epsilon: 1.0, delta: 1.0e-6}' to the workload file",
        )


def stated_in(request: Request) -> Stated | None:
    """The privacy that errors are for; None where the file has none, and they are at unit noise."""
    from mmopt.comparison import Stated
    from mmopt.strategies import ADD_REMOVE

    return None if request.privacy is None else Stated(request.privacy, request.neighbours or ADD_REMOVE)


def check_table(data: str, request: Request, part: tuple[str, str] | None = None) -> None:
    """Refuse a table that is missing or lacks a column that is read, by its header or schema alone."""
    from mmopt.data import check_columns

    check_columns(
        data,
        request.workload.domain,
        workload=request.workload,
        part=part,
        unit=request.neighbours,
        **asdict(request.table),
    )


def refuse_beside(what: str, options: Mapping[str, object], why: str = "") -> None:
    """Refuse options (by their names on the command line) that have no effect with another; ``why``."""
    for name, value in options.items():
        if value is not None and value != []:
            raise OptionError(f"{name} has no effect with {what}{why}", hint=f"leave out {name} or {what}")
