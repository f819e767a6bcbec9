"""Other words for the same: contractions, synonyms, dialects."""
