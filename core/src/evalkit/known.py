"""Which of our own distributions holds which component.

Used only to name the distribution to install when a component is missing.
"""

KNOWN_DISTRIBUTIONS = {
    "tasks/nli": "evalkit-tasks-text",
    "tasks/hs": "evalkit-tasks-text",
    "tasks/sentiment": "evalkit-tasks-text",
    "tasks/qa": "evalkit-tasks-text",
    "tasks/text-classification": "evalkit-tasks-text",
    "tasks/math-qa": "evalkit-tasks-text",
    "datasets/sample-nli": "evalkit-datasets-samples",
    "datasets/sample-hs": "evalkit-datasets-samples",
    "datasets/sample-sentiment": "evalkit-datasets-samples",
    "datasets/sample-qa": "evalkit-datasets-samples",
    "datasets/hatecheck": "evalkit-datasets-hatecheck",
    "datasets/tweeteval-sentiment": "evalkit-datasets-tweeteval",
    "metrics/accuracy": "evalkit-metrics-classification",
    "metrics/exact-match": "evalkit-metrics-classification",
    "metrics/macro-f1": "evalkit-metrics-classification",
    "metrics/macro-recall": "evalkit-metrics-classification",
}
"""Distribution by component id."""
