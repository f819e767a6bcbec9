"""The baselines of metrics of classes equal a direct computation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, recall_score

from evalkit import MetricContext, Registry
from evalkit.catalog import Resolver
from evalkit.scoring import make_table
from evalkit.scoring.baselines import compute_baselines

SKLEARN = {"macro-f1": f1_score, "macro-recall": recall_score}
DECLARED = ["a", "b", "ü", "never"]
GOLD = ["a", "b", "ü"]


@pytest.mark.parametrize("choice", ["gold", "seen", "declared"])
@pytest.mark.parametrize("name", SKLEARN)
@settings(max_examples=20, deadline=None)
@given(targets=st.lists(st.sampled_from(GOLD), min_size=1, max_size=30))
def test_baselines_equal_a_direct_computation(
    name: str, choice: str, targets: list[str]
) -> None:
    full_name = name if choice == "gold" else f"{name}:labels={choice}"
    metric = Resolver(Registry()).bind("metrics", full_name)
    context = MetricContext(tuple(DECLARED), "one")
    ids = [str(number) for number in range(len(targets))]
    table = make_table(targets, targets, context, ids=ids)
    found = compute_baselines(metric, table)
    assert found is not None
    counts = {label: targets.count(label) for label in DECLARED}
    majority = max(DECLARED, key=lambda label: counts[label])
    assert found.majority_label == majority
    classes = {"gold": {*targets}, "seen": {*targets, majority}, "declared": DECLARED}
    expected = SKLEARN[name](
        targets,
        [majority] * len(targets),
        labels=sorted(classes[choice]),
        average="macro",
        zero_division=0,
    )
    assert found.majority == pytest.approx(expected)

    # of every class, a share of 1 / K is expected to be predicted as any label
    n, k = len(targets), len(DECLARED)
    of_class = []
    for count in counts.values():
        if choice == "gold" and not count:
            continue
        hits = count / k
        recall = hits / count if count else 0.0
        of_class.append(2 * hits / (count + n / k) if name == "macro-f1" else recall)
    assert found.chance == pytest.approx(sum(of_class) / len(of_class))
