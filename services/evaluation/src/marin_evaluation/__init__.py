"""Scores policies with lm-eval and Harbor, side by side on one served model."""
