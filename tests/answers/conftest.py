"""A saved release: made once, and copied for each test, as its chart takes longer than all else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.answers.test_release_result import released


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(3).save(tmp_path_factory.mktemp("saved") / "out")


@pytest.fixture
def again(saved: Path, tmp_path: Path) -> Callable[[], Path]:
    """The folder as it was saved, whatever was changed in it before."""

    def copied() -> Path:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        return Path(shutil.copytree(saved, tmp_path / "out"))

    return copied


@pytest.fixture
def folder(again: Callable[[], Path]) -> Path:
    return again()
