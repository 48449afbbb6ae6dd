"""The public face of mmopt is lazy and complete, and imports run one way (pyproject.toml)."""

import ast
import importlib
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import mmopt

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "scipy", "cvxpy", "ibis", "duckdb", "opendp", "pandas", "matplotlib")

IMPORT = "import mmopt; dir(mmopt); mmopt.Error"
HELP = """
import sys
from mmopt.cli import main
sys.argv = ["mmopt", *{arguments!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


def heavy_modules_after(code: str) -> list[str]:
    """The names of HEAVY that a fresh interpreter has loaded after running ``code``."""
    report = f"{code}\nimport sys; print('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("loaded:").split()


def test_import_loads_no_heavy_library() -> None:
    assert heavy_modules_after(IMPORT) == []


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["release", "--help"]], ids=" ".join)
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    assert heavy_modules_after(HELP.format(arguments=arguments)) == []


def test_tables_load_no_matplotlib() -> None:
    assert "matplotlib" not in heavy_modules_after("import mmopt.report, mmopt.testing.script_commands")


def test_the_list_of_loaded_libraries_can_fail() -> None:
    assert heavy_modules_after("import numpy") == ["numpy"]


@pytest.mark.parametrize("name", mmopt.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(mmopt, name) is not None
    assert name in dir(mmopt)


def test_all_is_sorted_and_is_what_type_checkers_see() -> None:
    tree = ast.parse(Path(mmopt.__file__).read_text(encoding="utf-8"))
    block = next(
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    typed = {
        node.module: tuple(a.name for a in node.names)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    }
    assert typed == mmopt._HOMES
    assert sorted({name for names in typed.values() for name in names} | {"__version__"}) == mmopt.__all__


@pytest.mark.parametrize("module", mmopt._HOMES)
def test_each_home_exports_its_names(module: str) -> None:
    assert set(mmopt._HOMES[module]) <= set(importlib.import_module(module).__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as error:
        mmopt.Wrokload  # noqa: B018
    assert str(error.value) == "module 'mmopt' has no attribute 'Wrokload'"
    assert (error.value.name, error.value.obj) == ("Wrokload", mmopt)


def test_import_contracts_hold() -> None:
    lint = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def names_taken_from_the_root(source: str) -> Iterator[str]:
    """Names that a module takes from ``mmopt`` itself; submodules of it do not count."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "mmopt":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name == "mmopt")


def test_no_module_goes_through_the_public_face() -> None:
    # The contracts cannot see through the lazy names, so modules import from one another directly.
    allowed = {"__version__", *(path.stem for path in (ROOT / "mmopt").iterdir())}
    for path in sorted((ROOT / "mmopt").rglob("*.py")):
        taken = set(names_taken_from_the_root(path.read_text(encoding="utf-8"))) - allowed
        assert not taken, (
            f"{path.relative_to(ROOT)} takes {sorted(taken)} from mmopt instead of from its module"
        )


def test_only_public_names_are_listed() -> None:
    assert dir(mmopt) == sorted(mmopt.__all__)
