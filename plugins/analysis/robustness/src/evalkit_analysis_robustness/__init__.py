"""Effects of perturbations: drops, flips, worst cases and expectations."""
