"""The plan of a saved release: that what its files say follows from it."""

from __future__ import annotations

import json

import pytest
from answers.test_read_folder import CHANGED, changed
from answers.test_release_result import ASKED, released

from mmopt.answers import load_release
from mmopt.errors import ResultError


def test_another_strategy_than_was_measured_is_not_believed(tmp_path):
    folder = released(3).save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    own, manifest["strategy"]["hash"] = manifest["strategy"]["hash"], "0" * 64
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResultError) as caught:
        load_release(folder, ASKED)
    assert str(caught.value) == (
        f"the strategy in '{folder}' gives other integers than were measured: their hash is {own[:16]}…, the "
        f"manifest says {'0' * 16}…\n"
        f"  it was released by mmopt {manifest['versions']['mmopt']}, on other versions of libraries"
    )


@pytest.mark.quick
@pytest.mark.parametrize("times", [0.5, 2.0])
def test_with_the_workload_the_claim_is_computed_again_from_the_noise(tmp_path, times):
    found = released()
    folder = found.save(tmp_path / "out")
    noise = found.manifest["noise"]
    changed(folder, noise={**noise, "scale": noise["scale"] * times})
    assert load_release(folder).plan is None
    with pytest.raises(ResultError) as caught:
        load_release(folder, ASKED)
    rho = found.manifest["privacy"]["rho"]
    problem = {
        0.5: f"this noise costs rho {4 * rho!r}, the release claims {rho!r}",
        2.0: "the noise of its manifest has other standard errors than its answers",
    }
    assert str(caught.value) == f"'{folder}' contradicts itself: {problem[times]}{CHANGED}"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("part", "name", "told"),
    [
        ("strategy", "sensitivity", 1.0),
        ("strategy", "norm", "L1"),
        ("strategy", "parts", []),
        ("strategy", "rows", 1),
        ("privacy", "theorem", "magic"),
        ("privacy", "sensitivity", "none"),
        ("privacy", "not_covered", ""),
        ("privacy", "scaled", "down"),
    ],
)
def test_with_the_workload_whatever_follows_from_the_plan_is_compared(tmp_path, part, name, told):
    folder = released().save(tmp_path / "out")
    block = json.loads((folder / "manifest.json").read_text())[part]
    assert load_release(folder, ASKED).plan is not None
    changed(folder, **{part: {**block, name: told}})
    with pytest.raises(ResultError) as caught:
        load_release(folder, ASKED)
    start = f"'{folder}' contradicts itself: {part} {name} is {told!r} by its manifest, "
    assert str(caught.value).startswith(start) and str(caught.value).endswith(CHANGED)
