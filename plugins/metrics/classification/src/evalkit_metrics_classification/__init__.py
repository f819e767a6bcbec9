"""Classification metrics: accuracy, exact-match, macro-f1 and macro-recall."""
