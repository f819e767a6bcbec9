"""The verbs: evaluate, validate, rescore, verify, merge, score, plan."""
