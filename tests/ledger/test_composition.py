"""The cost of many releases together (account.py), and its words (privacy_ledger.py): by hand."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from mmopt.errors import PrivacyError
from mmopt.ledger.account import (
    Account,
    Entry,
    Terms,
    above,
    below,
    cost_in,
    epsilon_of,
    left,
    left_for_new_part,
    shown,
    spent,
)
from mmopt.ledger.privacy_ledger import explanation
from mmopt.privacy.epsilon_delta_rho import within_decimal, zcdp_epsilon

COSTS = st.floats(min_value=0, max_value=1e3, allow_nan=False)
PARTS = st.sampled_from([None, "a", "b", "c"])


def entries(drawn: list[tuple[float, str | None]]) -> list[Entry]:
    return [Entry(i, "", Fraction(cost), "", "", part) for i, (cost, part) in enumerate(drawn, 1)]


def terms(total: float, measure: str = "rho", partition: str | None = "p") -> Terms:
    return Terms("people", measure, Fraction(total), "add-remove", partition, Fraction(total), "")


@pytest.mark.quick
@given(st.lists(st.tuples(COSTS, PARTS), max_size=12), st.randoms())
def test_what_counts_is_the_largest_sum_over_the_parts_in_any_order(drawn, shuffled):
    """For a row in part v all releases of the whole table and of v count."""
    rows = entries(drawn)
    of_row = {
        v: sum((Fraction(cost) for cost, part in drawn if part in (None, v)), Fraction(0))
        for v in ("a", "b", "c", "a row of none of these")
    }
    assert spent(rows, None) == max(of_row.values())
    for part in ("a", "b", "c"):
        assert spent(rows, part) == of_row[part]
    account = Account(terms(5e3), rows)
    assert left(account) == 5000 - max(of_row.values())
    assert left_for_new_part(account) == 5000 - of_row["a row of none of these"]
    shuffled.shuffle(rows)
    assert spent(rows, None) == max(of_row.values())


@given(st.lists(st.tuples(COSTS, PARTS), max_size=30), st.floats(min_value=1e-3, max_value=1e3))
def test_charges_that_are_allowed_never_pass_the_total(drawn, total):
    """Each is allowed if it is at most what is left: then every row's sum stays within the total, exactly."""
    kept: list[Entry] = []
    for entry in entries(drawn):
        if entry.spent <= left(Account(terms(total), kept), entry.part):
            kept.append(entry)
    for v in ("a", "b", "c"):
        assert sum((e.spent for e in kept if e.part in (None, v)), Fraction(0)) <= Fraction(total)


@pytest.mark.quick
@given(COSTS)
def test_costs_are_exact(cost):
    assert cost_in("rho", cost, None) == Fraction(cost)
    assert cost_in("epsilon", None, cost) == Fraction(cost)
    assert cost_in("rho", None, cost) == Fraction(cost) ** 2 / 2
    third = Fraction(cost) / 3
    assert Fraction(repr(below(third))) <= third or below(third) <= third
    assert third <= above(third)
    assert below(Fraction(cost)) == cost == above(Fraction(cost))
    assert below(Fraction(repr(cost))) == cost  # a total is shown as it was stated


def test_ten_tenths_are_more_than_one():
    """In doubles 0.1 is a little more than a tenth, and a sum of doubles would be 0.9999999999999999."""
    assert sum([0.1] * 10) < 1 < sum([cost_in("rho", 0.1, None)] * 10)
    assert sum([cost_in("rho", within_decimal(0.1), None)] * 10) < 1


