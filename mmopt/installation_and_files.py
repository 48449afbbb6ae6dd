"""The installation of mmopt, its version and program files, and how files are written and JSON is read.

Files are written whole or not at all; JSON that two readers could read differently is refused.
"""

import contextlib
import json
import math
import os
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version as installed
from pathlib import Path
from typing import Any

from mmopt.errors import Error, ResultError


@cache
def programs_folder() -> Path:
    """The folder of the program files shipped with mmopt.

    A wheel carries them as ``mmopt/programs``; in a checkout, and so in an editable install, they are
    the sibling ``programs`` of the package.

    Raises
    ------
    Error : neither folder holds a ``.program`` file.
    """
    return _programs_of(Path(__file__).resolve().parent)


def _programs_of(package: Path) -> Path:
    """The program files' folder of the package in this folder; errors as ``programs_folder``."""
    candidates = (package / "programs", package.parent / "programs")
    for folder in candidates:
        # A folder counts if it holds programs: in site-packages the sibling may be another package's
        # `programs`.
        if any(folder.glob("*.program")):
            return folder
    places = " or ".join(f"'{folder}'" for folder in candidates)
    raise Error(
        f"the program files of mmopt were not found: expected *.program in {places}",
        hint="reinstall mmopt, or keep 'programs/' next to 'mmopt/' in a checkout",
    )


@cache
def version() -> str:
    """The version of mmopt."""
    try:
        return installed("mmopt")
    except PackageNotFoundError:  # imported from a folder on the path, without an install
        return _version_beside(Path(__file__).resolve().parent)


@cache
def version_of(module: str) -> str:
    """The version of another module: its ``__version__`` where it is imported, else the version of the only
    package that has it. "" where that is not certain: several packages may have the module, or none."""
    number = getattr(sys.modules.get(module), "__version__", "")
    packages = () if number else set(packages_distributions().get(module, ()))
    return str(number) if number else installed(*packages) if len(packages) == 1 else ""


def _version_beside(package: Path) -> str:
    """The version in the ``pyproject.toml`` of a checkout."""
    file = package.parent / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8")).get("project", {}) if file.is_file() else {}
    return str(project["version"]) if project.get("name") == "mmopt" else "0+not-installed"


DEEPEST = 100  # levels of a JSON text; the package writes about ten


def parse_json(text: str, value_of: Callable[[dict[str, Any]], Any] = lambda fields: fields) -> Any:
    """The value of a JSON text. ``value_of`` gives the value of each object in it, from its fields.

    Raises
    ------
    ValueError : no JSON; a name that an object has twice, of which readers take the first or the last; a
        number that is not finite; more than ``DEEPEST`` levels.
    """

    def of_pairs(pairs: list[tuple[str, Any]]) -> Any:
        if len(fields := dict(pairs)) < len(pairs):
            raise ValueError(f"an object has a name twice, of {', '.join(fields)}")
        return value_of(fields)

    try:
        value = json.loads(text, object_pairs_hook=of_pairs, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level: list[Any] = [[value]]  # the objects and lists of one level, from outside inwards
    for _ in range(DEEPEST + 1):
        contents = (each.values() if isinstance(each, dict) else each for each in level)
        level = [inner for values in contents for inner in values if isinstance(inner, dict | list)]
    if level:
        raise ValueError("it is nested too deeply")
    return value


def _finite(text: str) -> float:
    """The number of a JSON text; ValueError for NaN, infinities and what rounds to them."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes in place of the old content; a missing folder is made.

    Raises
    ------
    ResultError : the file cannot be written; it keeps its old content.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # there is none, or no such folder
            unfinished.unlink()
        raise ResultError(f"'{path}' cannot be written: {error.strerror}") from None
