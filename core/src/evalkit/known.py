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
    "datasets/tweeteval-emoji": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-emotion": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-hate": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-irony": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-offensive": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-sentiment": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-stance-abortion": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-stance-atheism": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-stance-climate": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-stance-feminist": "evalkit-datasets-tweeteval",
    "datasets/tweeteval-stance-hillary": "evalkit-datasets-tweeteval",
    "datasets/gsm8k": "evalkit-datasets-gsm8k",
    "datasets/med": "evalkit-datasets-med",
    "metrics/accuracy": "evalkit-metrics-classification",
    "metrics/exact-match": "evalkit-metrics-classification",
    "metrics/f1": "evalkit-metrics-classification",
    "metrics/macro-f1": "evalkit-metrics-classification",
    "metrics/macro-recall": "evalkit-metrics-classification",
    "metrics/precision": "evalkit-metrics-classification",
    "metrics/recall": "evalkit-metrics-classification",
    "metrics/squad-em": "evalkit-metrics-qa",
    "metrics/squad-f1": "evalkit-metrics-qa",
}
"""Distribution by component id."""
