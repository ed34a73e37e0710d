"""Where a run is asked for: commit, dirt, command line, user and host, for its record."""

import getpass
import shlex
import socket
import subprocess
import sys

from marin.workflow.v1 import workflow_pb2 as wf


def here() -> wf.Provenance:
    """Of this process. Outside a checkout, or without git, the revision is empty."""
    revision = _git("rev-parse", "HEAD")
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no name for this user id
        user = ""
    return wf.Provenance(
        git_revision=revision,
        git_dirty=bool(revision and _git("status", "--porcelain")),
        command=shlex.join(["marin", *sys.argv[1:]]),
        user=user,
        host=socket.gethostname(),
    )


def _git(*args: str) -> str:
    try:
        command = ["git", "--no-optional-locks", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
