"""GSM8K (Cobbe et al. 2021): grade school math word problems."""
