"""De-identify sensitive tables inside the database."""
