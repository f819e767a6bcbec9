"""Objects in what fsspec has a file system for."""
