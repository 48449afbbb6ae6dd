"""The program that is solved when none is named, and the words for it.

Guards workload_file_and_arguments.py.
"""

import numpy as np

from mmopt import Privacy, Workload
from mmopt.request.workload_file_and_arguments import L1_CELLS, default_words

TRI = Workload.from_matrix(np.tri(6))
BOTH = Privacy(epsilon=1.0, delta=1e-6)


def test_words_say_what_is_considered() -> None:
    assert default_words(TRI, BOTH) == (
        "l2_strategy (Gaussian noise) or l1_strategy or p_identity (Laplace noise): the one of least "
        "predicted error"
    )
    wished = Workload.from_matrix(np.eye(2), targets=[1.0, 2.0])
    assert default_words(wished, BOTH).endswith("the one of least privacy cost for the targets")
    assert default_words(TRI, None).startswith("l2_strategy: ")
    assert default_words(TRI, Privacy(epsilon=1.0)).startswith("l1_strategy or p_identity: ")
    assert default_words(wished, Privacy(epsilon=1.0)).startswith("p_identity: ")
    large = Workload.from_matrix(np.tri(L1_CELLS + 1))
    assert default_words(large, Privacy(epsilon=1.0)).startswith("p_identity: ")
