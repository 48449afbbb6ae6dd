"""Privacy parameters that protect nobody are refused, or named, in these words.

Guards epsilon_delta_rho.py.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from mmopt.errors import PrivacyError
from mmopt.privacy import Privacy
from mmopt.privacy.epsilon_delta_rho import privacy_warning


def test_valid() -> None:
    assert str(Privacy(epsilon=1.0, delta=1e-6)) == "epsilon = 1, delta = 1e-06"
    assert str(Privacy(rho=0.5)) == "rho = 0.5 (zCDP)"
    assert str(Privacy(epsilon=1.0)) == "epsilon = 1"
    assert [p.is_pure for p in (Privacy(1.0), Privacy(1.0, 1e-6), Privacy(rho=1.0))] == [True, False, False]


PURE = "for pure epsilon (Laplace noise) leave delta out"
BOTH = "give epsilon, epsilon with delta, or rho"
NOTHING = "it protects nobody"
USUAL = "a usual delta is well below 1 / (number of rows), such as 1.0e-6"


def test_refused(subtests: pytest.Subtests) -> None:
    for given, message, hint in [
        ({}, "no privacy parameter is given", BOTH),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0, not 0.0", ""),
        ({"delta": 1e-6}, "delta (1e-06) is given without epsilon", BOTH),
        ({"epsilon": 1.0, "rho": 0.5}, "both rho (0.5) and epsilon (1.0) are given", BOTH),
        ({"delta": 0.1, "rho": 0.5}, "both rho (0.5) and delta (0.1) are given", BOTH),
        ({"epsilon": 0.0, "delta": 0.1}, "epsilon must be a finite number > 0, not 0.0", ""),
        ({"epsilon": -1.0, "delta": 0.1}, "epsilon must be a finite number > 0, not -1.0", ""),
        ({"epsilon": math.nan, "delta": 0.1}, "epsilon must be a finite number > 0, not nan", ""),
        ({"epsilon": math.inf, "delta": 0.1}, "epsilon must be a finite number > 0, not inf", ""),
        ({"epsilon": "1"}, "epsilon must be a number, not '1'", ""),
        ({"epsilon": True}, "epsilon must be a number, not True", ""),
        ({"rho": 0.0}, "rho must be a finite number > 0, not 0.0", ""),
        ({"rho": math.inf}, "rho must be a finite number > 0, not inf", ""),
        ({"epsilon": 1e308, "delta": 1e-6}, "epsilon must be at most 10000, not 1e+308", NOTHING),
        ({"rho": 10001.0}, "rho must be at most 10000, not 10001.0", NOTHING),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must lie strictly between 0 and 1, not be 0.0", PURE),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must lie strictly between 0 and 1, not be 1.0", USUAL),
        ({"epsilon": 1.0, "delta": -0.5}, "delta must lie strictly between 0 and 1, not be -0.5", USUAL),
        ({"epsilon": 1.0, "delta": math.nan}, "delta must lie strictly between 0 and 1, not be nan", USUAL),
    ]:
        with subtests.test(given=given):
            with pytest.raises(PrivacyError) as caught:
                Privacy(**given)
            assert caught.value.message == message
            assert caught.value.hint == hint


def test_parameters_that_protect_nobody_are_named(subtests: pytest.Subtests) -> None:
    for privacy, said in [
        (Privacy(epsilon=20.0), ()),
        (Privacy(epsilon=20.0, delta=1e-3), ()),
        (Privacy(rho=10.0), ()),
        (
            Privacy(21.0),
            ("epsilon 21", "the odds of a guess at a row may change by a factor of exp(epsilon)"),
        ),
        (Privacy(1.0, 0.5), ("delta 0.5", "with that chance a row may be published as it is")),
        (Privacy(rho=11.0), ("rho 11", "whether a row is there can be told almost surely")),
    ]:
        with subtests.test(privacy=privacy):
            found = privacy_warning(privacy.epsilon, privacy.delta, privacy.rho)
            assert found == " gives no protection in practice: ".join(said)


def test_numbers_of_numpy() -> None:
    assert Privacy(epsilon=np.float32(0.5), delta=np.float64(1e-6)) == Privacy(epsilon=0.5, delta=1e-6)


@dataclass(frozen=True)
class Asked:
    """A stand-in for a Request: it has a privacy, or None."""

    privacy: Privacy | None


def test_privacy_of_what_says_it() -> None:
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    assert Privacy.of(privacy) is privacy
    assert Privacy.of({"epsilon": 1, "delta": 1e-6}) == privacy
    assert Privacy.of(MappingProxyType({"rho": 0.5})) == Privacy(rho=0.5)
    assert Privacy.of(Asked(privacy)) is privacy


WRITE = "\n  write Privacy(epsilon=1.0), or {'epsilon': 1.0, 'delta': 1e-6}"
OF_WHAT = (
    "privacy is the number {0}, and does not say of what\n"
    "  write Privacy(epsilon={0}), Privacy(epsilon={0}, delta=1e-6) or Privacy(rho={0})"
)


def test_what_is_no_privacy(subtests: pytest.Subtests) -> None:
    for value, text in [
        (1, OF_WHAT.format(1.0)),
        (np.float64(0.5), OF_WHAT.format(0.5)),
        (
            {"epsilom": 1},
            "privacy has no parameter 'epsilom', expected epsilon, delta, rho\n  did you mean 'epsilon'?",
        ),
        ({"neighbours": 1}, f"privacy has no parameter 'neighbours', expected epsilon, delta, rho\n  {BOTH}"),
        ({1: 1}, f"privacy has no parameter 1, expected epsilon, delta, rho\n  {BOTH}"),
        ({}, f"no privacy parameter is given\n  {BOTH}"),
        ({"epsilon": "1"}, "epsilon must be a number, not '1'"),
        ({"delta": 1e-6}, f"delta (1e-06) is given without epsilon\n  {BOTH}"),
        (None, f"no privacy is given{WRITE}"),
        ("epsilon=1", f"the text 'epsilon=1' is no privacy{WRITE}"),
        ((1.0, 1e-6), f"a tuple is no privacy{WRITE}"),
        (Asked(None), f"the Asked asks for no privacy{WRITE}"),
    ]:
        with subtests.test(value=value):
            with pytest.raises(PrivacyError) as caught:
                Privacy.of(value)
            assert str(caught.value) == text
