"""Sets of neighbours: their words, and the sensitivity to each against all changes, one by one.

Guards privacy/rounding/norms_and_measured_integers.py, protocol_and_dense_strategy.py.
"""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from flint import arb
from judge import balls, neighbourhoods

from mmopt import Workload
from mmopt.errors import OptionError, PrivacyError
from mmopt.language.syntax.program import NEIGHBOURHOODS
from mmopt.privacy.rounding.norms_and_measured_integers import bound_by_column, squared_sensitivity
from mmopt.request import workload_file_and_arguments
from mmopt.results.saved_fields import pack, plain, read_npz, restored_strategy, unpack, write_npz
from mmopt.strategies import ADD_REMOVE, Neighbours, Strategy, neighbours, normalise
from mmopt.workloads import Attribute, Domain, Product
from mmopt.workloads.domain import Values
from mmopt.workloads.factors_and_products import identity, prefix
from tests.numerics.test_participation import patterns

SETS: dict[str, Any] = {
    "add-remove": "add-remove",
    "replace-one": "replace-one",
    "rows 3": {"rows": 3},
    "participation separation 2 at most 3": {"participation": {"separation": 2, "at_most": 3}},
}


def stream(n: int, rule: str = "drop") -> Workload:
    """Prefix sums over n steps; what happens to rows without one is said."""
    step = Attribute("step", tuple(map(str, range(n))), outside=rule, missing=rule)
    return Workload.from_products(Domain((step,)), [Product((prefix(n),))])


def changes(name: str, n: int, drops: bool) -> list[np.ndarray]:
    """All changes of counts between neighbours, with every sign."""
    cells = list(np.eye(n, dtype=np.int64))
    if name == "add-remove":
        return cells
    if name == "replace-one":
        moved = [a - b for a, b in itertools.permutations(cells, 2)]
        return [*moved, *(cells if drops else [np.zeros(n, dtype=np.int64)])]
    if name == "rows 3":
        found = [sum(own) for own in itertools.combinations_with_replacement(cells, 3)]
        return [*found, *(a + b - c for a, b, c in itertools.product(cells, repeat=3))]
    assert name == "participation separation 2 at most 3"
    found = []
    for steps in patterns(n, 2, 3):
        for signs in itertools.product((-1, 1), repeat=len(steps)):
            found.append(np.zeros(n, dtype=np.int64))
            found[-1][list(steps)] = signs
    return found


def test_every_list_has_every_kind() -> None:
    kinds = get_args(neighbours.Kind)
    assert tuple(Neighbours.of(said).kind for said in SETS.values()) == kinds
    assert kinds == NEIGHBOURHOODS
    assert tuple(re.findall(r"'([a-z-]+)'", neighbours._FORMS)[: len(kinds)]) == kinds
    assert tuple(re.findall(r"[a-z-]+", form)[0] for form in workload_file_and_arguments._NEIGHBOURS) == kinds
    numbered = [next(iter(said)) for said in SETS.values() if isinstance(said, dict)]
    assert tuple(numbered) == workload_file_and_arguments._OF_A_PERSON


ASKED: dict[str, Callable[[Neighbours], object]] = {
    "name": str,
    "words": lambda fifth: fifth.words,
    "times": lambda fifth: fifth.times,
    "over": lambda fifth: fifth.over(stream(3)),
    "sensitivity": lambda fifth: fifth.sensitivity(np.eye(3), 2),
    "share": lambda fifth: fifth.share(np.ones(3)),
    "integers": lambda fifth: squared_sensitivity(np.eye(3, dtype=np.int64), 2, fifth),
    "by column": lambda fifth: bound_by_column(1, 2, fifth, is_nonnegative=True),
    "made": replace,
}


