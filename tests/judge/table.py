"""All shipped programs: by hand (``RULES``), and by another solver (``RIVALS``)."""

from judge import norms_and_designs, programs, rivals

RULES = {**programs.RULES, **norms_and_designs.RULES}
RIVALS = {**rivals.RIVALS, **norms_and_designs.RIVALS}
