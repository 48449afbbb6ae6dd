"""The law of every noise: what is drawn, stated and claimed is one.

Guards noise.py.
"""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

from mmopt.cli.app import build
from mmopt.cli.command_inputs import norm_of_noise
from mmopt.errors import PrivacyError, WorkloadError
from mmopt.mechanism import build_manifest, measure, plan
from mmopt.mechanism.release_plan import least_scale_by_cost
from mmopt.privacy import Privacy
from mmopt.privacy.noise import GAUSSIAN, LAPLACE, NOISES, Noise, add_noise, check_scales, noise_for, simulate
from mmopt.privacy.rounding.norms_and_measured_integers import Part
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.request import load_request
from mmopt.strategies import Strategy
from mmopt.strategies.baselines import baseline_catalogue
from mmopt.workloads import Workload

MOST = 2**11  # integers on which a law is summed
CELLS = Workload.from_matrix(np.eye(3))
TEXT = """
domain: {{a: {{values: [0, 1]}}}}
workload: [{{marginal: [a]}}]
privacy: {{{}}}
"""


def chances(noise: Noise, scale: float) -> np.ndarray:
    """Probabilities of -MOST to MOST - 1, from the characteristic function; below 1e-13 all is rounding."""
    x = np.arange(2 * MOST) * math.pi / MOST
    found = np.roll(np.fft.ifft(np.exp(noise.log_transform(x, np.array(scale)))).real, MOST)
    return np.where(np.abs(found) > 1e-13, found, 0.0)


def same(draws: np.ndarray, noise: Noise, scale: float) -> None:
    """Whole numbers of the stated law and variance, as far as so many tell."""
    k, law = np.arange(-MOST, MOST), chances(noise, scale)
    assert draws.dtype == np.int64
    for power, stated in ((2, noise.variance(scale)), (1, 0.0)):
        spread = math.sqrt((law @ k.astype(float) ** (2 * power) - stated**2) / len(draws))
        assert abs(np.mean(draws.astype(float) ** power) - stated) <= 6 * spread
    for least in (0, 1, 2, 5):
        chance = law[np.abs(k) >= least].sum()
        assert (
            abs(np.mean(np.abs(draws) >= least) - chance)
            <= 6 * math.sqrt(chance * (1 - chance) / len(draws)) + 1e-9
        )


def is_drawn(noise: Noise) -> None:
    """By OpenDP, and by what imitates it; on answers of any size."""
    for scale in (0.7, 3.0, 40.0):
        for answers in (np.zeros(3000, dtype=np.int64), np.full(3000, 2**70, dtype=object)):
            for noisy in (
                add_noise(noise, answers, scale, 1, noise.cost(1, scale)),
                simulate(noise, answers, scale, 5),
            ):
                same((noisy - answers).astype(np.int64), noise, scale)


def has_its_variance(noise: Noise) -> None:
    k = np.arange(-MOST, MOST)
    for scale in (0.4, 1.0, 5.0, 30.0):
        law = chances(noise, scale)
        assert law.sum() == pytest.approx(1.0, abs=1e-10)
        assert noise.variance(scale) == pytest.approx(law @ k.astype(float) ** 2, rel=1e-6)
        assert noise.variance(scale) <= noise.continuous.variance * scale**2 * (1 + 1e-12)
    assert noise.variance(30.0) == pytest.approx(noise.continuous.variance * 900, rel=1e-3)


def loss(noise: Noise, scale: float, change: int) -> float:
    """The cost of such a change of a row: the largest log ratio, or the largest Rényi divergence per
    order."""
    law = chances(noise, scale)
    p, q = law[change:], law[:-change]
    p, q = p[(p > 1e-11) & (q > 1e-11)], q[(p > 1e-11) & (q > 1e-11)]
    if noise.unit == "epsilon":
        return float(np.abs(np.log(p / q))[p > 1e-8].max())
    orders = np.array([1.01, 1.1, 1.5, 2.0, 3.0])
    return max(float(np.log((p**a * q ** (1 - a)).sum()) / (a - 1) / a) for a in orders)


