"""Perturbations as HELM 0.5.16 makes them, with its seeds and its faults."""
