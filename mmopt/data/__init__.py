"""From a table to a data vector of counts. No strategies, no noise: nothing here is private."""

from mmopt.data.vector import DataVector, data_vector

__all__ = ["DataVector", "data_vector"]
