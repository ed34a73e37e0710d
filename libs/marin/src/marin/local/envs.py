"""Python environments of the client, the services and the harnesses: one lock each, installed when first needed.

An environment is good when a copy of its lock lies in it, and that copy is written last: an install that is killed
at any moment leaves none. Our own packages are not built: a ``.pth`` file puts their source roots on the path.
Environments with the same lock share one directory.
"""

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from marin.local import uv
from marin.local.environments import TABLE, Environment
from marin.local.errors import LocalError

ROOT = Path(__file__).resolve().parents[5]
STAMP, BUSY, PTH = "marin-env.lock", "marin-env.installing", "marin_sources.pth"
Report = Callable[[str], None]


def say(line: str) -> None:
    """The default report: a line on stderr."""
    print(line, file=sys.stderr, flush=True)


class Environments:
    """The environments of one checkout below one directory. Threads and processes may call it at the same time."""

    def __init__(
        self, root: Path = ROOT, table: tuple[Environment, ...] = TABLE, directory: Path | None = None
    ) -> None:
        self.root = root
        self.table = {e.name: e for e in table}
        self.directory = Path(directory or os.environ.get("MARIN_ENVS_DIR") or root / ".envs").absolute()

    def python(self, name: str) -> Path:
        """The interpreter of an environment, installed or not."""
        return self.directory / self.get(name).name / "bin" / "python"

    def get(self, name: str) -> Environment:
        """Raises LocalError that lists the known names."""
        if name not in self.table:
            raise LocalError(f"there is no environment '{name}'", f"choose from: {', '.join(self.table)}")
        return self.table[name]

    def state(self, name: str) -> str:
        """``ready``, ``stale`` (installed from another lock or with other sources) or ``missing``."""
        home = self._home(name)
        if not self.python(name).exists() or (home / BUSY).exists():
            return "missing"
        fresh = _read(home / STAMP) == self._lock(name) and self._path_is_right(home, name)
        entry = self.directory / name
        return "ready" if fresh and entry.resolve() == home.resolve() else "stale"

    def ensure(self, name: str, report: Report = say, tty: bool | None = None) -> Path:
        """Installs the environment if it is missing or stale, and returns its interpreter. No network when it is ready.

        ``tty``: show uv's own progress bars (default: if stderr is a terminal). Raises LocalError.
        """
        if self.state(name) == "ready":
            return self.python(name)
        tty = sys.stderr.isatty() if tty is None else tty
        try:
            with self._installing(name, report) as lock:
                if self.state(name) != "ready":
                    self._install(name, report, tty, lock)
        except OSError as e:
            raise LocalError(
                f"the environment {name} could not be written below {self.directory}: {e}",
                "make that directory writable and see that its disk has room, or set MARIN_ENVS_DIR to another one",
            ) from e
        return self.python(name)

    def remove(self, name: str) -> None:
        """Deletes the environment (for a shared one, only this name of it while another still stands on it)."""
        entry = self.directory / self.get(name).name
        if entry.is_symlink():
            entry.unlink()
            return
        sharing = [
            o
            for o in self.table
            if (self.directory / o).is_symlink() and (self.directory / o).resolve() == entry.resolve()
        ]
        if sharing:
            raise LocalError(
                f"the environment {name} also serves {', '.join(sharing)}", f"remove {' '.join(sharing)} first"
            )
        shutil.rmtree(entry, ignore_errors=True)

    def describe(self, name: str) -> str:
        """Size of what the lock brings, from its first line, which ``tools/lock`` writes."""
        first = self._lock(name).split(b"\n", 1)[0].decode()
        return first.removeprefix("# ") if first.startswith("# ") else f"{self._lock(name).count(b'==')} packages"

    def _lock(self, name: str) -> bytes:
        path = self.root / self.get(name).lock
        try:
            return path.read_bytes()
        except OSError as e:
            raise LocalError(
                f"the lock of the environment {name} cannot be read: {e}", "check out the whole repository"
            ) from e

    def _twins(self, name: str) -> list[str]:
        """Names with the same lock, in the table's order."""
        mine, path = self._lock(name), self.root / self.get(name).lock
        size = path.stat().st_size
        others = ((o, self.root / e.lock) for o, e in self.table.items())
        return [o for o, p in others if p.exists() and p.stat().st_size == size and p.read_bytes() == mine]

    def _home(self, name: str) -> Path:
        """The directory that holds the environment: its own if it has one, else that of the first twin."""
        real = [n for n in self._twins(name) if (self.directory / n).is_dir() and not (self.directory / n).is_symlink()]
        chosen = name if name in real else (real or self._twins(name))[0]
        return self.directory / chosen

    def _path_text(self, name: str) -> str:
        roots = dict.fromkeys(s for twin in self._twins(name) for s in self.table[twin].sources)
        return "".join(f"{self.root / r}\n" for r in roots)

    def _path_is_right(self, home: Path, name: str) -> bool:
        return _read(_site(home) / PTH) == self._path_text(name).encode()

    @contextmanager
    def _installing(self, name: str, report: Report) -> Iterator[int]:
        """One installer of an environment at a time, in this process and any other. Yields the lock's descriptor."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f".{self._home(name).name}.flock", "w") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report(f"environment {name}: another process is installing it; waiting")
                fcntl.flock(f, fcntl.LOCK_EX)
            yield f.fileno()

    def _install(self, name: str, report: Report, tty: bool, held: int) -> None:
        home, entry, lock = self._home(name), self.directory / name, self._lock(name)
        if entry.is_symlink() or entry != home:
            entry.unlink(missing_ok=True)
        if (home / BUSY).exists() or (home.exists() and not (home / "bin" / "python").exists()):
            shutil.rmtree(
                home
            )  # the last install was ended half way: what it left cannot be told from what it finished
        if _read(home / STAMP) != lock:
            self._sync(name, home, report, tty, held)
        site = _site(home)
        _write(site / PTH, self._path_text(name).encode())
        _write(home / STAMP, lock)
        if entry != home:
            entry.symlink_to(home.name)

    def _sync(self, name: str, home: Path, report: Report, tty: bool, held: int) -> None:
        env = self.get(name)
        report(f"environment {name} ({env.what}): {self.describe(name)}; less what is in uv's cache")
        began = time.monotonic()
        tool = uv.find_uv(self.directory, report)
        home.mkdir(exist_ok=True)
        (home / BUSY).touch()
        (home / STAMP).unlink(missing_ok=True)
        interpreter = home / "bin" / "python"
        if not interpreter.exists():
            venv = [tool, "venv", "--quiet", "--allow-existing", "--python", uv.base_python(), str(home)]
            uv.run(venv, f"environment {name}", report, False, held)
        sync = [tool, "pip", "sync", "--require-hashes", "--python", str(interpreter), str(self.root / env.lock)]
        uv.run(sync, f"environment {name}", report, tty, held)
        (home / BUSY).unlink()
        report(f"environment {name}: ready after {time.monotonic() - began:.0f} s")


def _site(home: Path) -> Path:
    return home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    tmp = path.with_name(path.name + ".tmp")
    tmp.write_bytes(data)
    os.replace(tmp, path)


_default = Environments()
python, state, ensure, remove = _default.python, _default.state, _default.ensure, _default.remove


def main(argv: list[str]) -> int:
    """``marin env list | install NAME... | remove NAME...``; returns the exit status."""
    usage = f"usage: marin env list | install NAME... | install all | remove NAME...\nnames: {', '.join(TABLE_NAMES)}"
    verb, names = (argv[0], argv[1:]) if argv else ("list", [])
    try:
        if verb == "list" and not names:
            _print_list()
        elif verb == "install" and names:
            for name in TABLE_NAMES if names == ["all"] else names:
                ensure(name)
        elif verb == "remove" and names:
            for name in names:
                remove(name)
                say(f"environment {name}: removed")
        else:
            print(usage, file=sys.stdout if verb in ("-h", "--help", "help") else sys.stderr)
            return 0 if verb in ("-h", "--help", "help") else 2
    except LocalError as e:
        say(f"error: {e}")
        return 1
    return 0


def _print_list() -> None:
    print(f"{'ENVIRONMENT':<17}{'STATE':<9}{'ON DISK':>9}  WHAT")
    for name, env in _default.table.items():
        entry = _default.directory / name
        try:
            shown, size = state(name), _default.describe(name)
        except LocalError:
            shown, size = "no lock", "-"
        place = f"shares {entry.resolve().name}" if entry.is_symlink() else _megabytes(entry)
        print(f"{name:<17}{shown:<9}{place:>9}  {env.what}; {size}")


def _megabytes(home: Path) -> str:
    if not home.is_dir():
        return "-"
    total = sum(os.lstat(os.path.join(d, f)).st_size for d, _, files in os.walk(home) for f in files)
    return f"{total / 1e6:,.0f} MB"


TABLE_NAMES = tuple(_default.table)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
