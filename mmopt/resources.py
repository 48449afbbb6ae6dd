"""Resources of the package: its version, versions of other modules, and the folder of the program files."""

from __future__ import annotations

import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version as installed
from pathlib import Path

from mmopt.errors import Error


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
    candidates = (package / "programs", package.parent / "programs")
    for folder in candidates:
        # A folder counts if it holds programs: in site-packages the sibling may be another package's
        # `programs`.
        if any(folder.glob("*.program")):
            return folder
    places = " or ".join(f"'{folder}'" for folder in candidates)
    raise Error(
        f"the program files of mmopt were not found: expected *.program in {places}",
        hint="reinstall mmopt, or keep 'programs/' beside 'mmopt/' in a checkout",
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
    stated = tomllib.loads(file.read_text("utf-8")).get("project", {}) if file.is_file() else {}
    return str(stated["version"]) if stated.get("name") == "mmopt" else "0+not-installed"
