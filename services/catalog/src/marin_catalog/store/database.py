"""How the two databases are talked to. Units of work are plain functions over a SQLAlchemy ``Connection``.

SQLite gets one writer thread and a few reader threads, so that a transaction costs one hop instead of one a statement;
PostgreSQL is driven by asyncpg on the event loop.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from marin_catalog.core.errors import StoreError

T = TypeVar("T")
Work = Callable[[Connection], T]
log = logging.getLogger("marin.catalog.store")
BUSY_TIMEOUT_MS = 5_000
READERS = 3


class Database(Protocol):
    """``write`` runs its work in one transaction. Both raise StoreError when the database cannot do its work."""

    async def read(self, work: Work[T]) -> T: ...

    async def write(self, work: Work[T]) -> T: ...

    async def close(self) -> None: ...


def open_database(url: str) -> Database:
    """Raises StoreError for a URL of another kind of database, or a SQLite path that cannot be written."""
    try:
        parsed = make_url(url)
    except ArgumentError as e:
        raise _bad_url(url) from e
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        return SqliteDatabase(Path(parsed.database))
    if parsed.get_backend_name() == "postgresql":
        return PostgresDatabase(parsed.set(drivername="postgresql+asyncpg"))
    raise _bad_url(url)


def _bad_url(url: str) -> StoreError:
    shown = url.rpartition("@")[2]
    return StoreError(
        f"'{shown}' is no database that the catalog can use",
        hint="set MARIN_CATALOG_URL to sqlite:///path/catalog.db or postgresql://user:password@host/database",
        reason="BAD_DATABASE_URL",
        code="INVALID_ARGUMENT",
    )


class SqliteDatabase:
    """WAL with synchronous=FULL: a committed transaction survives the loss of power."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab"):
                pass
        except OSError as e:
            raise StoreError(
                f"the catalog cannot write its database {path}: {e.strerror}",
                hint="make the directory writable, or choose another with --workspace or MARIN_CATALOG_URL",
                reason="STORE_NOT_WRITABLE",
                code="FAILED_PRECONDITION",
            ) from e
        self._name = str(path)
        self._writer, self._reader = _sqlite_engine(path, writes=True), _sqlite_engine(path, writes=False)
        self._write_thread = ThreadPoolExecutor(1, "catalog-write")
        self._read_threads = ThreadPoolExecutor(READERS, "catalog-read")

    async def read(self, work: Work[T]) -> T:
        return await self._run(self._read_threads, self._reader, work)

    async def write(self, work: Work[T]) -> T:
        return await self._run(self._write_thread, self._writer, work)

    async def _run(self, threads: ThreadPoolExecutor, engine: Engine, work: Work[T]) -> T:
        def unit() -> T:
            with engine.begin() as connection:
                return work(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(threads, unit)
        except DBAPIError as e:
            raise _explain(e, self._name) from e

    async def close(self) -> None:
        for threads in (self._write_thread, self._read_threads):
            threads.shutdown(wait=True, cancel_futures=True)
        for engine in (self._reader, self._writer):
            engine.dispose()


def _sqlite_engine(path: Path, writes: bool) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), pool_size=1 if writes else READERS, max_overflow=0)

    @event.listens_for(engine, "connect")
    def _set_up(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in (f"busy_timeout={BUSY_TIMEOUT_MS}", "journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


class PostgresDatabase:
    """READ COMMITTED; what needs more is guarded by revisions and unique indexes."""

    def __init__(self, url: URL) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        self._name = url.render_as_string(hide_password=True)
        self._engine = create_async_engine(url, pool_size=10, max_overflow=10, pool_timeout=10)
        self._reader = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    async def read(self, work: Work[T]) -> T:
        async def unit() -> T:
            async with self._reader.connect() as connection:
                return await connection.run_sync(work)

        try:
            return await self._guarded(unit)
        except StoreError as e:
            if e.code != "UNAVAILABLE":
                raise
            return await self._guarded(unit)  # the pool held a connection that had died meanwhile

    async def write(self, work: Work[T]) -> T:
        async def unit() -> T:
            async with self._engine.begin() as connection:
                return await connection.run_sync(work)

        return await self._guarded(unit)

    async def _guarded(self, unit: Callable[[], Any]) -> Any:
        try:
            return await unit()
        except DBAPIError as e:
            raise _explain(e, self._name) from e
        except (OSError, TimeoutError) as e:
            raise _unreachable(e, self._name) from e

    async def close(self) -> None:
        await self._engine.dispose()


def _explain(error: DBAPIError, name: str) -> Exception:
    """The error as the core's own; an IntegrityError stays, as it tells of a conflict."""
    if isinstance(error, IntegrityError):
        return error
    said = str(error.orig)
    if "locked" in said:
        return StoreError(
            f"the database {name} was locked by another process for {BUSY_TIMEOUT_MS / 1000:g} s",
            hint="end the process that holds it, for example a second catalog or an open sqlite3 shell",
            reason="STORE_BUSY",
        )
    if "disk is full" in said or "No space left" in said:
        return StoreError(
            f"the disk of the database {name} is full",
            hint="give it space; nothing of the refused write was kept",
            reason="STORE_FULL",
            code="RESOURCE_EXHAUSTED",
        )
    if error.connection_invalidated:
        return _unreachable(error, name)
    return error


def _unreachable(error: Exception, name: str) -> StoreError:
    return StoreError(
        f"the database {name} cannot be reached: {error}",
        hint="start it again or correct MARIN_CATALOG_URL; what was committed is there",
        reason="STORE_UNREACHABLE",
    )
