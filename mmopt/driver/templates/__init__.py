"""Strategies for unions of products over many attributes, kept in factors: nothing dense over the cells.

``norm=1`` is for Laplace noise, where an attribute's strategy in a product is a p-identity or has rows of
any signs; ``norm=2`` is for Gaussian noise, where it may be any strategy.

- ``template_searches.py``: the search for the best strategy of each template: a product of strategies, a
  union of products, weighted marginals, sets of attributes
- ``templates_and_bound.py``: all templates of a workload of products, the best first, with a lower bound; and
  their tuning for a sub-workload
"""

from mmopt.driver.templates.template_searches import (
    MOST_ATTRIBUTES,
    UnionTerms,
    marginal_strategy,
    product,
    sectorwise,
    union,
)
from mmopt.driver.templates.templates_and_bound import (
    TEMPLATES,
    Templates,
    TemplateStrategy,
    form_of,
    multipliers_of,
    product_bound,
    template_bound,
    templates,
    tune_templates,
)

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
