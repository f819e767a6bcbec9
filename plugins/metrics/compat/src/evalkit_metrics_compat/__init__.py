"""Metrics as HELM, Dynabench and SEA-HELM define them, and a distance from chance."""
