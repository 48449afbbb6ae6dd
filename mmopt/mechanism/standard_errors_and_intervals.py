"""Standard errors of the estimates of queries, and intervals that hold the truth with some probability.

All estimates are linear in one vector of k noisy answers that determines one estimate of B x, so they
are consistent: a linear relation between queries holds between their estimates. The error of an estimate
is Σ a_j z_j with the drawn noise z and coefficients a that are independent of the data: its standard error
and its interval follow from the law of the noise.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from statistics import NormalDist

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.noise import Noise
from mmopt.privacy.rounding.integer_dense import common_step
from mmopt.privacy.rounding.norms_and_measured_integers import Measured, finer
from mmopt.workloads.factors_and_products import LEAST_MISSED

_MOST_COEFFICIENTS = 2**21  # of queries or cells by measured rows, up to which each query has its own width
# The largest distance, in probability, at which drawn noise is taken for normal noise.
NEARLY_NORMAL = 1e-6

_SAME = 1e-7  # of a standard error: widths that differ by less have the same coverage, as printed

# An interval ends this far, relatively, beyond its last number, against rounding, unless errors are whole
# numbers; an interval with a wish may end twice as far beyond.
BEYOND = 1e-9

_GRID, _BLUR = 2**14, 16  # cells of the law of an error; half the width of the blur of one without a lattice


@dataclass(frozen=True, eq=False)
class Intervals:
    """Half widths (m,) of the queries' intervals, and the probability (m,) that each holds the truth.

    Both are read-only. is_exact : the coverage is computed from the law drawn, for every query; otherwise it
    is a lower bound.
    """

    widths: Array
    coverage: Array
    is_exact: bool

    def __post_init__(self) -> None:
        """Make the arrays read-only: ``intervals`` returns the same ones again."""
        self.widths.flags.writeable = self.coverage.flags.writeable = False


def deviations(noise: Noise, integer: Measured, scale: float, fineness: int = 0) -> Array:
    """Standard deviation of the noise of each part, (parts,), as drawn at noise of parameter `scale`.

    It is on the integers themselves, though they are measured times 2^fineness.
    """
    variances = [noise.variance(part.relative * scale) for part in finer(integer.parts, fineness)]
    return np.ldexp(np.sqrt(variances), -fineness)


def standard_errors(noise: Noise, integer: Measured, scale: float, fineness: int = 0) -> Array:
    """Standard errors (m,) of the queries' estimates, in counts, at integer noise of parameter `scale`.

    Several measured parts are combined by least squares. Where there are too many coefficients for that
    (``has_coefficients``), these are upper bounds.
    """
    sigmas = deviations(noise, integer, scale, fineness)
    if len(sigmas) == 1 or not has_coefficients(integer):
        return integer.standard_errors(sigmas)
    terms = _coefficients(noise, integer, scale, fineness) * np.repeat(
        sigmas, [p.rows for p in integer.parts]
    )
    return np.asarray(np.sqrt(np.square(terms).sum(axis=1)))


def has_coefficients(integer: Measured) -> bool:
    """Whether queries and cells are few enough for the law of the error of each query."""
    return integer.rows * max(len(integer.variances), integer.workload.n, integer.rows) <= _MOST_COEFFICIENTS


def check_confidence(confidence: object) -> None:
    """Raise OptionError for a confidence outside (0, 1), or too near to 1 for the computed law."""
    if not (isinstance(confidence, Real) and 0 < float(confidence) < 1):
        raise OptionError(
            f"confidence is {confidence!r}, expected a number above 0 and below 1", hint="for example 0.95"
        )
    if float(confidence) > 1 - LEAST_MISSED:
        raise OptionError(f"confidence is {confidence!r}, the most that is computed is 1 - {LEAST_MISSED:g}")


@lru_cache(maxsize=4)
def intervals(noise: Noise, integer: Measured, scale: float, fineness: int, confidence: float) -> Intervals:
    """The shortest symmetric intervals that hold the truth with probability `confidence`, each query alone.

    Noise that is next to normal has the quantile of rounded normal noise; the distance between the two (its
    ``distance``) is added to the confidence. Rounding moves Σ a z by Σ |a| / 2 at most, and that is at most
    √(Σ a² s²) √(Σ 1/s²) / 2 (Cauchy and Schwarz), 2 √distance standard errors: the interval is wider by this.
    Otherwise the coverage is that of the law drawn, by ``_half_width``.

    With too many coefficients for that, the widths are upper bounds: the noise's ``tail``. An answer without
    noise is its own interval.

    Errors as ``check_confidence``.
    """
    check_confidence(confidence)
    errors = standard_errors(noise, integer, scale, fineness)
    parts, missed, is_noisy = finer(integer.parts, fineness), 1 - confidence, errors > 0
    coverage = np.where(is_noisy, confidence, 1.0)
    scales, rows = np.array([p.relative * scale for p in parts]), [p.rows for p in parts]
    # In probability, from rounded normal noise.
    apart = noise.distance(parts, scale) if noise.distance else 1.0
    is_few = has_coefficients(integer)
    if apart <= min(NEARLY_NORMAL, missed / 2):
        moved = 2 * math.sqrt(apart)
        widths = (NormalDist().inv_cdf((1 + confidence + apart) / 2) + moved) * errors
        return Intervals(widths, coverage, moved <= _SAME and (len(parts) == 1 or is_few))
    if is_few:
        drawn = np.repeat(scales, rows)
        queries = _coefficients(noise, integer, scale, fineness) * is_noisy[:, None]
        figures = np.array([_query_interval(row, drawn, noise, confidence) for row in queries])
        return Intervals(np.ldexp(figures[:, 0], -fineness), figures[:, 1], bool(figures[:, 2].all()))
    # In parameters of the noise, not in its deviations: at small scales these are smaller.
    parameters = errors * np.max(np.ldexp(scales, -fineness) / deviations(noise, integer, scale, fineness))
    widths = parameters * math.sqrt(noise.continuous.variance) * noise.tail(missed, float(scales.min()))
    return Intervals(widths, coverage, False)


@lru_cache(maxsize=4)
def _coefficients(noise: Noise, integer: Measured, scale: float, fineness: int) -> Array:
    """``coefficients`` (m, rows) of all queries, kept: each confidence asks for them again."""
    return coefficients(integer, deviations(noise, integer, scale, fineness))


def coefficients(integer: Measured, sigmas: Array, queries: Ints | slice = slice(None)) -> Array:
    """The coefficients a (k, rows) of errors: some queries' estimates from an answer of 1 to one row.

    sigmas : the ``deviations`` of the parts.
    """
    units = (np.eye(1, integer.rows, row)[0] for row in range(integer.rows))
    return np.column_stack([integer.estimate(unit, sigmas)[queries] for unit in units])


def _query_interval(row: Array, scales: Array, noise: Noise, confidence: float) -> tuple[float, float, bool]:
    """Half width, coverage and whether that is exact for coefficients and scales (rows,).

    Whole coefficients make whole errors, and the interval ends on one of these.
    """
    # Errors in units of the largest coefficient.
    size = float(np.abs(row).max(initial=0.0))
    if size == 0.0:
        return 0.0, 1.0, True
    mantissas, exponents = np.frexp(np.abs(row) / size)
    sizes = np.ldexp(np.round(mantissas, 13), exponents)
    # A small coefficient of much noise may be all that moves the error.
    terms = (sizes + 1j * scales)[(sizes > 1e-12) | (sizes * scales > 1e-12 * (sizes * scales).max())]
    pairs, counts = np.unique(terms, return_counts=True)
    distinct = tuple(pairs.real.tolist()), tuple(pairs.imag.tolist())
    width, coverage, is_exact = _half_width(*distinct, tuple(counts.tolist()), noise, confidence)
    is_whole = bool((row == np.rint(row)).all())
    return math.floor(width * size) if is_whole else width * size, coverage, is_exact


@lru_cache(maxsize=2**14)
def _half_width(
    sizes: tuple[float, ...],
    scales: tuple[float, ...],
    counts: tuple[int, ...],
    noise: Noise,
    confidence: float,
) -> tuple[float, float, bool]:
    """The least t with P(|error| <= t) >= `confidence`, that probability, and whether it is exact.

    The error has `counts` terms of each of the `sizes`, of which the largest is 1, with noise of the
    `scales`. Its law is that of its characteristic function, on a period beyond which it has less than 1e-9.

    Coefficients that are multiples of one number put the error on a lattice, where its probabilities are
    exact. Noise of large scales makes a law that is as good as a continuous one, rounded: it is cut into 512
    cells a standard deviation, and t is larger by the effect of rounding, half a unit of every term. Every
    other law is blurred by U, the sum of nine uniform variables, |U| <= b together, b a 31st of the
    deviation: P(|error| <= t + b) >= P(|error + U| <= t), the probability given.
    """
    variances = {scale: noise.variance(scale) for scale in set(scales)}
    spread = math.sqrt(np.dot(np.square(sizes) * counts, [variances[scale] for scale in scales]))
    # The period of the law, and the step of its lattice, if it is on one.
    span, step = max(32 * spread, 16.0), common_step(np.array(sizes), 1e-10)
    # Sizes that are tiny next to the largest are on no lattice with it.
    is_lattice = step is not None and span <= step * _GRID and min(sizes) > 1e-10
    unit = step if step is not None and is_lattice else span / _GRID
    count = 2 ** max(7, math.ceil(math.log2(span / unit)))  # cells of a period
    frequencies = 2 * math.pi / (count * unit) * np.arange(count // 2 + 1)
    is_low = bool(frequencies[-1] <= math.pi)  # where each transform falls with the frequency
    transform = np.zeros(len(frequencies))
    for start in range(0, len(frequencies), 128):
        chunk = slice(start, start + 128)
        logarithms = (
            noise.log_transform(np.multiply.outer(frequencies[chunk], sizes), np.array(scales)) @ counts
        )
        transform[chunk] = np.exp(logarithms)
        if is_low and logarithms[-1] < -40:
            break
    # How far rounding moves an error of noise that is as good as continuous.
    moved = 0.0 if is_lattice else 0.5 * float(np.dot(sizes, counts))
    is_smooth = is_low and transform[-1] < NEARLY_NORMAL and moved < _BLUR * unit
    blur = 0 if is_lattice or is_smooth else _BLUR
    if not is_lattice:
        waves = frequencies[: start + 128] * unit / math.pi
        transform[: start + 128] *= np.sinc(waves / 2) * np.sinc(waves * blur / 8) ** 8
    chances = np.fft.irfft(transform, count)[: count // 2]
    covered = 2 * np.cumsum(chances) - chances[0]
    off = 0.0 if is_lattice else NEARLY_NORMAL
    at = min(int(np.searchsorted(covered, confidence + off)), len(covered) - 1)
    width = at * unit if is_lattice else (at + 0.5 + blur) * unit + (0.0 if blur else moved)
    # Below 1: the law has no end.
    coverage = max(confidence, min(1.0 - 2.0**-53, float(covered[at])) - off)
    return width * (1 + BEYOND), coverage, blur == 0 and moved <= _SAME * spread
