"""Strategies for unions of products over many attributes, kept in factors: nothing dense over the cells.

``norm=1`` is for Laplace noise, where an attribute's strategy in a product is a p-identity; ``norm=2`` is for
Gaussian noise, where it may be any strategy.

- ``every_template.py``: all templates of a workload of products, with the search of weighted marginals and of
  sets of attributes; and their tuning for a sub-workload
- ``product_search.py``: products of strategies for a union of products, one or several, and a lower bound
"""

from mmopt.driver.templates.every_template import (
    MOST_ATTRIBUTES,
    TEMPLATES,
    Templates,
    TemplateStrategy,
    form_of,
    marginal_strategy,
    sectorwise,
    template_bound,
    templates,
    tune_templates,
)
from mmopt.driver.templates.product_search import UnionTerms, multipliers_of, product, product_bound, union

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
