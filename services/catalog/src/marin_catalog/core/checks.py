"""Checks of numbers and manifests that callers send."""

import re

from marin_catalog.core.errors import BadRequest
from marin_catalog.core.model import SECOND, FileEntry, Manifest, RetryPolicy

MAX_PAGE, DEFAULT_PAGE = 1000, 100
_SHA256 = re.compile(r"[0-9a-f]{64}")


def page_limit(page_size: int, default: int = DEFAULT_PAGE) -> int:
    """Rows to return. Raises BadRequest for a negative number; more than 1000 is cut to 1000."""
    if page_size < 0:
        raise BadRequest(f"page_size is {page_size}", hint="give 1 to 1000, or 0 for 100", reason="BAD_PAGE_SIZE")
    return min(page_size or default, MAX_PAGE)


def page_start(token: str) -> int | None:
    """Sequence number below which a page starts. Raises BadRequest for a token that no list gave out."""
    if not token:
        return None
    if not token.isdecimal():
        raise BadRequest(
            f"'{token}' is no page token",
            hint="hand back next_page_token as it came",
            reason="BAD_PAGE_TOKEN",
        )
    return int(token)


def check_ttl(ttl: int) -> None:
    """Raises BadRequest unless a lease would last at least a millisecond and at most a day."""
    if not SECOND // 1000 <= ttl <= 86_400 * SECOND:
        raise BadRequest(
            f"a lease of {ttl / SECOND:g} s", hint="give a ttl from 1 ms to 1 day; 10 s is usual", reason="BAD_TTL"
        )


def check_retry(retry: RetryPolicy) -> None:
    """Raises BadRequest for a policy without an attempt, or with waits that are negative or longer than a day."""
    if retry.max_attempts < 1:
        raise BadRequest(
            f"max_attempts is {retry.max_attempts}", hint="give 1 or more, or 0 for 3", reason="BAD_ATTEMPTS"
        )
    if not 0 <= retry.backoff_base <= retry.backoff_max <= 86_400 * SECOND:
        raise BadRequest(
            f"backoff from {retry.backoff_base / SECOND:g} s to {retry.backoff_max / SECOND:g} s",
            hint="give 0 <= backoff_base <= backoff_max <= 1 day; 1 s and 60 s are usual",
            reason="BAD_BACKOFF",
        )


def check_manifest(manifest: Manifest, claimed: str, computed: str) -> None:
    """Raises BadRequest, naming the file, for anything that cannot be a manifest of ``claimed`` digest."""
    if not manifest.content:
        raise BadRequest("the manifest lists no content file", hint="an artifact needs a file", reason="BAD_MANIFEST")
    for part in (manifest.content, manifest.record):
        seen: set[str] = set()
        for f in part:
            if problem := _problem(f, seen):
                raise BadRequest(
                    f"manifest entry '{f.path}': {problem}",
                    hint="list each regular file once, by its path below the artifact",
                    reason="BAD_MANIFEST",
                    path=f.path,
                )
            seen.add(f.path)
    if claimed != computed:
        raise BadRequest(
            f"the manifest's {len(manifest.content)} content files add up to {computed}, the request says {claimed}",
            hint="compute content_digest with marin_artifacts.digest over exactly these files",
            reason="DIGEST_MISMATCH",
        )


def _problem(f: FileEntry, seen: set[str]) -> str:
    if f.path in seen:
        return "is listed twice"
    if not f.path or "\0" in f.path or "\n" in f.path or "\\" in f.path:
        return "is no path"
    if any(part in ("", ".", "..") for part in f.path.split("/")):
        return "leaves the artifact or is not normal"
    if f.size < 0:
        return f"has size {f.size}"
    return "" if _SHA256.fullmatch(f.sha256) else f"has sha256 '{f.sha256}'"
