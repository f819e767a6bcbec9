import pytest

from evalkit.errors import EvalkitError
from evalkit.statistics.student_t import (
    CLOSEST_CONFIDENCE,
    check_confidence,
    normal_quantile,
)


@pytest.mark.parametrize(
    "confidence", [CLOSEST_CONFIDENCE, 0.5, 0.95, 1 - CLOSEST_CONFIDENCE]
)
def test_a_confidence_that_is_allowed_has_quantiles_when_adjusted(
    confidence: float,
) -> None:
    check_confidence(confidence)
    adjusted = 1 - (1 - confidence) / 100_000
    assert 0 < normal_quantile((1 + adjusted) / 2) < 9


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 95.0, float("nan")])
def test_what_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(EvalkitError, match="must be between 0 and 1"):
        check_confidence(confidence)


@pytest.mark.parametrize("confidence", [1 - 1e-16, 1 - 1e-12, 1e-300])
def test_what_is_too_near_to_certainty_is_refused(confidence: float) -> None:
    with pytest.raises(EvalkitError, match=r"at least 1e-09 away|between 0 and 1"):
        check_confidence(confidence)
