"""Talking to Marin's services from Python: typed errors and the local system."""
