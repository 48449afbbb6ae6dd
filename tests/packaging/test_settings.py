"""The settings of pytest, mypy, ruff and import-linter are as strict as they look."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))


REFUSED = {
    "unknown_marker": (
        "@pytest.mark.slwo\ndef test(): pass",
        "'slwo' not found in `markers` configuration option",
    ),
    "xfail_that_passes": ("@pytest.mark.xfail\ndef test(): pass", "[XPASS(strict)]"),
    "warning": ("def test(): warnings.warn('anything')", "UserWarning: anything"),
    "repeated_parameter": (
        "@pytest.mark.parametrize('x', [1, 1])\ndef test(x): pass",
        "Duplicate parametrization IDs",
    ),
}
MANY = """
@pytest.mark.some(MARK)
@pytest.mark.parametrize("x", [1, 2, 3])
@pytest.mark.parametrize("y", [4, 5, 6])
def test_many(x, y): pass
"""
SOUND = {
    "it": "@pytest.mark.slow\ndef test_slow(): pass\n\ndef test_fast(): pass",
    "each": MANY.replace("MARK", '1, "y"'),
    "two": MANY.replace("MARK", "2"),
}
SHOW = """

def pytest_deselected(items):
    for item in items:
        marks = {mark.name for mark in item.iter_markers()} & {"slow", "nightly"}
        print("left out:", item.nodeid, *marks)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Output of pytest on a suite with this repository's settings."""
    folder = tmp_path_factory.mktemp("suite")
    own = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (folder / "conftest.py").write_text(own + SHOW, encoding="utf-8")
    for name, source in {**SOUND, **{name: source for name, (source, _) in REFUSED.items()}}.items():
        (folder / f"test_{name}.py").write_text(f"import warnings, pytest\n{source}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-vs", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    command += [f"--rootdir={folder}", "--continue-on-collection-errors", folder]
    # Without the options and the worker number of the outer run.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    return done.stdout + done.stderr


def test_pytest_refuses(said: str, subtests: pytest.Subtests) -> None:
    for name, (_, words) in REFUSED.items():
        with subtests.test(name):
            assert words in said
            assert re.search(f"^(ERROR|FAILED) test_{name}.py", said, re.MULTILINE)


def test_pytest_leaves_slow_tests_out_and_of_many_like_cases_takes_some(said: str) -> None:
    """The mark says how many, here one for each value of y, and then two; as many more are slow tests, and
    the rest nightly ones.
    """
    assert re.findall(r"test_it.py::test_(\w+) PASSED", said) == ["fast"]
    assert "left out: test_it.py::test_slow slow\n" in said
    assert sorted(re.findall(r"test_each.py::test_many\[(\d)-\d\] PASSED", said)) == ["4", "5", "6"]
    assert len(re.findall(r"test_two.py::test_many\[\d-\d\] PASSED", said)) == 2
    for suite, slow, nightly in (("each", 3, 3), ("two", 2, 5)):
        left_out = re.findall(rf"left out: test_{suite}.py::\S+ (.*)", said)
        assert Counter(left_out) == {"slow": slow, "nightly": nightly}


def test_each_warning_that_is_let_through_is_one_message() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first, *ignored = settings["tool"]["pytest"]["filterwarnings"]
    assert first == "error"
    for line in ignored:
        action, message, category = line.split(":")
        assert action == "ignore"
        assert len(message) > 10, line
        assert category, line


def test_mypy_is_strict_and_excuses_only_named_third_parties() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"] is True
    assert "ignore_missing_imports" not in settings
    for override in settings["overrides"]:
        assert set(override) == {"module", "ignore_missing_imports"}
        assert not [name for name in override["module"] if name.startswith(("*", "mmopt"))]


def test_every_library_that_mmopt_imports_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + extras["solvers"] + extras["chart"]
    # Only whoever asks for such a frame needs the library: it is imported for that, or missed by name.
    lines += [line for line in extras["test"] if line.startswith(("pandas", "polars"))]
    declared = {re.split(r"[<>=\[]", line)[0] for line in lines}
    # Where the package is not called what the module is.
    modules = {
        "array-api-compat": "array_api_compat",
        "ibis-framework": "ibis",
        "ruamel.yaml": "ruamel",
        "sdpa-python": "sdpap",
    }
    known = {modules.get(name, name) for name in declared} | sys.stdlib_module_names | {"mmopt"}
    for path in (ROOT / "mmopt").rglob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        unknown = set(re.findall(r"^ *(?:import|from) (\w+)", code, re.MULTILINE)) - known
        assert not unknown, f"{path} imports {sorted(unknown)}, which pyproject.toml does not declare"


def ruff_codes(tmp_path: Path, source: str) -> list[str]:
    file = tmp_path / "mmopt" / "it.py"
    file.parent.mkdir()
    file.write_text(source, encoding="utf-8")
    command = [SCRIPTS / "ruff", "check", "--no-cache", "--config", ROOT / "pyproject.toml"]
    done = subprocess.run([*command, "--output-format=concise", file], capture_output=True, text=True)
    return [line.split(": ")[1].split()[0] for line in done.stdout.splitlines() if ".py:" in line]


def test_ruff_wants_heavy_libraries_inside_functions(tmp_path: Path) -> None:
    source = """from typing import TYPE_CHECKING

import cvxpy

if TYPE_CHECKING:
    import ibis


def use(table: "ibis.Table") -> None:
    import duckdb

    duckdb.sql(cvxpy.__name__)
"""
    assert ruff_codes(tmp_path, source) == ["TID253"]


LATE = (
    ("language", "workloads", "Imports run one way"),
    ("workloads", "request", "Imports run one way"),
    ("driver", "cli", "Imports run one way"),
    ("language.atoms", "language.check", "Folders of the language are floors too"),
    ("sectors.largest_of_tables", "sectors.error_bounds_of_measures", "Rooms of row spaces are floors too"),
    (
        "driver.judge",
        "driver.run_solver",
        "A point is judged by what neither searches nor runs a solver again",
    ),
    ("request", "language", "request and results know workloads, not programs"),
    ("solvers", "results", "compiler and solvers know neither the workload file nor results"),
    ("mechanism", "solvers", "mechanism and data apply a strategy, however it was chosen"),
)


def test_import_linter_refuses(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The layout of mmopt with empty modules, under this repository's contracts; and what breaks them."""
    package, real = tmp_path / "mmopt", ROOT / "mmopt"
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path in (*real.glob("*.py"), *real.glob("*/*.py"), *real.glob("*/*/__init__.py")):
        copy = package / path.relative_to(real)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    shutil.copy(real / "__init__.py", package)
    (package / "testing" / "conformance" / "__main__.py").write_text("import mmopt.cli.command_output\n")
    for name in ("domain.py", "workload.py"):
        (package / "workloads" / name).write_text("import mmopt.request\n")
    (package / "display_base_classes.py").write_text("import mmopt.report\n")
    assert "0 broken" in lint_imports(tmp_path)
    (package / "extra.py").touch()
    assert "Imports run one way BROKEN" in lint_imports(tmp_path)
    (package / "extra.py").unlink()
    for importer, imported, _ in LATE:
        home = package.joinpath(*importer.split("."))
        with (home / "late.py" if home.is_dir() else home.with_suffix(".py")).open("a") as late:
            late.write(f"def use():\n    import mmopt.{imported}\n")
    said = lint_imports(tmp_path)
    for importer, imported, contract in LATE:
        with subtests.test(f"{importer}, {imported}"):
            assert f"{contract} BROKEN" in said
            is_folder = package.joinpath(*importer.split(".")).is_dir()
            assert f"mmopt.{importer}{'.late' * is_folder} -> mmopt.{imported} " in said


def lint_imports(folder: Path) -> str:
    command = [SCRIPTS / "lint-imports", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # some releases always use colours