@pytest.mark.quick
def test_a_kind_that_nothing_is_written_for_has_no_figures(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be taken for one of the others."""
    monkeypatch.setattr(neighbours, "get_args", lambda kinds: (*get_args(kinds), "fifth"))
    fifth = Neighbours()
    object.__setattr__(fifth, "kind", "fifth")
    for asked, call in ASKED.items():
        with subtests.test(asked), pytest.raises((AssertionError, KeyError), match="'fifth'"):
            call(fifth)


def test_words_and_mappings_say_the_same(subtests: pytest.Subtests) -> None:
    for name in SETS:
        with subtests.test(name=name):
            found = Neighbours.of(SETS[name])
            assert str(found) == name and Neighbours.of(name) == found == Neighbours.of(found)
            assert eval(repr(found)) == found
            assert found.words.startswith(f"{name}: tables that differ by ")
            assert found.words.endswith("not checked") == (name not in ("add-remove", "replace-one"))


@pytest.mark.quick
def test_the_sensitivity_is_that_of_the_set(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm, rule, name in itertools.product([1, 2], ["drop", "refuse"], SETS):
        with subtests.test(norm=norm, rule=rule, name=name):
            for is_total in (False, True):
                n = int(rng.integers(2, 6))
                workload, neighbours = stream(n, rule), Neighbours.of(name)
                matrix = rng.normal(size=(3, n)) * rng.choice([0.0, 1.0], (3, n))
                if is_total:  # replaced rows move nothing, one that is left out does
                    matrix = np.repeat(rng.normal(size=(3, 1)), n, axis=1)
                strategy = Strategy(matrix, norm)
                found = strategy.sensitivity_to(neighbours.over(workload))
                moved = [strategy.matrix @ change for change in changes(name, n, rule == "drop")]
                sizes = [np.linalg.norm(one, norm) for one in moved]
                assert max(sizes) <= found * (1 + 1e-12) + 1e-150
                if name != "participation separation 2 at most 3":
                    assert found == pytest.approx(max(sizes), rel=1e-12)
                own = Strategy(strategy.matrix, norm, neighbours.over(workload))
                assert own.sensitivity == found
                assert neighbours.over(workload).sensitivity(strategy.matrix, norm) == found
                if found > 1e-100:
                    scaled = normalise(own)
                    assert 1 - 1e-12 <= scaled.sensitivity <= 1 and scaled.neighbours == own.neighbours
                    squared = scaled.total_error(workload) / scaled.sensitivity**2
                    assert scaled.squared_error(workload) == squared


def test_the_judge_finds_the_same(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for name, rule in itertools.product(SETS, ["drop", "refuse"]):
        with subtests.test(name=name, rule=rule):
            fields = Neighbours.of(name).over(stream(4, rule)).fields()
            strategy = Strategy(rng.normal(size=(3, 4)), 2, Neighbours(**fields))
            rows = balls.matrix(strategy.matrix)
            judged = neighbourhoods.sensitivity_to(fields, rows, 2)
            assert strategy.sensitivity == pytest.approx(float(judged.mid()), rel=1e-12)
            bound = float(neighbourhoods.bound_for(fields, arb(1), [arb(1)] * 4).mid())
            mean = np.square(strategy.matrix).sum() / 4
            assert bound * mean <= strategy.sensitivity**2 * (1 + 1e-12)
            assert (bound == 0.0) == (name == "replace-one" and rule == "refuse")
            with pytest.raises(AssertionError, match="fifth"):
                neighbourhoods.sensitivity_to({**fields, "kind": "fifth"}, rows, 2)
            with pytest.raises(AssertionError, match="fifth"):
                neighbourhoods.bound_for({**fields, "kind": "fifth"}, arb(1), [])


@pytest.mark.quick
def test_a_bound_on_columns_is_one_on_every_set(rng: np.random.Generator) -> None:
    """``share``: what is known of a weighted mean of squared columns is known of the sensitivity."""
    for _ in range(3):
        n = int(rng.integers(1, 7))
        d = rng.uniform(0, 1, n) * rng.choice([0.0, 1.0], n) + 1e-9
        kinds = [*SETS.values(), {"participation": {"separation": int(rng.integers(1, 5)), "at_most": 2}}]
        for said, rule in itertools.product(kinds, ("drop", "refuse")):
            neighbours = Neighbours.of(said).over(stream(n, rule))
            part = neighbours.share(d)
            one = rng.permutation(np.eye(n))[:1]
            for matrix in (rng.normal(size=(3, n)), np.eye(n), np.ones((1, n)), one):
                mean = (d @ np.square(matrix).sum(axis=0)) / d.sum()
                assert part * mean <= Strategy(matrix, 2, neighbours).sensitivity ** 2 * (1 + 1e-12)
        assert Neighbours.of("rows 3").share(d) == 9.0
    # Two steps of four that are two apart: {0, 2} and {1, 3} cover all.
    apart = Neighbours.of("participation separation 2 at most 2")
    assert apart.share(np.ones(4)) == pytest.approx(2.0, rel=1e-11)


def test_saved_and_back(subtests: pytest.Subtests, tmp_path) -> None:
    for name in SETS:
        with subtests.test(name):
            strategy = Strategy(np.eye(3), 2, Neighbours.of(name).over(stream(3)))
            assert ("neighbours" in strategy.fields()) == (name != "add-remove")
            path = write_npz(*pack({"strategy": plain(strategy)}), tmp_path / "one.npz")
            found = restored_strategy(unpack(*read_npz(path))["strategy"])
            assert found.neighbours == strategy.neighbours and found.sensitivity == strategy.sensitivity


WANTED = (
    "expected 'add-remove', 'replace-one', {'rows': k} or {'participation': {'separation': b, 'at_most': k}}"
    "\n  in words 'rows 3', 'rows 3 of each person' (a column) or 'participation separation 4 at most 2'"
)
COUNTS = "\n  it counts the rows, or the steps, of one person"


def test_what_is_no_set_is_refused(subtests: pytest.Subtests) -> None:
    apart = {"participation": {"separation": 0, "at_most": 2}}
    many = {"participation": {"separation": 1, "at_most": 2**21}}
    for value, message in [
        *(
            (own, f"neighbours is {own!r}, {WANTED}")
            for own in ("rows", "rows many", "rows ²", "rows " + 19 * "9", 3)
        ),
        ({"rows": 3, "participation": 2}, f"neighbours is {{'rows': 3, 'participation': 2}}, {WANTED}"),
        ({"participation": {"at_most": 2}}, f"neighbours is {{'participation': {{'at_most': 2}}}}, {WANTED}"),
        ({"rows": 2.5}, "'rows' of neighbours is 2.5, expected a whole number"),
        ({"rows": True}, "'rows' of neighbours is True, expected a whole number"),
        ({"rows": 0}, f"'rows' of neighbours is 0, expected 1 to 1,048,576{COUNTS}"),
        (apart, f"'separation' of neighbours is 0, expected 1 to 1,048,576{COUNTS}"),
        (many, f"'at_most' of neighbours is 2097152, expected 1 to 1,048,576{COUNTS}"),
    ]:
        with subtests.test(value=value):
            with pytest.raises(OptionError) as error:
                Neighbours.of(value)
            assert str(error.value) == message


@pytest.mark.quick
def test_steps_are_those_of_one_attribute() -> None:
    two = Domain((Attribute("step", ("0", "1")), Attribute("sex", ("F", "M"))))
    workload = Workload.from_products(two, [Product((identity(2), identity(2)))])
    with pytest.raises(PrivacyError) as error:
        Neighbours.of("participation separation 1 at most 2").over(workload)
    assert str(error.value) == (
        "a participation is one in steps, the cells of one attribute; there are 2 attributes (step, sex)\n"
        "  ask about the steps alone, or write 'neighbours: {rows: k}' for persons with k rows"
    )
    assert Neighbours.of("rows 2").over(workload) == Neighbours.of("rows 2")


@pytest.mark.quick
def test_a_cell_that_is_no_step_is_refused(subtests: pytest.Subtests) -> None:
    """Rows there are as far from those of the last step as the order of the cells happens to say."""
    for key in ["missing", "outside"]:
        with subtests.test(key=key):
            steps = Attribute("step", ("0", "1", "other"), encoding=Values(("0", "1")), **{key: "other"})
            workload = Workload.from_products(Domain((steps,)), [Product((prefix(3),))])
            with pytest.raises(PrivacyError) as error:
                Neighbours.of("participation separation 1 at most 2").over(workload)
            assert str(error.value) == (
                "a participation is one in steps, the cells of 'step' in order; its cell 'other' takes rows "
                f"that are in no step ({key})\n  write '{key}: drop' or '{key}: refuse', or "
                "'neighbours: {rows: k}' for persons with k rows"
            )
            assert Neighbours.of("rows 2").over(workload) == Neighbours.of("rows 2")


@pytest.mark.quick
def test_a_forged_set_in_a_file_is_an_error(subtests: pytest.Subtests) -> None:
    for forged, message in [
        ({"kind": "none"}, f"neighbours is 'none', {WANTED.splitlines()[0]}"),
        ({"kind": "rows", "at_most": 0}, f"'rows' of neighbours is 0, expected 1 to 1,048,576{COUNTS}"),
        ({"kind": "add-remove", "at_most": 2}, "'at_most' of neighbours is 2, but add-remove has none"),
        ({"kind": "replace-one", "at_most": 2}, "'at_most' of neighbours is 2, but replace-one has none"),
        ({"kind": "rows", "separation": 2}, "'separation' of neighbours is 2, but rows has none"),
        ({"kind": "replace-one", "may_drop": 0}, "'may_drop' of neighbours is 0, expected True or False"),
        *(
            ({"kind": kind, "may_drop": True}, f"'may_drop' of neighbours is True, but {kind} has none")
            for kind in ("add-remove", "rows", "participation")
        ),
    ]:
        with subtests.test(forged=forged):
            with pytest.raises(OptionError) as error:
                Strategy.from_fields({"matrix": np.eye(2), "norm": 2, "neighbours": forged})
            assert str(error.value) == message
            assert Strategy(np.eye(2)).neighbours is ADD_REMOVE


def test_rows_that_may_be_dropped_need_a_rule_that_drops_them() -> None:
    kept, dropped = (
        Workload.from_products(
            Domain((Attribute("a", ("x", "y"), outside=rule, missing="refuse"),)), [Product((identity(2),))]
        )
        for rule in ("refuse", "drop")
    )
    stated = Neighbours("replace-one", may_drop=True)
    assert stated.over(dropped) == stated == Neighbours("replace-one").over(dropped)
    assert not Neighbours("replace-one").over(kept).may_drop
    with pytest.raises(PrivacyError, match="no rule of the workload drops rows"):
        stated.over(kept)
