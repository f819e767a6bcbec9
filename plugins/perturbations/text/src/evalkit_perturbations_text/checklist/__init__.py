"""The three kinds of tests of CheckList (Ribeiro et al. 2020)."""
