from __future__ import annotations

import math

import numpy as np
import pytest

from mmopt.errors import PrivacyError
from mmopt.privacy import Privacy
from mmopt.privacy.privacy_parameters import privacy_warning


def test_valid() -> None:
    assert str(Privacy(epsilon=1.0, delta=1e-6)) == "epsilon = 1, delta = 1e-06"
    assert str(Privacy(rho=0.5)) == "rho = 0.5 (zCDP)"
    assert str(Privacy(epsilon=1.0)) == "epsilon = 1"
    assert [p.is_pure for p in (Privacy(1.0), Privacy(1.0, 1e-6), Privacy(rho=1.0))] == [True, False, False]


PURE = "for pure epsilon (Laplace noise) leave delta out"
BOTH = "give epsilon, epsilon with delta, or rho"
NOTHING = "it protects nobody"
USUAL = "a usual delta is well below 1 / (number of rows), such as 1.0e-6"


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
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
    ],
)
def test_refused(given: dict[str, float], message: str, hint: str) -> None:
    with pytest.raises(PrivacyError) as caught:
        Privacy(**given)
    assert caught.value.message == message
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        (Privacy(epsilon=20.0), ()),
        (Privacy(epsilon=20.0, delta=1e-3), ()),
        (Privacy(rho=10.0), ()),
        (
            Privacy(epsilon=21.0),
            ("epsilon 21", "the odds of a guess at a row may change by a factor of exp(epsilon)"),
        ),
        (Privacy(1.0, 0.5), ("delta 0.5", "with that chance a row may be published as it is")),
        (Privacy(rho=11.0), ("rho 11", "whether a row is there can be told almost surely")),
    ],
)
def test_parameters_that_protect_nobody_are_named(privacy: Privacy, said: tuple[str, ...]) -> None:
    found = privacy_warning(privacy.epsilon, privacy.delta, privacy.rho)
    assert found == " is no protection in practice: ".join(said)


def test_numbers_of_numpy() -> None:
    assert Privacy(epsilon=np.float32(0.5), delta=np.float64(1e-6)) == Privacy(epsilon=0.5, delta=1e-6)
