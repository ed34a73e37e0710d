"""Waits before another attempt, preemptions, explicit replacement of an address, facts about attempts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for name in ("backoff_base", "backoff_max", "not_before"):
        op.add_column("builds", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("builds", sa.Column("preemptions", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("builds", sa.Column("supersedes", sa.String(), nullable=False, server_default=""))
    op.add_column("attempts", sa.Column("facts", sa.Text(), nullable=False, server_default="{}"))
    op.create_index("ix_artifacts_name", "artifacts", ["project", "name", "sequence"])
    op.create_index("ix_artifacts_uri", "artifacts", ["uri"])
