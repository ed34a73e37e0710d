"""Post-training experiments."""
