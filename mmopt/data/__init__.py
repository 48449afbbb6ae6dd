"""Tables to data vectors."""

from __future__ import annotations

from mmopt.data.vector import DataVector, data_vector

__all__ = ["DataVector", "data_vector"]
