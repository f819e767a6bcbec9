"""Bytes of files to rows and columns, without knowing what they mean."""
