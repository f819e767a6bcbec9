"""An attack on evalkit's promises, with figures of what it tried and what it found."""
