"""What comes with the package: its version, those of modules beside it, and where the program files are."""

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
        # A folder counts by what it holds: in site-packages the sibling may be anybody's `programs`.
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
    except PackageNotFoundError:  # read from a folder on the path, without any install
        return _version_beside(Path(__file__).resolve().parent)


@cache
def version_of(module: str) -> str:
    """The version of a module of others: its own word where it is imported, else that of the only package
    that has it. "" where that is not certain: two packages may bring one module, and there may be none."""
    own = getattr(sys.modules.get(module), "__version__", "")
    packages = () if own else set(packages_distributions().get(module, ()))
    return str(own) if own else installed(*packages) if len(packages) == 1 else ""


def _version_beside(package: Path) -> str:
    """What the ``pyproject.toml`` of a checkout says."""
    file = package.parent / "pyproject.toml"
    stated = tomllib.loads(file.read_text("utf-8")).get("project", {}) if file.is_file() else {}
    return str(stated["version"]) if stated.get("name") == "mmopt" else "0+not-installed"
