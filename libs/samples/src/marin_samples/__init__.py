"""Tiny bundled data sets, so that every stage runs offline. Where each comes from: PROVENANCE.md in this directory."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """The file ``name``, for example ``corpus/folio.jsonl.gz``. Raises FileNotFoundError that lists what there is."""
    found = ROOT / name
    if name not in names():
        raise FileNotFoundError(f"no bundled file '{name}'; there are: {', '.join(names())}")
    return found


def names() -> list[str]:
    """The bundled files, as paths relative to this package."""
    return sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("*/*.jsonl*"))
