"""Pretrains and fine-tunes models with Levanter."""
