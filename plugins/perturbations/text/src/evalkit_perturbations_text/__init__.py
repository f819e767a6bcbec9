"""Perturbations of English text: robustness and fairness."""
