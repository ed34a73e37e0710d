"""Manifests and content digests."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class HashedFile(Protocol):
    """Anything with a path below the artifact, a size in bytes and a sha256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class FileEntry:
    """One file of a manifest."""

    path: str
    size: int
    sha256: str


def content_digest(files: Iterable[HashedFile]) -> str:
    """Merkle root over content files: ``sha256:<hex>`` of the sorted lines ``path NUL size NUL sha256 LF``."""
    root = hashlib.sha256()
    for f in sorted(files, key=lambda f: f.path):
        root.update(f"{f.path}\0{f.size}\0{f.sha256}\n".encode())
    return f"sha256:{root.hexdigest()}"


def scan(directory: Path, *, sync: bool = False) -> list[FileEntry]:
    """Hashes every regular file below ``directory``, sorted by path; with ``sync``, also forces each to disk.

    Raises ValueError for a symbolic link: an artifact must hold all its bytes itself.
    """
    entries = []
    for path in sorted(p for p in directory.rglob("*") if p.is_symlink() or p.is_file()):
        if path.is_symlink():
            raise ValueError(f"{path} is a symbolic link; write the file itself into the artifact")
        with open(path, "rb") as f:
            sha256 = hashlib.file_digest(f, "sha256").hexdigest()
            if sync:
                os.fsync(f.fileno())
            size = f.tell()
        entries.append(FileEntry(path.relative_to(directory).as_posix(), size, sha256))
    return entries


def verify(directory: Path, files: Iterable[HashedFile]) -> list[str]:
    """Compares a directory with a manifest; returns one line for each missing, changed or surplus file."""
    wanted = {f.path: f for f in files}
    found = {e.path: e for e in scan(directory)}
    problems = [f"missing: {p}" for p in sorted(wanted.keys() - found.keys())]
    problems += [f"not in the manifest: {p}" for p in sorted(found.keys() - wanted.keys())]
    problems += [
        f"changed: {p} ({found[p].size} bytes, {wanted[p].size} expected)"
        for p in sorted(wanted.keys() & found.keys())
        if found[p].sha256 != wanted[p].sha256
    ]
    return problems
