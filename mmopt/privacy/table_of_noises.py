"""The table of noises, and which of them a strategy gets."""

from __future__ import annotations

from mmopt.privacy.gaussian_noise import GAUSSIAN
from mmopt.privacy.laplace_noise import LAPLACE
from mmopt.privacy.noise import Noise
from mmopt.privacy.parameters import Privacy

__all__ = ["NOISES", "noise_for"]

NOISES: tuple[Noise, ...] = (LAPLACE, GAUSSIAN)


def noise_for(norm: int, privacy: Privacy | None = None) -> Noise:
    """Of the noises for a norm the first that takes this privacy; if none does, the first, which says why."""
    rows = [noise for noise in NOISES if noise.norm == norm]
    return next((noise for noise in rows if privacy is None or noise.takes(privacy)), rows[0])
