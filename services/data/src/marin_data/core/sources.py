"""From sources in a spec to input splits, and from a split to its rows."""

import glob
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import marin_samples
from marin_data.core import hub
from marin_data.core.spec import source_name
from marin_datakernels.errors import DataError
from marin_datakernels.rows import read_rows

Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Split:
    """What one worker reads in one piece: one file, or all files of a source whose rows are limited.

    ``source`` is the position of the source in the spec. ``files`` are local paths, or paths in ``dataset``.
    """

    index: int
    source: int
    name: str
    files: tuple[str, ...]
    dataset: hub.Dataset | None
    limit: int

    def rows(self, columns: list[str]) -> Iterator[Row]:
        """Rows with the place that errors name. Raises DataError, SHORT_SOURCE if there are fewer than ``limit``."""
        read = 0
        for row in islice(self._all(columns), self.limit or None):
            read += 1
            yield row
        if read < self.limit:
            raise DataError(
                f"source '{self.name}' ends after {read} rows, and its limit asks for {self.limit}",
                hint=f"lower the limit to {read}, or read more files",
                reason="SHORT_SOURCE",
                source=self.name,
            )

    def _all(self, columns: list[str]) -> Iterator[Row]:
        for file in self.files:
            if self.dataset:
                where, rows = f"{self.dataset.name}/{file}, row", hub.read(self.dataset, file, columns)
            else:
                where, rows = (
                    f"{file}, {'row' if file.endswith('.parquet') else 'line'}",
                    read_rows(Path(file), columns),
                )
            for number, row in rows:
                yield f"{where} {number}", row


@dataclass(frozen=True)
class Source:
    """A source with its files. ``facts`` says of each file what pins its bytes, and no place outside the source."""

    name: str
    splits: tuple[Split, ...]
    facts: tuple[dict[str, Any], ...]


def resolve(sources: list[Mapping[str, Any]]) -> list[Source]:
    """Finds the files of all sources. Raises DataError: a missing file, another digest than asked, a hub failure."""
    resolved: list[Source] = []
    for position, source in enumerate(sources):
        first = sum(len(s.splits) for s in resolved)
        if source["hub"]:
            dataset, files = hub.resolve(**source["hub"])
            facts = [{"name": f, "revision": dataset.commit} for f in files]
        else:
            dataset, files = None, _local_files(source)
            facts = [file_facts(Path(f)) for f in files]
            _check_digest(source, facts)
        groups = [tuple(files)] if source["limit"] else [(f,) for f in files]
        splits = tuple(
            Split(first + i, position, source_name(source), group, dataset, source["limit"])
            for i, group in enumerate(groups)
        )
        resolved.append(Source(source_name(source), splits, tuple(facts)))
    return resolved


def file_facts(path: Path) -> dict[str, Any]:
    """Name, size in bytes and SHA-256 of a file."""
    with open(path, "rb") as f:
        digest = hashlib.file_digest(f, "sha256").hexdigest()
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest}


def source_digest(facts: list[dict[str, Any]]) -> str:
    """What ``Source.sha256`` is compared with: of one file, or of the lines that sha256sum prints for several."""
    if len(facts) == 1:
        return facts[0]["sha256"]
    return hashlib.sha256("".join(f"{f['sha256']}  {f['name']}\n" for f in facts).encode()).hexdigest()


def _local_files(source: Mapping[str, Any]) -> list[str]:
    if source["sample"]:
        return [str(marin_samples.path(source["sample"]["name"]))]
    path = source["file"]["path"]
    files = sorted(glob.glob(path)) if glob.has_magic(path) and not Path(path).is_file() else [path]
    if not files or not all(Path(f).is_file() for f in files):
        missing = next((f for f in files if not Path(f).is_file()), path)
        raise DataError(
            f"source '{source_name(source)}': no file {'matches' if not files else 'is at'} {missing}",
            hint="check the path; it must lie where the data service's workers can open it",
            reason="MISSING_FILE",
            file=missing,
        )
    return files


def _check_digest(source: Mapping[str, Any], facts: list[dict[str, Any]]) -> None:
    found = source_digest(facts)
    if source["sha256"] and source["sha256"] != found:
        raise DataError(
            f"source '{source_name(source)}': its files changed: the spec says sha256 {source['sha256'][:12]}…, "
            f"now it is {found[:12]}…",
            hint=f"put the old files back, or set sha256 to {found} under a new version",
            reason="DIGEST_MISMATCH",
            source=source_name(source),
        )
