"""Finds or installs uv, and runs it with progress and errors a person can act on."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from marin.local.errors import LocalError

Report = Callable[[str], None]
OLDEST = (0, 5)
HEARTBEAT_SECONDS = 10
_NO_NETWORK = re.compile(
    r"error sending request|dns error|connect error|connection refused|timed? ?out|network was disabled|unreachable",
    re.I,
)


def base_python() -> str:
    """The interpreter that environments are made from: never one inside an environment, which may be rebuilt."""
    return getattr(sys, "_base_executable", None) or sys.executable


def find_uv(directory: Path, report: Report) -> str:
    """``MARIN_UV``, or uv on PATH, or ``directory/uv``, which is installed with pip when there is none.

    Raises LocalError when pip is missing or reaches no package index.
    """
    own = directory / "uv" / "bin" / "uv"
    for candidate in (os.environ.get("MARIN_UV"), shutil.which("uv"), str(own)):
        if candidate and _recent(candidate):
            return candidate
    report("uv (the installer): not found, so it is installed with pip; about 25 MB to download")
    _install_uv(own)
    return str(own)


def _recent(uv: str) -> bool:
    try:
        text = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    numbers = re.search(r"(\d+)\.(\d+)", text)
    return bool(numbers) and (int(numbers[1]), int(numbers[2])) >= OLDEST


def _install_uv(own: Path) -> None:
    home = own.parent.parent
    shutil.rmtree(home, ignore_errors=True)
    python = base_python()
    made = subprocess.run([python, "-m", "venv", str(home)], capture_output=True, text=True)
    if made.returncode == 0:
        pip = [str(home / "bin" / "python"), "-m", "pip", "install"]
    else:  # a distribution's Python without ensurepip, but perhaps with pip
        shutil.rmtree(home, ignore_errors=True)
        pip = [python, "-m", "pip", "install", "--target", str(home)]
    requirement = f"uv>={OLDEST[0]}.{OLDEST[1]},<1"
    try:
        done = subprocess.run(
            [*pip, "--quiet", "--disable-pip-version-check", requirement], capture_output=True, text=True
        )
    except OSError as e:
        raise LocalError(f"{python} cannot be run: {e}", "install Python 3.12, then try again") from e
    if done.returncode != 0 or not own.exists():
        shutil.rmtree(home, ignore_errors=True)
        why = (done.stderr or made.stderr).strip().splitlines()
        raise LocalError(
            f"uv could not be installed into {home}: {why[-1] if why else 'pip said nothing'}",
            "connect to a package index (or set PIP_INDEX_URL to your mirror), or install uv yourself "
            "(`pip install uv`) and put it on PATH",
        )


def run(command: list[str], what: str, report: Report, tty: bool, held: int) -> None:
    """Runs uv. With ``tty`` its own progress bars show; else its lines go to ``report`` with a heartbeat between.

    ``held``: the descriptor of the installer's lock, which uv inherits: if we are killed, the lock holds until uv ends.
    Raises LocalError that says why it failed and how to go on.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")}
    env.setdefault("UV_HTTP_TIMEOUT", "120")
    try:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if tty else subprocess.PIPE,
            text=True,
            pass_fds=(held,),
        )
    except OSError as e:
        raise LocalError(f"uv ({command[0]}) cannot be run: {e}", "remove it from PATH or install uv again") from e
    lines = [] if tty else _follow(process, what, report)
    if process.wait() != 0:
        raise _explain(lines, what, process.returncode)


def _follow(process: subprocess.Popen, what: str, report: Report) -> list[str]:
    """Reports the lines worth reading, and says every few seconds that it goes on."""
    lines: list[str] = []
    large = {"begun": 0, "done": 0}
    ended = threading.Event()
    began = time.monotonic()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            report(
                f"{what}: {time.monotonic() - began:.0f} s, {large['done']} of {large['begun']} large downloads done"
            )

    threading.Thread(target=beat, daemon=True).start()
    try:
        for line in process.stderr or ():
            lines.append(line.rstrip())
            text = line.strip()
            large["begun"] += text.startswith("Downloading ")
            large["done"] += text.startswith("Downloaded ")
            if text.startswith(("Downloading ", "Building ", "Prepared ", "Installed ")):
                report(f"{what}: {text}")
    finally:
        ended.set()
    return lines


def _explain(lines: list[str], what: str, status: int) -> LocalError:
    text = "\n".join(lines)
    tail = "\n    ".join(lines[-12:]) if lines else "its output is above"
    message = f"{what} could not be installed (uv ended with status {status}):\n    {tail}"
    if "No space left" in text:
        return LocalError(
            message, "free some disk space, or put environments elsewhere with MARIN_ENVS_DIR=/other/disk"
        )
    if "Permission denied" in text or "Read-only file system" in text:
        return LocalError(
            message, "make that directory writable, or set MARIN_ENVS_DIR (and UV_CACHE_DIR) to one that is"
        )
    if "Hash mismatch" in text:
        return LocalError(
            message, "the index serves other files than were locked: check the mirror, or lock again with ./tools/lock"
        )
    if "certificate" in text:
        return LocalError(
            message,
            "set SSL_CERT_FILE to the certificates your network uses (often /etc/ssl/certs/ca-certificates.crt)",
        )
    if _NO_NETWORK.search(text) or not lines:
        return LocalError(
            message,
            "check that this machine reaches a package index (UV_DEFAULT_INDEX names a mirror), then run the same "
            "command again: what was downloaded is kept",
        )
    return LocalError(
        message, f"read uv's words above; `./tools/marin env remove {what.split()[-1]}` starts that one afresh"
    )