def costs_what_it_claims(noise: Noise) -> None:
    """No less than the changes of independent rows cost together, and where noise is large little more."""
    for scale, changes in product((3.0, 20.0), ((1,), (2,), (1, 1), (3, 2, 1))):
        squared = sum(c**noise.norm for c in changes) ** (2 // noise.norm)
        exact, claimed = sum(loss(noise, scale, c) for c in changes), noise.cost(squared, scale)
        assert exact <= claimed * (1 + 1e-4)
        assert len(changes) > 1 or scale < 20 or claimed <= exact * 1.15


def is_calibrated(noise: Noise) -> None:
    """The least noise for a budget costs the budget, and large noise is as the continuous one."""
    integer = round_any(Strategy(np.eye(3), noise.norm), CELLS)
    for budget in (0.001, 0.3, 2.0):
        near = noise.least_scale(noise.cost(1, 1.0) / budget)
        assert noise.cost(1, near) == pytest.approx(budget, rel=1e-12)
        scale = least_scale_by_cost(noise, integer, budget)
        assert budget * (1 - 1e-12) <= noise.cost(1, scale) <= budget
        privacy = Privacy(**{noise.unit: budget})
        assert noise.takes(privacy) and noise.allowed(privacy) == budget
        assert noise.continuous.scale(privacy, 1.0) == pytest.approx(scale, rel=1e-9)


def has_its_tail(noise: Noise) -> None:
    """Sums of one and of several, equal and not, exceed it no more often."""
    k = np.arange(-400, 400)
    for scale, missed in product((0.8, 3.0), (0.3, 0.05, 0.001)):
        law = chances(noise, scale)[MOST - 400 : MOST + 400]
        one, four = (
            (law, k),
            (np.convolve(np.convolve(law, law), np.convolve(law, law)), np.arange(-1600, 1597)),
        )
        both = (np.multiply.outer(law, law).ravel(), np.add.outer(k, 0.3 * k).ravel())
        for (weights, values), squares in ((one, 1.0), (four, 4.0), (both, 1.09)):
            width = noise.tail(missed, scale) * scale * math.sqrt(squares * noise.continuous.variance)
            assert weights[np.abs(values) > width].sum() <= missed
            assert width <= 3 * math.sqrt(squares * noise.continuous.variance) * scale * (
                1 - math.log(missed)
            )


def has_a_continuous_law(noise: Noise) -> None:
    draws = noise.continuous.draw(np.random.default_rng(3), (200, 200))
    assert np.square(draws).mean() == pytest.approx(noise.continuous.variance, rel=0.06)
    law, k = chances(noise, 60.0), np.arange(-MOST, MOST)  # at a large scale as the one drawn
    assert np.mean(np.abs(draws) > 3) == pytest.approx(law[np.abs(k) > 180].sum(), rel=0.15)
    if noise.continuous.mean is not None:
        sums = np.abs(np.concatenate([draws.ravel(), draws.sum(axis=0) / math.sqrt(200)]))
        assert sums.mean() / math.sqrt(noise.continuous.variance) == pytest.approx(
            noise.continuous.mean, rel=0.05
        )


LAWS: tuple[Callable[[Noise], None], ...] = (
    is_drawn,
    has_its_variance,
    costs_what_it_claims,
    is_calibrated,
    has_its_tail,
    has_a_continuous_law,
)


@pytest.mark.quick
def test_law(subtests: pytest.Subtests):
    for noise, law in product(NOISES, LAWS):
        with subtests.test(noise.name, law=law.__name__):
            law(noise)


def test_a_row_is_found_by_a_file_and_an_option_and_named_in_the_manifest(
    subtests: pytest.Subtests, tmp_path
):
    for noise in NOISES:
        with subtests.test(noise.name):
            path = tmp_path / "workload.yaml"
            path.write_text(TEXT.format(noise.example))
            request = load_request(path)
            assert request.privacy is not None
            found = plan(request.workload, Strategy(np.eye(2), noise.norm), request.privacy)
            assert found.law is noise
            manifest = build_manifest(found, measure(found, np.array([3, 4])))
            assert manifest["noise"]["kind"] == f"discrete {noise.name}"
            assert manifest["noise"]["sampler"] == noise.sampler
            assert manifest["privacy"][noise.unit] == noise.cost(1, found.scale)
            assert manifest["privacy"]["theorem"].startswith(
                (noise.theorem, *(name for name, _ in noise.deltas(found.parts)))
            )
            assert norm_of_noise(noise.name.lower()) == noise.norm


def test_lists_of_noises_name_every_row() -> None:
    assert {
        norm: noise_for(norm).name for norm in baseline_catalogue.NOISE_NAMES
    } == baseline_catalogue.NOISE_NAMES
    words = "|".join(noise.name.lower() for noise in NOISES)
    for command in ["tune", "templates"]:
        assert words in CliRunner().invoke(build(), [command, "--help"]).output


def test_opendp_confirms_our_costs_over_many_scales(rng: np.random.Generator) -> None:
    zeros = np.zeros(1, dtype=np.int64)
    for noise in NOISES:
        for _ in range(60):
            squared = int(np.exp2(rng.uniform(0, 60 / noise.norm))) ** (2 if noise.norm == 1 else 1)
            scale = float(np.exp(rng.uniform(0, 35)))
            assert add_noise(noise, zeros, scale, squared, noise.cost(squared, scale)).shape == (1,)


def test_laplace_variance_at_the_ends() -> None:
    assert 0.0 < LAPLACE.variance(1e-9) == LAPLACE.variance(0.005) < 1e-86
    assert LAPLACE.variance(2.0**40) == pytest.approx(2.0**81, rel=1e-12)


@pytest.mark.quick
def test_refusals(subtests: pytest.Subtests) -> None:
    """Costs that OpenDP does not confirm, answers that are no vector of int64, scales beyond them."""
    zeros = np.zeros(2, dtype=np.int64)
    check_scales([Part(1, 1, 2**60)], 2.0**50)
    for call, message in (
        (
            lambda: add_noise(LAPLACE, zeros, 2.0, 9, 1.25),
            "OpenDP accounts epsilon 1.5 for this noise, the release claims 1.25",
        ),
        (
            lambda: add_noise(GAUSSIAN, zeros, 1.0, 1, 0.25),
            "OpenDP accounts rho 0.5 for this noise, the release claims 0.25",
        ),
        (
            lambda: add_noise(GAUSSIAN, zeros, 1.0, 1, math.nan),
            "OpenDP accounts rho 0.5 for this noise, the release claims nan",
        ),
        *(
            (
                lambda answers=answers: add_noise(GAUSSIAN, answers, 1.0, 1, 1.0),
                f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64",
            )
            for answers in (np.zeros(2), np.array([math.nan]), np.zeros((2, 2), dtype=np.int64))
        ),
        (
            lambda: check_scales([Part(1, 1, 2**40)], 2.0**57),
            "noise of scale 1.441e+17 may exceed 2^62, the limit of 64-bit integers\n"
            "  so little privacy budget gives answers of noise only; raise epsilon or rho",
        ),
        *(
            (
                lambda scale=scale: check_scales([Part(1, 1, 0)], scale),
                f"the noise scale is {scale!r}, expected a finite number above 0"
                + "\n  no query of the strategy differs between neighbours; take another strategy, such as "
                "'identity'" * (scale == 0),
            )
            for scale in (0.0, -1.0, math.nan, math.inf)
        ),
    ):
        with subtests.test(message):
            with pytest.raises((PrivacyError, WorkloadError)) as caught:
                call()
            assert str(caught.value) == message
