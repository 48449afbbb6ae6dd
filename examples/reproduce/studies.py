"""The studies of other folders of examples/, as modules: ``study_files("adaptive").study``."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

__all__ = ["study_files"]

EXAMPLES = Path(__file__).resolve().parents[1]


@functools.cache
def study_files(folder: str) -> SimpleNamespace:
    """The Python files of a folder of examples/, which import each other by name, as files of others do.

    Call it inside functions: what it loads takes a while.
    """
    names = sorted(file.stem for file in (EXAMPLES / folder).glob("*.py"))
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(EXAMPLES / folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
