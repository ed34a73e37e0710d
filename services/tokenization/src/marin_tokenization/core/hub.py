"""Fetches tokenizer files from a Hugging Face hub at a pinned commit."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from marin_chassis.engine import EngineError

ATTEMPTS = 3  # of a call; the worker starts the job again after that
FIRST_PAUSE = float(os.environ.get("MARIN_HUB_FIRST_PAUSE", "1"))
"""Seconds before the second attempt; each later pause is twice as long."""


def fetch(repo: str, revision: str, wanted: Sequence[str], target: Path) -> str:
    """Puts those of the ``wanted`` files that the repository has below ``target/COMMIT`` and returns the commit.

    Raises :class:`EngineError` if the hub cannot be reached, may not be used, or does not have the revision.
    """
    what = f"{repo} at revision {revision}"
    info = _with_retries(lambda: HfApi().model_info(repo, revision=revision), what)
    commit = info.sha or ""
    if not commit.startswith(revision):
        raise EngineError(
            f"the hub answers for {what} with commit {commit or 'none'}: the revision is a branch or tag of that name",
            hint="set hub.revision to a commit",
            reason="UNPINNED_REVISION",
        )
    files = sorted({s.rfilename for s in info.siblings or []} & set(wanted))
    for name in files:
        _with_retries(lambda n=name: hf_hub_download(repo, n, revision=commit, local_dir=target / commit), what)
    return commit


def _with_retries[T](call: Callable[[], T], what: str) -> T:
    for attempt in range(ATTEMPTS):
        try:
            return call()
        except (OSError, httpx.HTTPError) as e:
            if permanent := _permanent(e, what):
                raise permanent from e
            if attempt == ATTEMPTS - 1:
                raise EngineError(
                    f"the hub failed {ATTEMPTS} times for {what}; the last time: {_short(e)}",
                    hint="run again when the hub can be reached, name another one in HF_ENDPOINT, or import a copy of "
                    "the tokenizer files as a directory",
                    reason="HUB_UNAVAILABLE",
                    code="UNAVAILABLE",
                    retryable=True,
                ) from e
        time.sleep(FIRST_PAUSE * 2**attempt)
    raise AssertionError("the last attempt raises")


def _permanent(error: Exception, what: str) -> EngineError | None:
    """The error that trying again cannot change, or None."""
    if isinstance(error, OfflineModeIsEnabled) or isinstance(error.__cause__, OfflineModeIsEnabled):
        return EngineError(
            f"the tokenizer {what} must be read from the hub, and HF_HUB_OFFLINE forbids it",
            hint="unset HF_HUB_OFFLINE for the tokenization service, or import a copy of the tokenizer files as a "
            "directory",
            reason="HUB_OFFLINE",
            code="FAILED_PRECONDITION",
        )
    status = error.response.status_code if isinstance(error, HfHubHTTPError) and error.response is not None else 0
    if isinstance(error, GatedRepoError) or status in (401, 403):
        return EngineError(
            f"the hub does not let us read {what}: {_short(error)}",
            hint="accept the terms on the repository's page and set HF_TOKEN for the tokenization service",
            reason="HUB_DENIED",
            code="PERMISSION_DENIED",
        )
    missing = isinstance(error, RepositoryNotFoundError | RevisionNotFoundError) or status == 404
    if missing and not isinstance(error, LocalEntryNotFoundError):
        return EngineError(
            f"the hub has no {what}: {_short(error)}",
            hint="check owner, repository and commit; a private repository needs HF_TOKEN",
            reason="HUB_NOT_FOUND",
            code="NOT_FOUND",
        )
    return None


def _short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
