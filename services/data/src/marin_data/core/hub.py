"""Reads Parquet files of a Hugging Face hub by byte ranges, without fetching whole files."""

import fnmatch
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import httpx
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from marin_datakernels.errors import DataError
from marin_datakernels.rows import Numbered, read_parquet

ATTEMPTS = 5
FIRST_PAUSE = float(os.environ.get("MARIN_HUB_FIRST_PAUSE", "1"))
"""Seconds before the second attempt; each later pause is twice as long."""


@dataclass(frozen=True)
class Dataset:
    """A data set at a commit."""

    name: str
    commit: str


def resolve(dataset: str, revision: str, path: str) -> tuple[Dataset, list[str]]:
    """The commit behind ``revision`` and the files that match ``path``, sorted. Raises DataError."""
    what = f"{dataset} at revision {revision}"
    info = _with_retries(lambda: HfApi().dataset_info(dataset, revision=revision), what)
    files = sorted(s.rfilename for s in info.siblings or [] if fnmatch.fnmatchcase(s.rfilename, path))
    if not files:
        raise DataError(
            f"{what} has no file that matches '{path}'",
            hint=f"it holds {len(info.siblings or [])} files; look at the data set's page for their paths",
            reason="HUB_NOT_FOUND",
            dataset=dataset,
        )
    return Dataset(dataset, info.sha or revision), files


def read(dataset: Dataset, path: str, columns: list[str]) -> Iterator[Numbered]:
    """Rows of a file from 0. A connection that breaks is taken up again after the last row. Raises DataError."""
    done = 0
    where = f"{dataset.name}/{path}"
    for attempt in range(ATTEMPTS):
        try:
            with HfFileSystem().open(f"datasets/{dataset.name}@{dataset.commit}/{path}", "rb") as f:
                for row in islice(read_parquet(f, where, columns), done, None):
                    yield row
                    done += 1
            return
        except (OSError, httpx.HTTPError, OfflineModeIsEnabled) as e:
            _pause_or_raise(e, attempt, where)


def _with_retries[T](call: Callable[[], T], what: str) -> T:
    for attempt in range(ATTEMPTS):
        try:
            return call()
        except (OSError, httpx.HTTPError, OfflineModeIsEnabled) as e:
            _pause_or_raise(e, attempt, what)
    raise AssertionError("the last attempt raises")


def _pause_or_raise(error: Exception, attempt: int, what: str) -> None:
    permanent = _permanent(error, what)
    if permanent:
        raise permanent from error
    if attempt == ATTEMPTS - 1:
        raise DataError(
            f"the hub failed {ATTEMPTS} times for {what}; the last time: {_short(error)}",
            hint="run again when the hub can be reached; HF_ENDPOINT chooses another one",
            reason="HUB_UNAVAILABLE",
        ) from error
    time.sleep(FIRST_PAUSE * 2**attempt)


def _permanent(error: Exception, what: str) -> DataError | None:
    if isinstance(error, OfflineModeIsEnabled):
        return DataError(
            f"{what} must be read from the hub, and HF_HUB_OFFLINE forbids it",
            hint="unset HF_HUB_OFFLINE for the data service, or use a sample or file source",
            reason="HUB_OFFLINE",
        )
    status = error.response.status_code if isinstance(error, HfHubHTTPError) and error.response is not None else 0
    if isinstance(error, GatedRepoError) or status in (401, 403):
        return DataError(
            f"the hub does not let us read {what}: {_short(error)}",
            hint="accept the data set's terms on its page and set HF_TOKEN for the data service",
            reason="HUB_DENIED",
        )
    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError | FileNotFoundError) or status == 404:
        return DataError(
            f"the hub has no {what}: {_short(error)}",
            hint="check the data set's name, revision and path; a private one needs HF_TOKEN",
            reason="HUB_NOT_FOUND",
        )
    return None


def _short(error: Exception) -> Any:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
