"""Searches as others published them, to compare with: correct, documented, may be slow."""
