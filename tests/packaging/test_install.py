"""A wheel, a source archive and an editable install each find the program files."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROGRAMS = {path.name for path in (ROOT / "programs").glob("*.program")}
LOOK = """
import mmopt, mmopt.installation_and_files
print(mmopt.__version__)
print(mmopt.__file__)
print(mmopt.installation_and_files.programs_folder())
"""


def run(command: Sequence[str | Path], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(sys.prefix), env=clean_environment() | environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source archive, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


def test_the_wheel_holds_package_programs_and_licence(archives: dict[str, Path]) -> None:
    with zipfile.ZipFile(archives["wheel"]) as wheel:
        names = set(wheel.namelist())
    programs = {name for name in names if name.endswith(".program")}
    assert {n.removeprefix("mmopt/programs/") for n in programs if "/studio/" not in n} == PROGRAMS
    stock = {path.relative_to(ROOT).as_posix() for path in (ROOT / "mmopt" / "studio").glob("*/*.program")}
    assert {n for n in programs if "/studio/" in n} == stock
    info = f"mmopt-{PROJECT['version']}.dist-info"
    assert {"mmopt/py.typed", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    assert {name.split("/")[0] for name in names} == {"mmopt", info}


def test_the_source_archive_holds_what_a_build_and_the_tests_need(archives: dict[str, Path]) -> None:
    top = f"mmopt-{PROJECT['version']}/"
    with tarfile.open(archives["sdist"]) as sdist:
        names = {member.name.removeprefix(top) for member in sdist.getmembers() if member.isfile()}
    assert {Path(n).name for n in names if n.startswith("programs/")} == {*PROGRAMS, "ERRATA.md"}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "mmopt/__init__.py"} <= names
    assert {"tests/test_imports.py", ".ci/run"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]


def test_the_wheel_finds_the_programs_and_its_command_lists_them(
    archives: dict[str, Path], tmp_path: Path
) -> None:
    """It was built from the source archive."""
    scripts, site = install(tmp_path / "venv", [archives["wheel"]])
    looked(scripts, site / "mmopt" / "__init__.py", site / "mmopt" / "programs")
    output = run([scripts / "mmopt", "programs"], PYTHONPATH=os.pathsep.join([str(site), *libraries()]))
    missing = [name for name in PROGRAMS if name.removesuffix(".program") not in output]
    assert PROGRAMS and not missing, output


def test_an_editable_install_finds_those_of_the_checkout(tmp_path: Path) -> None:
    scripts, _ = install(tmp_path / "venv", ["-e", ROOT])
    looked(scripts, ROOT / "mmopt" / "__init__.py", ROOT / "programs")


def looked(scripts: Path, package: Path, programs: Path) -> None:
    found = run([scripts / "python", "-I", "-c", LOOK]).splitlines()
    assert found == [PROJECT["version"], str(package), str(programs)]
    assert {path.name for path in programs.glob("*.program")} == PROGRAMS


def install(folder: Path, what: Sequence[str | Path]) -> tuple[Path, Path]:
    """Install mmopt alone into a new environment; its folder of scripts and of packages.

    The build backend is lent by the environment of the tests, so nothing is downloaded.
    """
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    scripts = Path(paths["scripts"])
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed"]
    run([*pip, *options, *what], PYTHONPATH=os.pathsep.join(libraries()))
    return scripts, Path(paths["purelib"])


def libraries() -> list[str]:
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
