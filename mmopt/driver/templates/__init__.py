"""Strategies for unions of products over many attributes, kept in factors: nothing dense over the cells.

``norm=1`` is for Laplace noise, where an attribute's strategy in a product is a p-identity; ``norm=2`` is for
Gaussian noise, where it may be any strategy.

- ``every_template.py``: all templates of a workload of products, and their tuning for a sub-workload
- ``product_search.py``: one product of strategies for a union of products, and its lower bound
- ``union_search.py``: several products, weighted marginals, and sets of attributes, optimised
"""

from mmopt.driver.templates.every_template import (
    TEMPLATES,
    Templates,
    TemplateStrategy,
    form_of,
    template_bound,
    templates,
    tune_templates,
)
from mmopt.driver.templates.product_search import UnionTerms, multipliers_of, product, product_bound
from mmopt.driver.templates.union_search import MOST_ATTRIBUTES, marginal_strategy, sectorwise, union

__all__ = [
    "MOST_ATTRIBUTES",
    "TEMPLATES",
    "TemplateStrategy",
    "Templates",
    "UnionTerms",
    "form_of",
    "marginal_strategy",
    "multipliers_of",
    "product",
    "product_bound",
    "sectorwise",
    "template_bound",
    "templates",
    "tune_templates",
    "union",
]
