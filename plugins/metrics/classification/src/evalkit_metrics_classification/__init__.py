"""Classification metrics: accuracy, precision, recall, F1 and macro averages."""
