"""The catalog: the one truth about builds, leases, artifacts, lineage, runs and the event log."""
