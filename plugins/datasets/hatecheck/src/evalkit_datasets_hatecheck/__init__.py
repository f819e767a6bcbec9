"""HateCheck: functional tests for hate speech detection (Röttger et al. 2021)."""
