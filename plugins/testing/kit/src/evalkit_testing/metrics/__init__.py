"""The laws of metrics, and how they are checked."""
