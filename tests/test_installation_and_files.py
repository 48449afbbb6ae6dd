"""The program files and the version are those of the package that is imported."""

import importlib
from pathlib import Path

import pytest

import mmopt
from mmopt.installation_and_files import _programs_of, _version_beside, programs_folder, version_of


def put(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("", encoding="utf-8")
    return folder


def test_the_folder_of_this_install_holds_the_default_programs() -> None:
    names = {path.stem for path in programs_folder().glob("*.program")}
    assert {"fitness_for_use", "l2_strategy"} <= names


def test_package_data_come_before_the_sibling(tmp_path: Path) -> None:
    package = tmp_path / "mmopt"
    sibling = put(tmp_path / "programs", "a.program")
    assert _programs_of(package) == sibling
    packaged = put(package / "programs", "a.program")
    assert _programs_of(package) == packaged


def test_a_sibling_without_programs_is_not_ours(tmp_path: Path) -> None:
    put(tmp_path / "programs", "__init__.py")
    with pytest.raises(mmopt.Error) as error:
        _programs_of(tmp_path / "mmopt")
    assert str(error.value) == (
        "the program files of mmopt were not found: expected *.program in "
        f"'{tmp_path / 'mmopt' / 'programs'}' or '{tmp_path / 'programs'}'\n"
        "  reinstall mmopt, or keep 'programs/' next to 'mmopt/' in a checkout"
    )


def test_a_checkout_that_is_not_installed_has_the_version_it_states(tmp_path: Path) -> None:
    """Somebody else's project around the package says nothing."""
    assert _version_beside(Path(mmopt.__file__).parent) == mmopt.__version__
    package, nothing = put(tmp_path / "mmopt", "__init__.py"), "0+not-installed"
    assert _version_beside(package) == nothing
    for text, version in [
        ('[project]\nname = "mmopt"\nversion = "7.1"\n', "7.1"),
        ('[project]\nname = "other"\nversion = "7.1"\n', nothing),
        ("[tool.other]\n", nothing),
    ]:
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        assert _version_beside(package) == version


def install(folder: Path, package: str, module: str, text: str = "") -> None:
    """A package of version 1.5 with a module, as pip leaves it."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    about = folder / f"{package}-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n", "utf-8")
    (about / "RECORD").write_text(f"{module}.py,,\n", "utf-8")


def test_a_version_is_that_of_the_module_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "alone_py", "its_own_name")
    install(tmp_path, "one_py", "shared_by_two")
    install(tmp_path, "other_py", "shared_by_two")
    install(tmp_path, "says_py", "says_itself", "__version__ = '7.1'")
    install(tmp_path, "says_too_py", "says_itself", "__version__ = '7.1'")
    importlib.import_module("says_itself")
    (tmp_path / "of_nobody.py").write_text("", encoding="utf-8")
    found = [version_of(name) for name in ("its_own_name", "shared_by_two", "says_itself", "of_nobody")]
    assert found == ["1.5", "", "7.1", ""]
    assert version_of("not_there_at_all") == ""