@given(
    st.lists(
        st.tuples(st.decimals(min_value="0.001", max_value=10, places=3), PARTS), min_size=1, max_size=40
    )
)
def test_stated_decimals_fit_into_their_sum(drawn):
    """Noise for the largest double within a decimal is charged at most that double, in each measure."""
    costs = [(Fraction(str(c)), within_decimal(float(c)), part) for c, part in drawn]
    for measure, in_epsilon in (("epsilon", True), ("rho", False), ("rho", True)):
        kept: list[Entry] = []
        whole = [c**2 / 2 if in_epsilon and measure == "rho" else c for c, _, _ in costs]
        total = max(
            sum((c for c, (_, _, part) in zip(whole, costs, strict=True) if part in (None, v)), Fraction(0))
            for v in ("a", "b", "c")
        )
        account = Account(Terms("people", measure, total, "add-remove", "p", total, ""), kept)
        for i, (stated, double, part) in enumerate(costs):
            charged = cost_in(measure, None if in_epsilon else double, double if in_epsilon else None)
            assert Fraction(double) <= stated and charged <= whole[i] <= charged * (1 + Fraction(1, 2**50))
            assert charged <= left(account, part)
            kept.append(Entry(i, "", charged, "", "", part))


@pytest.mark.quick
@given(st.fractions(min_value=0, max_value=1000))
def test_what_is_left_can_be_spent(rest):
    """A release at the double that is shown as left is charged no more than is left."""
    assert Fraction(within_decimal(below(rest))) <= rest


@pytest.mark.quick
def test_gaussian_noise_has_no_epsilon():
    with pytest.raises(PrivacyError) as caught:
        cost_in("epsilon", 0.5, 1.0)
    assert str(caught.value) == (
        "the ledger counts pure epsilon, and this release has Gaussian noise (rho 0.5), which satisfies "
        "none\n  release with Laplace noise: privacy {epsilon: …} without a delta; or use a ledger of rho"
    )


def test_a_cost_that_is_none_is_refused(subtests):
    for cost in [float("inf"), float("nan"), -1.0]:
        with subtests.test(str(cost)):
            for measure, given_rho in (("rho", cost), ("epsilon", None)):
                with pytest.raises(PrivacyError) as caught:
                    cost_in(measure, given_rho, cost)
                assert str(caught.value) == f"the release costs {cost!r}, which no ledger can add up"


@pytest.mark.quick
def test_what_is_spent_is_shown_rounded_up_and_what_is_left_down():
    third = Fraction(1, 3)
    assert (shown(third), shown(third, is_left=True), shown(Fraction(0.1))) == ("0.333334", "0.333333", "0.1")
    little = Fraction(1, 10**30)  # less than doubles tell
    assert shown(Fraction(1, 2) + little) == "0.500001"
    assert shown(Fraction(1, 2) - little, is_left=True) == "0.499999"
    assert (shown(Fraction(2.0**-53), is_left=True), shown(Fraction(2.0**-53))) == ("0", "1.11023e-16")


@pytest.mark.quick
def test_the_epsilon_of_a_rho_is_that_of_the_double_above():
    rhos = [Fraction(1, 3), Fraction(10**6, 3), Fraction(1, 10)]
    doubles = [above(rho) for rho in rhos]
    assert all(Fraction(double) > rho for double, rho in zip(doubles, rhos, strict=True))
    assert [epsilon_of(rho, 1e-6) for rho in rhos] == [zcdp_epsilon(double, 1e-6) for double in doubles]


def test_an_explanation_names_the_theorems_and_the_epsilon():
    text = "\n".join(explanation(Account(terms(0.5), entries([(0.25, None), (0.125, "a")]))))
    for words in ("Lemma 1.7", "Proposition 1.4", "McSherry 2009", "Feldman and Zrnic", "rho 0.5 in all"):
        assert words in text
    assert epsilon_of(Fraction(0.375), 1e-6) == zcdp_epsilon(0.375, 1e-6)
    assert (
        f"rho 0.375, amounts to (epsilon, delta) = ({shown(Fraction(zcdp_epsilon(0.375, 1e-6)))}, 1e-06)"
        in text
    )
    pure = "\n".join(explanation(Account(terms(1.0, "epsilon", None), entries([(0.25, None)]))))
    assert "basic composition" in pure and "delta = 0" in pure
    assert "Lemma 1.7" not in pure and "parallel" not in pure
