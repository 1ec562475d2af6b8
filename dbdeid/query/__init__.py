"""Querying a release: analyst SQL is rewritten onto it."""
