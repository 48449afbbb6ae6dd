"""Folders that are releases, changed ones, old ones, none (read_folder.py); their plans (saved_plan.py)."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from mmopt.answers import load_release
from mmopt.errors import ResultError
from mmopt.workloads import Workload
from tests.answers.test_release_result import ASKED, released

PRIVACY = released(3).manifest["privacy"]
CHANGED = "\n  it was changed since; copy it again from where it was released"
HINT = "\n  name a folder that 'mmopt release --out' or Release.save wrote"


def refusal(folder: Path, workload: Workload | None = None) -> str:
    with pytest.raises(ResultError) as caught:
        load_release(folder, workload)
    return str(caught.value)


def changed(folder: Path, **entries: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest = {key: value for key, value in {**manifest, **entries}.items() if value is not None}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def listed_again(folder: Path) -> None:
    """The manifest lists the files as they are now, as whoever changed them would."""
    files = (path for path in folder.iterdir() if path.name != "manifest.json")
    changed(folder, files={f.name: {"sha256": hashlib.sha256(f.read_bytes()).hexdigest()} for f in files})


def test_what_is_no_release(tmp_path, folder):
    none = tmp_path / "none"
    assert refusal(none) == f"there is no folder '{none}'{HINT}"
    none.mkdir()
    assert refusal(none) == f"'{none}' is no release: it has no manifest.json{HINT}"
    for text in (b"{", b"\xff"):
        (none / "manifest.json").write_bytes(text)
        assert refusal(none) == f"'{none}/manifest.json' is no manifest of a release{HINT}"
    for text, kind in (("[]", "None"), ('{"format": "mmopt release 3"}', "'mmopt release 3'")):
        (none / "manifest.json").write_text(text)
        assert refusal(none) == (
            f"'{none}/manifest.json' has format {kind}, this version reads mmopt release 1 and mmopt release "
            f"2{HINT}"
        )
    changed(folder, privacy=None, noise=None)
    assert refusal(folder) == f"'{folder}/manifest.json' lacks privacy, noise{HINT}"


def test_a_manifest_with_other_values(again, subtests):
    for key, value in [
        ("privacy", {}),
        ("privacy", 3),
        ("workload", {"hash": "", "queries": "many", "cells": 1}),
        ("accuracy", {"rmse": "x", "confidence": 0.9, "coverage": {"least": 0.9, "kind": ""}}),
        ("noise", {"kind": "", "scale": None, "scale_at_unit_strategy": 1.0}),
        ("privacy", {**PRIVACY, "epsilon": "1"}),
        ("privacy", {**PRIVACY, "rho": math.nan}),
        ("privacy", {**PRIVACY, "delta": -1.0}),
        ("private", "yes"),
        ("time", 3),
    ]:
        with subtests.test(f"{key}, {value}"):
            folder = again()
            changed(folder, **{key: value})
            assert refusal(folder) == f"'{folder}/manifest.json' is no manifest of a release{HINT}"


SUM = {"sha256": ""}


def test_a_list_of_files_that_is_none(folder, subtests):
    for listed in [
        *([], {}, {"answers.csv": 1}, {"answers.csv": SUM}, {"answers.parquet": SUM}, None),
        {"answers.csv": SUM, "answers.parquet": {}},
        {"answers.csv": SUM, "answers.parquet": SUM, "../up": SUM},
    ]:
        with subtests.test(str(listed)):
            changed(folder, files=listed)
            assert refusal(folder) == f"'{folder}/manifest.json' does not say which files belong to it{HINT}"


@pytest.mark.quick
def test_a_file_that_was_changed_or_lost_is_named(again, subtests):
    for name in ["answers.csv", "answers.parquet", "answers.svg", "strategy.npz"]:
        with subtests.test(name):
            folder = again()
            path = folder / name
            data = path.read_bytes()
            path.write_bytes(data[:-3] + b"9" + data[-2:])
            found, told = (hashlib.sha256(each).hexdigest() for each in (path.read_bytes(), data))
            assert refusal(folder) == (
                f"'{path}' is not the file that was released: its SHA-256 is {found[:16]}…, the manifest "
                f"says {told[:16]}…{CHANGED}"
            )
            path.unlink()
            assert refusal(folder) == (
                f"'{folder}' is not whole: its manifest lists {name}, which cannot be read\n"
                "  copy the folder again from where it was released"
            )


def test_answers_that_cannot_be_read(folder, subtests):
    for data in [b"", b"PAR1", b"query,label\n1,2\n"]:
        with subtests.test(str(data)):
            (folder / "answers.parquet").write_bytes(data)
            listed_again(folder)
            assert refusal(folder) == f"the answers in '{folder}' cannot be read{HINT}"


def test_a_release_of_version_0_1_0_loads(folder):
    """A CSV file without attributes, a manifest that lists no files."""
    new = load_release(folder)
    lines = ["query,label,estimate,standard_error,low,high,coverage,private"]
    for i in range(len(new)):
        figures = (new.answers[name][i] for name in ("estimate", "standard_error", "low", "high", "coverage"))
        lines.append(",".join([f"g,q{i}", *map(repr, map(float, figures)), "false"]))
    (folder / "answers.csv").write_text("\n".join(lines) + "\n")
    for name in ("answers.parquet", "answers.svg", "strategy.npz"):
        (folder / name).unlink()
    changed(folder, files=None, format="mmopt release 1")
    old = load_release(folder)
    assert old.answers.names == tuple(lines[0].split(",")) and old.solution is None
    assert np.array_equal(old.answers["estimate"], new.answers["estimate"])
    assert old.answers["label"].tolist() == [f"q{i}" for i in range(len(new))]
    assert old.answers.metadata == new.answers.metadata and not old.answers["private"].any()
    assert old.rows() == new.rows() and len(old.plot().axes) == 1
    (folder / "answers.csv").write_text("query,label\n1\n")
    assert refusal(folder) == f"the answers in '{folder}' cannot be read{HINT}"


@pytest.mark.quick
def test_a_manifest_that_claims_something_else_than_the_answers(folder, subtests):
    for key, told, found in [
        ("guarantee", "pure epsilon", "(epsilon, delta)"),
        ("epsilon", 0.01, "1.0"),
        ("epsilon", None, "1.0"),
        ("delta", 1e-30, "1e-06"),
        ("rho", 1e-9, str(PRIVACY["rho"])),
        ("neighbours", "replace-one", "add-remove"),
    ]:
        with subtests.test(f"{key}, {told}"):
            changed(folder, privacy={**PRIVACY, key: told})
            assert refusal(folder) == (
                f"'{folder}' contradicts itself: {key} is {told} by its manifest, {found} by its answers"
                f"{CHANGED}"
            )


def test_simulated_answers_are_not_private_whatever_the_manifest_says(folder):
    said = f"'{folder}' contradicts itself: private is true by its manifest, false by its answers{CHANGED}"
    changed(folder, private=True)
    assert refusal(folder) == said
    (folder / "answers.parquet").unlink()
    changed(folder, files=None, format="mmopt release 1")
    assert refusal(folder) == said


@pytest.mark.quick
def test_two_files_of_answers_that_differ(folder):
    one = load_release(folder).answers["estimate"][0]
    text = (folder / "answers.csv").read_text()
    (folder / "answers.csv").write_text(text.replace(f",{one:g}", f",{one + 1:g}", 1))
    listed_again(folder)
    assert refusal(folder) == (
        f"'{folder}' contradicts itself: answers.csv and answers.parquet hold other answers{CHANGED}"
    )


def test_another_strategy_than_was_measured_is_not_believed(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    own = manifest["strategy"]["hash"]
    changed(folder, strategy={**manifest["strategy"], "hash": "0" * 64})
    assert refusal(folder, ASKED) == (
        f"the strategy in '{folder}' gives other integers than were measured: their hash is {own[:16]}…, the "
        f"manifest says {'0' * 16}…\n"
        f"  it was released by mmopt {manifest['versions']['mmopt']}, on other versions of libraries"
    )


def test_with_the_workload_whatever_follows_from_the_plan_is_compared(folder, subtests):
    manifest = json.loads((folder / "manifest.json").read_text())
    rho, scale = manifest["privacy"]["rho"], manifest["noise"]["scale"]
    assert load_release(folder).plan is None and load_release(folder, ASKED).plan is not None
    for part, name, told, said in (
        ("noise", "scale", scale / 2, f"this noise costs rho {4 * rho!r}, the release claims {rho!r}"),
        ("noise", "scale", 2 * scale, "the noise of its manifest has other standard errors than its answers"),
        ("strategy", "sensitivity", 1.0, None),
        ("strategy", "norm", "L1", None),
        ("strategy", "parts", [], None),
        ("strategy", "rows", 1, None),
        ("privacy", "theorem", "magic", None),
        ("privacy", "sensitivity", "none", None),
        ("privacy", "not_covered", "", None),
        ("privacy", "scaled", "down", None),
    ):
        with subtests.test(f"{name}, {told}"):
            changed(folder, **{**manifest, part: {**manifest[part], name: told}})
            found = refusal(folder, ASKED)
            said = said or f"{part} {name} is {told!r} by its manifest, "
            assert found.startswith(f"'{folder}' contradicts itself: {said}") and found.endswith(CHANGED)
