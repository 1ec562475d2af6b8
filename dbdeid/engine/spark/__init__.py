"""Spark as a warehouse: pyspark is imported here alone, once a session of it was given."""
