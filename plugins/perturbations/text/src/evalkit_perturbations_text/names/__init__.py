"""First and family names: lists, recognition, groups and the swap of names."""
