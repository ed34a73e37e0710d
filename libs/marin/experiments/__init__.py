"""Experiments that ship with Marin: plain Python that builds graphs of artifacts."""
