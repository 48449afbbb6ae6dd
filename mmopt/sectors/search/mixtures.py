"""Mixtures of a few products of measures: classes of cells, in each of which the attributes are independent.

One product knows no bonds between attributes, and a single cell knows nothing else; a mixture of some
twenty products has bonds of all pairs at once. Weights and measures are the softmax of logits. With f of the
mixture, whose integral is 1, and w_c, p_c its parts,

    ∂ log t / ∂ logit of w_c = w_c (mean of f in c, less 1) / 2
    ∂ log t / ∂ logit of p_c(x_i) = w_c p_c(x_i) (mean of f in c at x_i, less the mean in c) / 2

which L-BFGS follows. t is concave in the measure, not in the logits: what is found is a measure like any
other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from mmopt.numerics.arrays import Array
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.search.spectrum import Spectrum, spectrum

__all__ = ["COUNT", "logit_slopes", "mixtures_of_rising_t"]

COUNT = 24
WAVES, HEIGHT = 4, 0.3  # of the logits that tell the parts apart to begin with
LEAST_LOGIT = -40.0
FIRST_STEPS, STEPS = 10, 40  # before the first mixture, and between two
REMEMBERED = 20
LEAST_RISE = 1e-6  # of t² in so many steps


def mixtures_of_rising_t(
    space: RowSpace, product: Mixture, rng: np.random.Generator
) -> Iterator[tuple[Mixture, Spectrum]]:
    """Mixtures of ``COUNT`` products near the one given, of rising t; ends where it rises no more."""
    logits = [np.zeros(COUNT), *(np.log(own) + _waves(own.shape[1], rng) for own in product.factors)]
    place, before = np.concatenate([np.maximum(own, LEAST_LOGIT).ravel() for own in logits]), 0.0
    while True:
        found = minimize(
            lambda place: logit_slopes(space, place),
            place,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": STEPS if before else FIRST_STEPS,
                "maxcor": REMEMBERED,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        place = found.x
        mixture = _mixture(space, place)
        at = spectrum(space, space.moments(mixture))
        yield mixture, at
        if at.bound <= before * (1.0 + LEAST_RISE):
            return
        before = at.bound


def logit_slopes(space: RowSpace, place: Array) -> tuple[float, Array]:
    """-log t of the mixture with these logits, and its slopes, as they are given.

    place : (COUNT + COUNT Σo,) the logits of the weights, then of each attribute's measures, part by part.
    """
    mixture = _mixture(space, place)
    found = spectrum(space, space.moments(mixture))
    weights, means = mixture.weights, space.means(mixture, found.parts)
    each = [(own * mean).sum(axis=1) for own, mean in zip(mixture.factors, means, strict=True)]
    slopes = [weights * (each[0] - 1.0)]
    for own, mean, total in zip(mixture.factors, means, each, strict=True):
        slopes.append((weights[:, None] * own * (mean - total[:, None])).ravel())
    return -float(np.log(found.total)), -0.5 * np.concatenate(slopes)


def _mixture(space: RowSpace, place: Array) -> Mixture:
    tops = COUNT * np.cumsum([1, *space.shape])[:-1]
    first, *each = np.split(place, tops)
    return Mixture(_softmax(first), tuple(_softmax(own.reshape(COUNT, -1)) for own in each))


def _softmax(logits: Array) -> Array:
    values = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def _waves(count: int, rng: np.random.Generator) -> Array:
    """(COUNT, count) a few random waves along the values each."""
    places = np.pi * np.linspace(-0.5, 0.5, count)
    heights, phases = rng.normal(size=(2, COUNT, WAVES, 1))
    turns = np.arange(1, WAVES + 1)[:, None]
    return np.asarray(HEIGHT * (heights * np.cos(turns * places + 2 * np.pi * phases)).sum(axis=1))
