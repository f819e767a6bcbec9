"""MED (Yanaka et al. 2019): monotonicity reasoning."""
