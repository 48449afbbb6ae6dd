"""Programs, givens and output paths as they come from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt.cli.output import note
from mmopt.errors import OptionError, suggest

if TYPE_CHECKING:
    from mmopt.language import Program
    from mmopt.request import Request
    from mmopt.workloads import Workload

__all__ = ["note_request", "read_givens", "read_program"]


def read_program(name: str | None, request: Request) -> Program:
    """The program named, or the default one for the workload and its privacy; stderr says which and why."""
    from mmopt.driver import default_program
    from mmopt.language import Program

    if name is None:
        name, why = default_program(request.workload, request.privacy is not None and request.privacy.is_pure)
        note(f"program: {name}, by default: {why} (choose another with --program)")
    return Program.load(name)


def note_request(request: Request) -> None:
    """Say what a solve refers to, for a replace-one workload and one with normalised rows."""
    if request.neighbours == "replace-one":
        note(
            "neighbours: objective, bound and sensitivity are for add-remove neighbours; "
            "a release is calibrated for replace-one, as the workload file says"
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
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise OptionError(f"--given is '{text}', expected NAME=VALUE", hint="for example --given Q=haar")
        if name not in names:
            raise OptionError(f"'{program.name}' has no given '{name}'", hint=suggest(name, names))
        if name in found:
            raise OptionError(f"the given '{name}' is passed twice", hint="keep one of them")
        dims = next((len(d.dims) for d in program.givens if d.name == name), 0)
        norm = program.meaning.norm
        found[name] = _fitted(_value(name, value, workload, norm), dims)
    return found


def _value(name: str, text: str, workload: Workload, norm: int) -> Any:
    from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
    from mmopt.workloads.files import SUFFIXES, read_array

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
    if dims == 0 and array.size == 1:
        return array.ravel()[0]
    return value
