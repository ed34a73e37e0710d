"""Starting, recognising and ending operating-system processes (Linux)."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def identity(pid: int) -> str | None:
    """What tells a process from a later one with the same number: boot and start time. None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else f"{_BOOT.read_text().strip()[:8]}-{fields[19]}"
    except OSError:
        return None


def is_same(pid: int, started: str) -> bool:
    """Whether the process that was recorded still lives."""
    return identity(pid) == started


def spawn(command: list[str], env: dict[str, str], cwd: Path, log: Path, die_with_parent: bool) -> subprocess.Popen:
    """Starts a process in a session of its own, its output appended to ``log``.

    With ``die_with_parent`` the kernel sends it SIGTERM when the calling thread's process ends, however that happens.
    """
    parent = os.getpid()

    def in_child() -> None:
        if die_with_parent:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # it ended before the request was made
                os._exit(1)

    with open(log, "ab") as out:
        return subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=in_child,
        )


async def wait_end(pid: int) -> None:
    """Returns when the process has ended, child of ours or not."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def signal_group(pid: int, signum: int) -> None:
    """Signals the process and what it started, which lives in its group unless it chose otherwise."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signum)


async def end(pid: int, grace: float) -> None:
    """SIGTERM to the process; SIGKILL to its whole group when it ended or ``grace`` seconds passed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(wait_end(pid), grace)
    signal_group(pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(wait_end(pid), 5)
