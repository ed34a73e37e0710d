"""The account of a run: every row that was read is kept or dropped for a reason."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from marin_datakernels import KERNELS
from marin_datakernels.errors import DataError
from marin_datakernels.shards import Shard


@dataclass
class Tally:
    """What became of the rows of one source."""

    name: str
    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    files: list[dict[str, Any]] = field(default_factory=list)

    def check(self) -> None:
        """Raises DataError COUNT_MISMATCH unless read = kept + sum(dropped)."""
        if self.read != self.kept + self.dropped.total():
            raise DataError(
                f"source '{self.name}': {self.read} rows were read, but {self.kept} kept and "
                f"{self.dropped.total()} dropped",
                hint="this is a fault of the pipeline: report it",
                reason="COUNT_MISMATCH",
            )

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, **_account([self]), "files": self.files}


def counts(tallies: list[Tally], shards: Iterable[Shard]) -> dict[str, Any]:
    """The content of ``counts.json``. Raises DataError when a sum does not come out or no row is left."""
    for tally in tallies:
        tally.check()
    total = _account(tallies)
    if not total["kept"]:
        why = ", ".join(f"{n} {reason}" for reason, n in total["dropped"].items()) or "the sources hold no row"
        raise DataError(
            f"nothing is left: {total['in']} rows read from {', '.join(t.name for t in tallies)}, 0 kept ({why})",
            hint="loosen the filters, or check that the sources hold what you expect",
            reason="EMPTY_CORPUS",
        )
    written = [s.as_dict() for s in shards]
    if sum(s["rows"] for s in written) != total["kept"]:
        raise DataError(
            f"{total['kept']} rows are kept, but the shards hold {sum(s['rows'] for s in written)}",
            hint="this is a fault of the pipeline: report it",
            reason="COUNT_MISMATCH",
        )
    return {
        **total,
        "sources": [t.as_dict() for t in tallies],
        "shards": written,
        "kernels": KERNELS,
        "unicode": unicodedata.unidata_version,
    }


def _account(tallies: list[Tally]) -> dict[str, Any]:
    dropped = sum((t.dropped for t in tallies), Counter())
    return {
        "in": sum(t.read for t in tallies),
        "kept": sum(t.kept for t in tallies),
        "dropped": {reason: dropped[reason] for reason in sorted(dropped)},
    }
