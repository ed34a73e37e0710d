"""Alembic's entry: runs migrations on the connection, and in the transaction, that the catalog hands over."""

from alembic import context

from marin_catalog.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
context.run_migrations()
