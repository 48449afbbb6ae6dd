"""The settings of pytest, mypy, ruff and import-linter are as strict as they look."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))


def outcome(folder: Path, suite: dict[str, str], *options: str) -> str:
    """What pytest says of a suite, source by file, with this repository's settings."""
    for name, source in suite.items():
        (folder / f"test_{name}.py").write_text(f"import warnings, pytest\n{source}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    command += [f"--rootdir={folder}", "--continue-on-collection-errors", *options, folder]
    # Without the options and the worker number of the outer run.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    return done.stdout + done.stderr


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


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> str:
    return outcome(
        tmp_path_factory.mktemp("refused"), {name: source for name, (source, _) in REFUSED.items()}
    )


@pytest.mark.parametrize("name", REFUSED)
def test_pytest_refuses(refusals: str, name: str) -> None:
    assert "passed" not in refusals.splitlines()[-1], refusals
    assert REFUSED[name][1] in refusals
    assert re.search(f"^(ERROR|FAILED) test_{name}.py", refusals, re.MULTILINE), refusals


MANY = """
@pytest.mark.some(MARK)
@pytest.mark.parametrize("x", [1, 2, 3])
@pytest.mark.parametrize("y", [4, 5, 6])
def test_many(x, y): pass
"""


def test_pytest_accepts_a_sound_suite_and_leaves_slow_tests_out(tmp_path: Path) -> None:
    """Of many like cases it takes as many as the mark says, here one for each value of y, and then two; as
    many more are slow tests.
    """
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    slow = "@pytest.mark.slow\ndef test_slow(): pass\n\ndef test_fast(): pass"
    suite = {"it": slow, "each": MANY.replace("MARK", '1, "y"'), "two": MANY.replace("MARK", "2")}
    said = outcome(tmp_path, suite, "-v")
    assert "6 passed, 14 deselected" in said
    assert sorted(re.findall(r"test_each.py::test_many\[(\d)-\d\] PASSED", said)) == ["4", "5", "6"]
    assert len(re.findall(r"test_two.py::test_many\[\d-\d\] PASSED", said)) == 2
    assert "6 passed, 14 deselected" in outcome(tmp_path, suite, "-m", "slow")
    assert "8 passed, 12 deselected" in outcome(tmp_path, suite, "-m", "nightly")


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
    for path in sorted((ROOT / "mmopt").rglob("*.py")):
        unknown = imported_libraries(path.read_text(encoding="utf-8")) - known
        assert not unknown, (
            f"{path.relative_to(ROOT)} imports {sorted(unknown)}, which pyproject.toml does not declare"
        )


def imported_libraries(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
    return found


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


FOLDERS = (
    "numerics",
    "language",
    "workloads",
    "symmetry",
    "strategies",
    "privacy",
    "request",
    "results",
    "compiler",
    "sectors",
    "solvers",
    "driver",
    "exchange",
    "proof",
    "data",
    "mechanism",
    "ledger",
    "comparison",
    "report",
    "answers",
)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("language", "mmopt.workloads", "Imports run one way"),
        ("workloads", "mmopt.request", "Imports run one way"),
        ("driver", "mmopt.cli", "Imports run one way"),
        ("language/atoms", "mmopt.language.check", "Folders of the language are floors too"),
        ("sectors/plain", "mmopt.sectors.search", "Rooms of row spaces are floors too"),
        (
            "driver/judge",
            "mmopt.driver.search",
            "A point is judged by what neither searches nor runs a solver again",
        ),
        ("request", "mmopt.language", "request and results know workloads, not programs"),
        ("solvers", "mmopt.results", "compiler and solvers know neither the workload file nor results"),
        ("mechanism", "mmopt.solvers", "mechanism and data apply a strategy, however it was chosen"),
    ],
)
def test_import_linter_refuses(tmp_path: Path, importer: str, imported: str, contract: str) -> None:
    skeleton(tmp_path)
    late = f"def use() -> None:\n    import {imported}\n"
    (tmp_path / "mmopt" / importer / "late.py").write_text(late, encoding="utf-8")
    assert f"{contract} BROKEN" in lint_imports(tmp_path)


def test_import_linter_refuses_a_folder_without_a_place(tmp_path: Path) -> None:
    skeleton(tmp_path)
    assert "0 broken" in lint_imports(tmp_path)
    (tmp_path / "mmopt" / "extra.py").touch()
    assert "Imports run one way BROKEN" in lint_imports(tmp_path)


def skeleton(folder: Path) -> None:
    """The layout of mmopt with empty modules, under this repository's contracts."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    package = folder / "mmopt"
    package.mkdir()
    for name in (
        "__init__.py",
        "errors.py",
        "limits.py",
        "resources.py",
        "stop_reasons.py",
        "worker_start.py",
    ):
        shutil.copy(ROOT / "mmopt" / name, package)
    folders = {"language": ("atoms", "check", "evaluate", "print", "syntax")}
    folders["driver"] = ("diagnosis", "judge", "run_solver", "search", "solve", "templates")
    rooms = ("bounds", "equal", "largest", "measured", "plain", "residual", "search")
    folders["sectors"] = (*rooms, "choose_space", "measures", "row_space", "sector_cells")
    inner = [f"{name}/{inside}" for name, each in folders.items() for inside in each]
    for name in (*FOLDERS, *inner, "cli", "testing"):
        (package / name).mkdir()
        (package / name / "__init__.py").touch()
    (package / "testing" / "script_commands.py").write_text(
        "import mmopt.cli.command_guard\n", encoding="utf-8"
    )
    (package / "cli" / "command_guard.py").touch()
    (package / "workloads" / "python_forms.py").write_text("import mmopt.request\n", encoding="utf-8")
    (package / "notebook.py").write_text("import mmopt.report\n", encoding="utf-8")


def lint_imports(folder: Path) -> str:
    command = [SCRIPTS / "lint-imports", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # some releases always use colours
