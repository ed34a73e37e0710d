"""Ports of one workspace: a block of consecutive ports on the loopback interface, held by binding the first."""

import contextlib
import os
import socket
from pathlib import Path

from marin.local.errors import LocalError

HOST = "127.0.0.1"
FIRST, STEP, LAST = 7000, 20, 7980


def claim_block(
    offsets: dict[str, int], wanted: int | None = None, before: int | None = None
) -> tuple[int, socket.socket]:
    """Claims a block whose ports (``base + offset``) are free. Returns the base and the socket that holds the claim.

    ``wanted`` is a base that the user asked for: a busy port in it is a LocalError that names the port and its owner.
    Without it ``before`` (the last base of this workspace) is tried, then 7000, 7020, ...
    """
    if wanted is not None:
        _check_range(wanted, offsets)
        anchor = _bind(wanted)
        busy = [wanted] if anchor is None else []
        busy += [wanted + o for o in offsets.values() if not is_free(wanted + o)]
        if anchor and not busy:
            return wanted, anchor
        raise _busy(busy[0], wanted, {wanted + o: name for name, o in offsets.items()})
    for base in dict.fromkeys([*([before] if before else []), *range(FIRST, LAST + 1, STEP)]):
        anchor = _bind(base)
        if anchor is None:
            continue
        if all(is_free(base + o) for o in offsets.values()):
            return base, anchor
        anchor.close()
    raise LocalError(
        f"no block of free ports was found between {FIRST} and {LAST + STEP}",
        "stop what is no longer needed (`marin down` in other workspaces), or set MARIN_PORT_BASE",
    )


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    bound = _bind(port)
    if bound is None:
        return False
    bound.close()
    return True


def accepts(port: int) -> bool:
    """Whether something answers on this port."""
    try:
        socket.create_connection((HOST, port), timeout=0.5).close()
    except OSError:
        return False
    return True


def owner(port: int) -> str | None:
    """``PID (command line)`` of the process that listens on this port, if this user may see it (Linux)."""
    sockets = {
        f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _listening(Path("/proc/net") / table, port)
    }
    for process in Path("/proc").glob("[0-9]*") if sockets else ():
        if sockets & _open_files(process):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            return f"{process.name} ({command[:120]})"
    return None


def _bind(port: int) -> socket.socket | None:
    """Bound and listening with no backlog to speak of: a port that is only bound could still be taken by a listener."""
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind((HOST, port))
        s.listen(1)
    except OSError:
        s.close()
        return None
    return s


def _check_range(base: int, offsets: dict[str, int]) -> None:
    highest = base + max(offsets.values(), default=0)
    if base < 1 or highest > 65535:
        raise LocalError(
            f"the port base {base} needs ports {base} to {highest}, and ports end at 65535",
            "choose a base like 7000 or 17000",
        )


def _busy(port: int, base: int, names: dict[int, str]) -> LocalError:
    who = owner(port)
    held = f"is held by process {who}" if who else "is in use by another process"
    return LocalError(
        f"port {port} (for {names.get(port, 'the supervisor')}, by the port base {base} that was asked for) {held}",
        "stop that process, or set MARIN_PORT_BASE to another base, or unset it to have free ports found",
    )


def _open_files(process: Path) -> set[str]:
    """What its descriptors point at; those that are closed meanwhile, or that this user may not see, are left out."""
    targets = set()
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                targets.add(os.readlink(descriptor))
    return targets


def _listening(table: Path, port: int) -> list[str]:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [r[9] for r in rows if r[3] == "0A" and int(r[1].rsplit(":", 1)[1], 16) == port]
