"""Tables to data vectors."""

from mmopt.data.vector import DataVector, data_vector

__all__ = ["DataVector", "data_vector"]
