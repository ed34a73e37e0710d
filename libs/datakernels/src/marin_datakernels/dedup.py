"""Exact duplicates from keys alone."""

import numpy as np

KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
"""A 16-byte content key as two integers, so that keys sort as numbers."""


def keys_array(keys: list[bytes]) -> np.ndarray:
    """Keys, shape [n], of 16 bytes each."""
    return np.frombuffer(b"".join(keys), dtype=KEY)


def later_copies(keys: np.ndarray) -> np.ndarray:
    """Mask, shape [n]: true where an equal key stands at a smaller index."""
    order = np.lexsort((np.arange(len(keys)), keys["low"], keys["high"]))
    ordered = keys[order]
    mask = np.zeros(len(keys), dtype=bool)
    mask[order[1:]] = ordered[1:] == ordered[:-1]
    return mask
