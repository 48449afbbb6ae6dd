"""The public face of mmopt is lazy and complete, and imports run one way (pyproject.toml)."""

import ast
import importlib
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mmopt

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "scipy", "scipy.signal", "cvxpy", "ibis", "duckdb", "opendp", "pandas", "matplotlib")

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


def test_import_and_help_load_no_heavy_library() -> None:
    """All in one interpreter; of the commands those whose modules are the largest."""
    helps = (
        HELP.format(arguments=arguments)
        for arguments in (["--help"], ["solve", "--help"], ["release", "--help"])
    )
    assert heavy_modules_after("\n".join([IMPORT, *helps])) == []


def test_tables_load_no_matplotlib_and_no_filters() -> None:
    """And what is loaded is seen."""
    loaded = heavy_modules_after(
        "import mmopt.report.exported_names, mmopt.testing.conformance.__main__, mmopt.answers"
    )
    assert "numpy" in loaded and not {"matplotlib", "scipy.signal"} & set(loaded)


def test_every_public_name_resolves() -> None:
    assert dir(mmopt) == sorted(mmopt.__all__)
    assert not [name for name in mmopt.__all__ if getattr(mmopt, name, None) is None]
    for name, module in mmopt._HOMES.items():
        assert name in importlib.import_module(module).__all__, module


def test_all_is_sorted_and_is_what_type_checkers_see() -> None:
    stub = ast.parse(Path(mmopt.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(listed) == sorted(mmopt.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as error:
        mmopt.Wrokload  # noqa: B018
    assert str(error.value) == "module 'mmopt' has no attribute 'Wrokload'"
    assert (error.value.name, error.value.obj) == ("Wrokload", mmopt)


def test_import_contracts_hold() -> None:
    lint = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_goes_through_the_public_face() -> None:
    # The contracts cannot see through the lazy names, so modules import from one another directly.
    allowed = {"__version__", *(path.stem for path in (ROOT / "mmopt").iterdir())}
    for path in (ROOT / "mmopt").rglob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        assert not re.search(r"^ *import mmopt\b(?!\.)", code, re.MULTILINE), path
        for names in re.findall(r"^ *from mmopt import (\([^)]*\)|.*)", code, re.MULTILINE):
            taken = {name.split()[0] for name in names.strip("()\n ").rstrip(",").split(",")}
            assert taken <= allowed, (
                f"{path} takes {sorted(taken - allowed)} from mmopt instead of its module"
            )
