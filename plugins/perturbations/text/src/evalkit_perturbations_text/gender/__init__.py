"""Words of gender and their counterparts."""
