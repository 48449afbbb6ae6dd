"""Folders that are releases, changed ones, old ones, none (read_folder.py), and figures that do not follow.

Guards derived_figures.py. That no edit of one place is read is ``tests/judge/test_records.py``.
"""

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


def test_a_folder_with_a_parquet_file_is_none_of_version_0_1_0(folder):
    """Else less of it would be compared."""
    changed(folder, format="mmopt release 1")
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


BY_ANSWERS, BY_PLAN = "its answers and its other figures", "its strategy and noise"


@pytest.mark.quick
def test_what_follows_from_answers_strategy_and_noise_is_compared(folder, subtests):
    """Without the workload; with it, also what follows from the plan."""
    manifest = json.loads((folder / "manifest.json").read_text())
    noise, accuracy, strategy = manifest["noise"], manifest["accuracy"], manifest["strategy"]
    rmse, unit = accuracy["rmse"], noise["scale_at_unit_strategy"]
    least = float(load_release(folder).answers["coverage"].min())
    simulated = "simulated, not private"
    alone, whole = load_release(folder), load_release(folder, ASKED)
    assert alone.plan is None and whole.plan is not None
    assert alone.unchecked == (
        *("workload.hash", "workload.cells", "strategy.hash", "strategy.parts", "strategy.bias"),
        *("strategy.rounding_loss", "privacy.theorem", "privacy.sensitivity", "privacy.not_covered"),
        *("privacy.set_by", "accuracy.coverage.kind", "versions", "time"),
    )
    assert whole.unchecked == ("privacy.set_by", "accuracy.coverage.kind", "versions", "time")
    assert released(3).unchecked == ()
    for place, told, fact, by in (
        ("accuracy rmse", rmse / 10, None, BY_ANSWERS),
        ("accuracy rmse", str(rmse), None, BY_ANSWERS),
        ("accuracy coverage least", 0.99, least, BY_ANSWERS),
        ("accuracy coverage largest", 0.99, least, BY_ANSWERS),
        ("noise kind", "discrete Gaussian", simulated, BY_ANSWERS),
        ("noise sampler", "opendp make_gaussian", "numpy", BY_ANSWERS),
        ("noise scale_at_unit_strategy", 2 * unit, unit, BY_ANSWERS),
        ("noise scale", noise["scale"] / 2, None, BY_ANSWERS),
        ("strategy sensitivity", strategy["sensitivity"] / 2, None, BY_ANSWERS),
        ("strategy norm", "L1", "L2", BY_ANSWERS),
        ("strategy rows", 1, 6, BY_ANSWERS),
        ("workload queries", 9, 8, BY_ANSWERS),
        ("workload queries", 8.0, 8, BY_ANSWERS),
        ("warning", "none", "", BY_ANSWERS),
        ("privacy unit", "a person", "one row", BY_ANSWERS),
        ("program title", "mine", None, "its strategy"),
        ("program sha256", "0" * 64, None, "its strategy"),
        ("strategy bias", 0.5, strategy["bias"], BY_PLAN),
        ("strategy rounding_loss", 2.0, strategy["rounding_loss"], BY_PLAN),
        ("strategy parts 0 relative_noise", 2.0, 1.0, BY_PLAN),
        ("workload cells", 7, 6, BY_PLAN),
        ("privacy theorem", "magic", None, BY_PLAN),
        ("privacy sensitivity", "none", "largest L2 norm of a column", BY_PLAN),
        ("privacy not_covered", "", None, BY_PLAN),
        ("privacy scaled", "down", "missing", BY_PLAN),
    ):
        with subtests.test(f"{place}, {told}"):
            edited = json.loads(json.dumps(manifest))
            inside, (*way, name) = edited, place.split()
            for step in way:
                inside = inside[int(step) if step.isdecimal() else step]
            inside[name] = told
            (folder / "manifest.json").write_text(json.dumps(edited))
            found = refusal(folder, ASKED if by == BY_PLAN else None)
            if by == BY_PLAN:
                assert load_release(folder).manifest == edited
            assert found.startswith(f"'{folder}' contradicts itself: ") and found.endswith(f"{by}{CHANGED}")
            if name not in ("scale", "sensitivity"):  # which are compared with one another
                said = repr(fact) if fact is not None else ""
                assert f": {place} is {told!r} by its manifest, {said}" in found


def test_noise_that_is_not_that_of_the_answers_is_refused(folder):
    """Both figures of a scale, its bits and its sensitivity changed together: the plan has other errors."""
    manifest = json.loads((folder / "manifest.json").read_text())
    strategy, noise, rho = manifest["strategy"], manifest["noise"], manifest["privacy"]["rho"]
    half = {name: value / 2 if "scale" in name else value for name, value in noise.items()}
    changed(folder, noise=half, strategy={**strategy, "sensitivity": strategy["sensitivity"] / 2})
    assert load_release(folder).plan is None
    claim = f"this noise costs rho {4 * rho!r}, the release claims {rho!r}"
    assert refusal(folder, ASKED) == f"'{folder}' contradicts itself: {claim}{CHANGED}"
    twice = {name: value * 2 if "scale" in name else value for name, value in noise.items()}
    changed(folder, noise=twice, strategy={**strategy, "sensitivity": strategy["sensitivity"] * 2})
    assert refusal(folder, ASKED) == (
        f"'{folder}' contradicts itself: the noise of its manifest has other standard errors than its answers"
        f"{CHANGED}"
    )


def test_what_was_spent_from_a_ledger_follows_from_the_cost(folder, subtests):
    rho = PRIVACY["rho"]
    entry = {"data_set": "people", "entry": 1, "measure": "rho", "spent": rho, "total": 1.0, "left": 0.5}
    changed(folder, ledger=entry)
    assert {"ledger.left", "ledger.total", "ledger.entry"} < set(load_release(folder).unchecked)
    for name, told, fact in (("spent", rho / 2, rho), ("measure", "epsilon", "rho")):
        with subtests.test(name):
            changed(folder, ledger={**entry, name: told})
            assert refusal(folder) == (
                f"'{folder}' contradicts itself: ledger {name} is {told!r} by its manifest, {fact!r} by "
                f"{BY_ANSWERS}{CHANGED}"
            )


def test_figures_of_refined_answers_follow_from_them(folder, tmp_path, subtests):
    refined = load_release(folder, ASKED).refine().save(tmp_path / "refined")
    about = json.loads((refined / "manifest.json").read_text())["refined"]
    unchecked = load_release(refined).unchecked
    assert "refined.bound" in unchecked and not {"refined.gap", "refined.objective"} & set(unchecked)
    assert about["bound"] == 0.0 <= about["objective"] < 1e-15
    for told in (
        {"gap": 1.0},
        {"objective": 1.0, "gap": 1.0},
        {"bound": -1.0},
        {"program": "mine"},
        {"of": {"answers_sha256": "0" * 64}},
    ):
        with subtests.test(str(told)):
            changed(refined, refined={**about, **told})
            assert refusal(refined).startswith(f"'{refined}' contradicts itself: refined ")
