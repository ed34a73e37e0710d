"""Builders of artifact steps: one function for each kind of artifact, with the field's usual names and defaults."""
