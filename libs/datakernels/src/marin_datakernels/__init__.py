"""Pure functions for text data: read, normalise, filter, key, shard. No Beam and no gRPC in here."""

KERNELS = "datakernels/1"
"""Name and version of what these functions compute. Raise it whenever the same input could give other bytes."""

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""Files that ``rows.read_rows`` reads."""
