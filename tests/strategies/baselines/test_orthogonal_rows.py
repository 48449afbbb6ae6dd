"""The orthogonal mechanism as a baseline beside the study's own, which solves integers exactly."""

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt import Workload
from mmopt.strategies.baselines import baseline, evaluate
from tests.examples.scripts import scripts

orthogonal = scripts("orthogonal").orthogonal_mechanism.orthogonal


def test_baseline(rng: np.random.Generator) -> None:
    """Its rows are the mechanism's, so that its error is the paper's R's; of many queries it is refused."""
    for matrix in (np.tri(6), rng.normal(size=(5, 8)) * (rng.random((5, 8)) < 0.4)):
        workload = Workload.from_matrix(matrix)
        found = orthogonal(workload)
        assert baseline("orthogonal", workload, 1).matrix == pytest.approx(found.strategy.matrix)
        (cost,) = evaluate("orthogonal", workload, (1,)).costs
        assert cost.error == pytest.approx(found.total_error, rel=RECOMPUTED)
    large = Workload.from_matrix(np.ones((1025, 1024)))
    assert evaluate("orthogonal", large).reason == (
        "it compares the queries one by one, at most 1,048,576 entries, and these have 1,049,600"
    )
