"""Floating point that is proved: directed rounding, balls, inverses, spectra, arrays. No word of programs."""
