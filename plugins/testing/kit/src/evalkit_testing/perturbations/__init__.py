"""The laws of perturbations, and how they are checked."""
