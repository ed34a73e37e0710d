"""Graphs of artifacts: lazy handles, and the runner that hands them to the workflow service."""
