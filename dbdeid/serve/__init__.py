"""Releases for clients of PostgreSQL, over its wire protocol."""
