"""Strategies for unions of products over many attributes, by parts: nothing over all cells is ever formed.

``product`` searches one product of strategies (OPT⊗ of HDMM). Laplace noise: each attribute's strategy is a
p-identity.
"""

from mmopt.highdim.product import product
from mmopt.highdim.terms import Terms

__all__ = ["Terms", "product"]
