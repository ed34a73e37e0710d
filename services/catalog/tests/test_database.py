"""What only a real database can get wrong: durability, the history of the schema, hang-ups, full and locked files."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from marin_catalog.core.errors import StoreError
from marin_catalog.core.model import Build, Change, Event, RetryPolicy, Target
from marin_catalog.store import database as database_module
from marin_catalog.store.database import open_database
from marin_catalog.store.interface import Store
from marin_catalog.store.schema import HEAD, MIGRATIONS, prepare
from marin_catalog.store.sql import SqlStore
from marin_catalog.store.tables import METADATA

both = pytest.mark.parametrize("database_url", ("sqlite", "postgres"), indirect=True)


def registered(name: str) -> Change:
    build = Build(name, "tokens", Target("default", name, "v1"), "k" * 64, {}, (), RetryPolicy(), 1, 1)
    return Change((Event(name, "build.registered", "marin.x", "default", {}, 1),), build=build)


@both
async def test_another_process_sees_what_was_written(store: Store, database_url: str) -> None:
    await store.apply(registered("b"))
    other = SqlStore(open_database(database_url))
    try:
        assert await other.build("b") == await store.build("b")
        assert await other.apply(registered("c")) == 2
        assert [e.id for e in await store.events(1, 10)] == ["b", "c"]
    finally:
        await other.close()


@both
async def test_migrations_lead_to_the_schema_that_the_code_uses(store: Store, database_url: str) -> None:
    def differences(connection: Connection) -> list:
        return compare_metadata(MigrationContext.configure(connection), METADATA)

    database = open_database(database_url)
    assert await database.write(differences) == []
    await database.close()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


@pytest.mark.parametrize("database_url", ("sqlite", "bare postgres"), indirect=True)
async def test_replicas_that_start_together_migrate_once(database_url: str) -> None:
    databases = [open_database(database_url) for _ in range(3)]
    await asyncio.gather(*(prepare(d) for d in databases))
    assert await databases[0].read(lambda c: c.execute(text("SELECT count(*) FROM counters")).scalar()) == 2
    for d in databases:
        await d.close()


@both
async def test_a_newer_schema_is_refused(store: Store, database_url: str) -> None:
    database = open_database(database_url)
    await database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(StoreError) as refused:
        await prepare(database)
    assert refused.value.reason == "SCHEMA_TOO_NEW" and "newer version" in refused.value.hint
    await database.close()


@both
async def test_a_caller_that_hangs_up_does_not_tear_a_write(store: Store, database_url: str) -> None:
    for i in range(30):
        call = asyncio.create_task(store.apply(registered(f"b{i}")))
        await asyncio.sleep(0.0002 * (i % 10))
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    await store.apply(registered("last"))
    builds, log = [], ["?"]
    async with asyncio.timeout(10):  # writes whose callers left may still be on their way
        while log != builds:
            builds = [b.id for b in reversed(await store.builds("default", [], [], None, 100))]
            log = [e.id for e in await store.events(1, 100)]
    assert "last" in log


async def test_sqlite_commits_reach_the_disk(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/new/catalog.db")
    for use in (database.read, database.write):
        assert await use(lambda c: c.execute(text("PRAGMA journal_mode")).scalar()) == "wal"
        assert await use(lambda c: c.execute(text("PRAGMA synchronous")).scalar()) == 2
    await database.close()


async def test_a_locked_sqlite_file_is_an_error_that_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_MS", 100)
    database = open_database(f"sqlite:///{tmp_path}/catalog.db")
    await prepare(database)
    store = SqlStore(database)
    holder = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as refused:
        await store.apply(registered("b"))
    assert (refused.value.reason, refused.value.code, refused.value.retryable) == ("STORE_BUSY", "UNAVAILABLE", True)
    assert await store.build("b") is None  # readers go on
    holder.close()
    assert await store.apply(registered("b")) == 1
    await store.close()


async def test_a_full_disk_refuses_and_keeps_nothing(sqlite_store: SqlStore) -> None:
    await sqlite_store.apply(registered("b"))

    def cap(connection: Connection) -> None:
        pages = connection.execute(text("PRAGMA page_count")).scalar()
        connection.execute(text(f"PRAGMA max_page_count={pages}"))

    await sqlite_store._database.write(cap)
    change = registered("c")
    assert change.build
    big = replace(change, build=replace(change.build, spec={"x": "x" * 100_000}))
    with pytest.raises(StoreError) as refused:
        await sqlite_store.apply(big)
    assert (refused.value.reason, refused.value.code) == ("STORE_FULL", "RESOURCE_EXHAUSTED")
    assert len(await sqlite_store.events(1, 10)) == 1 and await sqlite_store.build("c") is None


@pytest.mark.parametrize("url", ("mysql://h/d", "no url", "sqlite://"))
def test_a_database_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_database(url)
    assert refused.value.reason == "BAD_DATABASE_URL" and "MARIN_CATALOG_URL" in refused.value.hint


async def test_a_database_server_that_is_away_is_named_without_its_password() -> None:
    database = open_database("postgresql://marin:secret@127.0.0.1:1/marin")
    with pytest.raises(StoreError) as refused:
        await database.read(lambda c: None)
    assert refused.value.reason == "STORE_UNREACHABLE" and "127.0.0.1:1" in refused.value.message
    assert "secret" not in refused.value.message
    await database.close()


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as refused:
        open_database(f"sqlite:///{tmp_path}/file/catalog.db")
    assert refused.value.reason == "STORE_NOT_WRITABLE" and "--workspace" in refused.value.hint


@pytest.mark.parametrize("database_url", ("sqlite", "bare postgres"), indirect=True)
async def test_what_an_older_schema_holds_is_carried_over(database_url: str) -> None:
    def first(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO builds (id, sequence, revision, project, name, version, kind, build_key, spec, inputs,"
                " max_attempts, state, attempt, attempts_used, epoch, lease_holder, lease_ttl, cancel_requested,"
                " cancel_reason, uri, content_digest, create_time, update_time)"
                " VALUES ('b', 1, 1, 'default', 'a', 'v1',"
                " 'tokens', 'k', '{}', '[]', 2, 'PENDING', 0, 0, 0, '', 0, false, '', '', '', 1, 1)"
            )
        )

    database = open_database(database_url)
    await database.write(first)
    await prepare(database)
    store = SqlStore(database)
    build = await store.next_pending(["tokens"], 1)
    assert build and build.retry == RetryPolicy(2, 0, 0) and (build.not_before, build.preemptions) == (0, 0)
    await store.close()
