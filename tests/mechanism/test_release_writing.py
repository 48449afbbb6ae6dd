"""A folder of a release: what its files say, that it is whole or not there, and what it replaces."""

import csv
import fcntl
import hashlib
import itertools
import json
import math
import os
import shutil
from datetime import datetime
from unittest import mock

import numpy as np
import pytest
from pyarrow import parquet

from mmopt.errors import OptionError
from mmopt.mechanism import Answers, build_manifest, measure, plan, release_writing, write_release
from mmopt.privacy import Privacy
from mmopt.report import privacy_rows
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import MarginalStrategy
from mmopt.workloads import Attribute, Bins, Domain, Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total
from tests.mechanism.test_intervals import release

TRI = Workload.from_matrix(np.tri(4))
PLAN = plan(TRI, Strategy(np.eye(4)), Privacy(epsilon=1.0, delta=1e-6))
COUNTS = np.array([1234567, 0, 3, 4])
ANSWERS = measure(PLAN, COUNTS, simulate=3)

FIGURES = {
    "estimate": lambda answers: answers.estimates,
    "standard_error": lambda answers: answers.standard_errors,
    "low": lambda answers: answers.low,
    "high": lambda answers: answers.high,
    "coverage": lambda answers: answers.coverage,
}
"""What each column of numbers in answers.csv shows."""


