"""Trains tokenizers and writes token caches."""
