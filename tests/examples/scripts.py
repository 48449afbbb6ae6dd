"""The scripts of examples/, with the files beside them, as modules: ``scripts("adaptive").study``."""

import functools
import importlib
import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@functools.cache
def scripts(folder: str) -> SimpleNamespace:
    """All Python files of a folder, which import each other by name. Other folders have the same names."""
    names = sorted(file.stem for file in (EXAMPLES / folder).glob("*.py"))
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(EXAMPLES / folder))
        for name in names:
            sys.modules.pop(name, None)


def script(path: str) -> ModuleType:
    """A file that imports none beside it, alone: the others may need what is not installed."""
    spec = importlib.util.spec_from_file_location(path.removesuffix(".py").replace("/", "_"), EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


def status(monkeypatch: pytest.MonkeyPatch, script: str, *arguments: str) -> int | str | None:
    """Run a script as ``python`` does; its exit status."""
    path = EXAMPLES / script
    before = set(sys.modules)
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    monkeypatch.syspath_prepend(path.parent)
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(path), run_name="__main__")
    finally:
        for name in {file.stem for file in path.parent.glob("*.py")} - before:
            sys.modules.pop(name, None)
    return ended.value.code
