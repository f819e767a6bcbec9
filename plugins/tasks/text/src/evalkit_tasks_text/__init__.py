"""Text tasks: of labels, of texts, of choices, and of numbers, lists and ratings."""
