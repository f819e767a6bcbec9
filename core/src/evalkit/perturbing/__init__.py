"""Makes perturbed copies of examples."""
