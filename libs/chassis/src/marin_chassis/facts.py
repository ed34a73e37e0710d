"""Facts about this process for the record of an attempt: where it ran and from which code. No part of any identity."""

import os
import platform
import subprocess
from pathlib import Path


def process_facts() -> dict[str, str]:
    """``python``, ``platform``, and ``git_revision`` and ``git_dirty`` where the code is a checkout.

    An image has no checkout: there ``MARIN_GIT_REVISION``, set when it was built, is taken as it is.
    """
    facts = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    if revision := os.environ.get("MARIN_GIT_REVISION"):
        return {**facts, "git_revision": revision}
    revision = _git("rev-parse", "HEAD")
    if revision is None:
        return facts
    return {**facts, "git_revision": revision, "git_dirty": "true" if _git("status", "--porcelain") else "false"}


def _git(*args: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(Path(__file__).parent), *args]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
