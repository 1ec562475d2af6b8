"""What can be asked of a release: analyst SQL rewritten onto it."""
