"""Tokens, pronouns and verbs of English sentences about persons."""
