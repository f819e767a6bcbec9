from typing import Any

import pytest

from evalkit_metrics_example.kappa import Kappa
from evalkit_metrics_example.label_shift import get_label_shift
from evalkit_metrics_example.word_overlap import WordOverlap
from evalkit_testing import check_metric


@pytest.mark.parametrize("metric", [Kappa, get_label_shift, WordOverlap])
@pytest.mark.slow
def test_every_metric_keeps_the_laws(metric: Any) -> None:
    check_metric(metric, max_examples=5)
