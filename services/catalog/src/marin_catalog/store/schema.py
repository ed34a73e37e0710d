"""Brings the database to the newest schema. Alembic is slow to load: only if there is something to do."""

import logging
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from marin_catalog.core.errors import StoreError
from marin_catalog.store.database import Database

HEAD = "0002"
MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 7_001


async def prepare(database: Database) -> None:
    """Raises StoreError if the schema is newer than this program."""
    if await _version(database) != HEAD:
        await database.write(upgrade)


async def _version(database: Database) -> str | None:
    try:
        return await database.read(lambda c: c.execute(text("SELECT version_num FROM alembic_version")).scalar())
    except DBAPIError:
        return None


def upgrade(connection: Connection) -> None:
    """Runs the missing migrations in the caller's transaction. Replicas that start together take turns."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as e:
        raise StoreError(
            f"the catalog's database has a schema that this version does not know: {e}",
            hint="start the newer version of the catalog that wrote it",
            reason="SCHEMA_TOO_NEW",
            code="FAILED_PRECONDITION",
        ) from e