def test_answers_and_manifest_are_written(tmp_path):
    folder = tmp_path / "release"
    assert write_release(ANSWERS, build_manifest(PLAN, ANSWERS, program="l2_strategy"), folder) == folder
    assert sorted(os.listdir(tmp_path)) == ["release"]
    assert sorted(os.listdir(folder)) == ["answers.csv", "answers.parquet", "manifest.json"]
    with open(folder / "answers.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["query", "label", *FIGURES, "private"]
    assert {row["private"] for row in rows} == {"false"}
    # Rounded far below the standard errors, so that whole answers are shown whole.
    for column, meant in FIGURES.items():
        shown = np.array([float(row[column]) for row in rows])
        assert (np.abs(shown - meant(ANSWERS)) <= 1e-6 * ANSWERS.standard_errors).all(), column
    assert [row["label"] for row in rows] == TRI.labels()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["program"] == "l2_strategy" and manifest["format"] == "mmopt release 3"
    assert manifest["files"] == {
        name: {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name in ("answers.csv", "answers.parquet")
    }
    assert manifest["private"] is False and manifest["warning"] == ""
    assert manifest["workload"] == {"hash": TRI.hash, "queries": 4, "cells": 4}
    assert manifest["strategy"]["hash"] == PLAN.integer.hash
    assert manifest["strategy"]["bits"] == PLAN.integer.bits + PLAN.fineness
    assert manifest["privacy"] == {
        "unit": "one row",
        "neighbours": "add-remove",
        "guarantee": "(epsilon, delta)",
        "rho": PLAN.rho,
        "epsilon": PLAN.epsilon,
        "delta": 1e-6,
        "theorem": PLAN.theorem,
        "sensitivity": "largest L2 norm of a column",
        "not_covered": "whether the table can be read, its weights (if it has any) are counts, and it has "
        "at most 2147483648 rows; whether a row is refused, for cell, and the message that says so",
        "set_by": "privacy parameters",
    }
    assert manifest["noise"] == {
        "kind": "simulated, not private",
        "sampler": "numpy",
        "scale": math.ldexp(PLAN.scale, PLAN.fineness),
        "scale_at_unit_strategy": PLAN.noise,
    }
    assert set(manifest["versions"]) == {"mmopt", "opendp", "numpy", "python"}
    assert datetime.fromisoformat(manifest["time"]).utcoffset().total_seconds() == 0


def test_the_parquet_file_holds_the_numbers_of_the_csv_and_says_whose_they_are(tmp_path):
    bins = Bins((0.0, 18.0, 65.0))
    domain = Domain((Attribute("sex", ("F", "M")), Attribute("age", bins.labels(), encoding=bins)))
    asked = Workload.from_products(domain, [Product((identity(2), prefix(2))), Product((total(2), total(2)))])
    found = plan(asked, Strategy(np.eye(4)), Privacy(epsilon=1.0, delta=1e-6))
    answers = measure(found, np.arange(4), confidence=0.9)
    manifest = build_manifest(found, answers)
    assert manifest["private"] is True and manifest["noise"]["kind"] == "discrete Gaussian"
    folder = write_release(answers, manifest, tmp_path / "release", {"more.txt": b"more"})
    assert (folder / "more.txt").read_bytes() == b"more"
    table = parquet.read_table(folder / "answers.parquet")
    said = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert said == {
        "confidence": "0.9",
        "private": "true",
        "guarantee": "(epsilon, delta)",
        "epsilon": repr(found.epsilon),
        "delta": "1e-06",
        "rho": repr(found.rho),
        "neighbours": "add-remove",
    }
    with open(folder / "answers.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == table.column_names == [
        *("query", "label", "sex", "age", "age_low", "age_high"),
        *FIGURES,
    ]  # fmt: skip
    for row, typed in zip(rows, table.to_pylist(), strict=True):
        for name, text in row.items():
            value = typed[name]
            assert text == ("" if value is None else value) or float(text) == value, name
    assert [(row["sex"], row["age"], row["age_low"], row["age_high"]) for row in rows[:2] + rows[-1:]] == [
        ("F", "< 18", "0", "18"),
        ("F", "< 65", "0", "65"),
        ("", "", "", ""),
    ]


def test_no_exact_fact_of_the_data_reaches_the_folder(tmp_path):
    """Only estimates and intervals may differ between two data sets."""
    other = measure(PLAN, np.array([5, 5, 5, 5]), simulate=2)
    ours, theirs = build_manifest(PLAN, ANSWERS), build_manifest(PLAN, other)
    ours.pop("time")
    theirs.pop("time")
    assert ours == theirs
    folder = write_release(ANSWERS, ours, tmp_path / "release")
    table = parquet.read_table(folder / "answers.parquet")
    shown = [*(file.read_bytes() for file in folder.iterdir()), f"{table} {table.to_pylist()}".encode()]
    assert len(shown) == 4
    for number in TRI.answers(COUNTS):  # by this seed no noise makes one of them
        assert all(b"%d" % number not in text for text in shown)
    assert (ANSWERS.standard_errors == other.standard_errors).all()


def test_numbers_are_rounded_where_arithmetic_rounds(tmp_path, subtests):
    for number, error, text in [
        (59.99999999999999, 1.4, "60"),
        (-0.333333333333333, 1.4, "-0.333333333333"),
        (2147483646.9999998, 1.4, "2147483647"),
        (2147483646.123456, 1.4, "2147483646.123456"),
        (12.00000000001, 1e-6, "12.00000000001"),
        (0.0, 1.4, "0"),
    ]:
        with subtests.test(text):
            one = np.array([number])
            answers = Answers(("g",), ("q",), one, np.array([error]), one, one, one, 0.95, True)
            folder = write_release(answers, {}, tmp_path / text)
            assert (folder / "answers.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[2] == text


def test_a_claim_that_protects_nobody_comes_with_a_warning():
    targets = Workload.from_matrix(np.eye(4), targets=1e-4)
    found = plan(targets, Strategy(100 * np.eye(4)), None, absolute=True)
    manifest = build_manifest(found, measure(found, np.arange(4)))
    said = "rho 5000 gives no protection in practice: whether a row is there can be told almost surely"
    assert manifest["private"] is True and manifest["warning"] == said == dict(privacy_rows(found))["warning"]


def test_the_manifest_says_what_a_replaced_row_is_bounded_by():
    for outside, said in (
        ("drop", "largest L2 norm of a difference of two columns, or a column, as a row may be dropped"),
        (
            "refuse",
            "largest L2 norm of a difference of two columns; the number of rows, which no replaced row "
            "changes, is used without noise",
        ),
    ):
        domain = Domain((Attribute("a", ("x", "y"), outside=outside, missing="refuse"),))
        asked = Workload.from_products(domain, [Product((identity(2),))])
        found = plan(asked, Strategy(np.eye(2)), Privacy(rho=1.0), "replace-one")
        assert found.sensitivity_of == said
        one = plan(asked, MarginalStrategy((2,), np.array([0.0, 1.0])), Privacy(rho=1.0), "replace-one")
        assert (
            one.sensitivity_of
            == "upper bound, from the longest column, on the L2 norm of a difference of two"
        )


def test_costs_are_shown_rounded_up():
    for privacy, said in (
        (Privacy(epsilon=1.0000001), "epsilon = 1.00001, pure (delta = 0)"),
        (Privacy(rho=0.5), "rho = 0.5"),
        (Privacy(rho=0.50000049), "rho = 0.500001"),
    ):
        found = plan(TRI, Strategy(np.eye(4), 1 if privacy.is_pure else 2), privacy)
        assert dict(privacy_rows(found))["privacy cost"] == said
    assert "rho 0.500001" in repr(found)
    found = plan(TRI, Strategy(np.eye(4)), Privacy(0.75000049, 1.23456749e-6))
    assert "epsilon 0.750001 at delta 1.23456749e-06" in repr(found)
    assert "epsilon = 0.750001 at delta = 1.23456749e-06" in dict(privacy_rows(found))["privacy cost"]


def test_sensitivity_over_scale_is_the_cost(subtests):
    """Both are of what is drawn, also where that is finer than whole numbers."""
    for form, neighbours, privacy in itertools.product(
        ("cells", "dense", "marginals", "product"),
        ("add-remove", "replace-one"),
        (Privacy(rho=0.5), Privacy(1.0, 1e-6), Privacy(epsilon=1.0)),
    ):
        with subtests.test(f"{form}, {neighbours}, {privacy}"):
            asked, strategy, x = release(form, 1 if privacy.is_pure else 2)
            found = plan(asked, strategy, privacy, neighbours)
            manifest = build_manifest(found, measure(found, x, simulate=1))
            ratio = manifest["strategy"]["sensitivity"] / manifest["noise"]["scale"]
            cost = found.epsilon if privacy.is_pure else found.rho
            assert cost == pytest.approx(ratio if privacy.is_pure else ratio**2 / 2, rel=1e-9)


def test_the_folder_has_the_mode_that_the_process_asks_for(tmp_path):
    before = os.umask(0o027)
    try:
        folder = write_release(ANSWERS, {}, tmp_path / "release")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o750


def test_any_name_that_a_folder_can_have_will_do(tmp_path):
    for name in ("n" * 255, "é" * 127, "\U0001f600" * 63):
        assert write_release(ANSWERS, {}, tmp_path / name).is_dir()


def test_a_folder_that_another_process_made_just_now_is_left_alone(tmp_path, monkeypatch):
    """It has no lock yet; a folder with files has, as long as its process is alive."""
    target, locked = tmp_path / "release", release_writing._lock

    def other_begins(folder):
        monkeypatch.setattr(release_writing, "_lock", locked)
        release_writing._remove_abandoned(target)
        return locked(folder)

    monkeypatch.setattr(release_writing, "_lock", other_begins)
    assert os.listdir(write_release(ANSWERS, {}, target)) and os.listdir(tmp_path) == ["release"]


@pytest.mark.parametrize(
    "fault, said", [(MemoryError(), "MemoryError"), (OSError(27, "File too large"), "File too large")]
)
def test_a_chart_never_costs_the_answers(tmp_path, monkeypatch, fault, said):
    """Neither one that cannot be drawn, nor one that cannot be written."""
    written = release_writing._written

    def fail(path=None, data=None):
        if path is None or path.name == "answers.svg":
            raise fault
        return written(path, data)

    for name, chart in (("drawn", fail), ("written", lambda: b"<svg/>")):
        with monkeypatch.context() as patch:
            patch.setattr(release_writing, "_written", written if name == "drawn" else fail)
            with pytest.warns(UserWarning, match=f"^no chart: it cannot be drawn and written .{said}.$"):
                folder = write_release(ANSWERS, {}, tmp_path / name, {"more.txt": b"more"}, chart)
        files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
        assert sorted([*files, "manifest.json"]) == sorted(os.listdir(folder))
        assert "answers.csv" in files and "more.txt" in files and "answers.svg" not in files
    folder = write_release(ANSWERS, {}, tmp_path / "fine", None, lambda: b"<svg/>")
    files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert files["answers.svg"] == {"sha256": hashlib.sha256(b"<svg/>").hexdigest()}


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "release"

    def killed(source, _):
        """Only what is on disk now remains, and no process holds it."""
        shutil.copytree(source, tmp_path / ".release.89abcdef.partial")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OptionError):
        patch.setattr(os, "rename", killed)
        write_release(ANSWERS, {}, target)
    assert os.listdir(tmp_path) == [".release.89abcdef.partial"]
    other = tmp_path / ".other.0123abcd.partial"  # of another release
    held = tmp_path / ".release.0123abcd.partial"  # of one that is being written
    other.mkdir()
    (other / "answers.csv").touch()
    held.mkdir()
    (held / "answers.csv").touch()
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    write_release(ANSWERS, {}, target)
    os.close(lock)
    assert sorted(os.listdir(tmp_path)) == [other.name, held.name, "release"]


def test_a_release_under_pure_epsilon_says_so():
    found = plan(TRI, Strategy(np.eye(4), 1), Privacy(epsilon=0.5))
    manifest = build_manifest(found, measure(found, np.arange(4), confidence=0.9))
    assert manifest["privacy"] == {
        **build_manifest(PLAN, ANSWERS)["privacy"],
        "guarantee": "pure epsilon",
        "rho": None,
        "epsilon": found.epsilon,
        "delta": 0.0,
        "theorem": found.theorem,
        "sensitivity": "largest L1 norm of a column",
    }
    assert manifest["strategy"]["norm"] == "L1"
    assert manifest["noise"]["kind"] == "discrete Laplace"
    assert manifest["noise"]["sampler"] == "opendp make_laplace"
    coverage = found.intervals(0.9).coverage
    assert manifest["accuracy"]["coverage"] == {
        "least": coverage.min(),
        "largest": coverage.max(),
        "kind": "of the law drawn",
    }
    assert 0.9 <= coverage.min() < coverage.max() < 1


def test_an_existing_target_is_refused_and_untouched(tmp_path, subtests):
    for kind in ["folder", "empty folder", "file", "dangling link"]:
        with subtests.test(kind):
            parent = tmp_path / kind
            target = parent / "release"
            parent.mkdir()
            if kind == "file":
                target.write_text("mine")
            elif kind == "dangling link":
                target.symlink_to(tmp_path / "nowhere")
            else:
                target.mkdir()
                if kind == "folder":
                    (target / "mine").write_text("mine")
            with pytest.raises(OptionError) as caught:
                write_release(ANSWERS, build_manifest(PLAN, ANSWERS), target)
            assert str(caught.value) == (
                f"'{target}' exists already; a release is written to a new folder\n  name another folder"
            )
            assert os.listdir(parent) == ["release"]
            if kind == "folder":
                assert os.listdir(target) == ["mine"]


def test_a_missing_parent_is_refused(tmp_path):
    target = tmp_path / "no" / "release"
    with pytest.raises(OptionError) as caught:
        write_release(ANSWERS, build_manifest(PLAN, ANSWERS), target)
    assert str(caught.value) == (
        f"cannot create '{target}': No such file or directory\n"
        "  its parent must be a folder that you may write to"
    )
    assert os.listdir(tmp_path) == []


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch, subtests):
    target = tmp_path / "release"
    for failure, raised in (
        (OSError(28, "No space left on device"), OptionError),
        (KeyboardInterrupt("stop"), KeyboardInterrupt),
    ):
        with subtests.test(repr(failure)):
            monkeypatch.setattr(os, "rename", mock.Mock(side_effect=failure))
            with pytest.raises(raised) as caught:
                write_release(ANSWERS, build_manifest(PLAN, ANSWERS), target)
            assert str(caught.value) in (f"cannot write '{target}': No space left on device", "stop")
            assert os.listdir(tmp_path) == []


def test_a_manifest_that_is_not_json_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_release(ANSWERS, {"rho": math.nan}, tmp_path / "release")
    assert os.listdir(tmp_path) == []


def test_a_manifest_key_cannot_be_replaced():
    with pytest.raises(OptionError) as caught:
        build_manifest(PLAN, ANSWERS, privacy="none")
    assert str(caught.value) == "the manifest already has a 'privacy'\n  choose another key"
