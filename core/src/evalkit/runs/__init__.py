"""What a run is, its record and its folder."""
