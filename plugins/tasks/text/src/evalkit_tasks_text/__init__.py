"""Text tasks: nli, hs, sentiment, qa, text-classification and math-qa."""
