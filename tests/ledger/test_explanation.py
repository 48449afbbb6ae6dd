"""The words of a ledger: theorems of its measure alone, and figures of its sums."""

from __future__ import annotations

from fractions import Fraction

import pytest
from ledger.test_composition import entries, terms

from mmopt.ledger.account import Account
from mmopt.ledger.composition import epsilon_of, shown
from mmopt.ledger.explanation import explanation
from mmopt.privacy.guarantee import zcdp_epsilon


@pytest.mark.quick
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
