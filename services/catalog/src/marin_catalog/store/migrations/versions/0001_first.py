"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("held", sa.String(), nullable=True),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content_digest", sa.String(), nullable=False),
        sa.Column("build_key", sa.String(), nullable=False),
        sa.Column("build_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("adopted_from", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_artifacts"),
    )
    op.create_index("ix_artifacts_build", "artifacts", ["build_id", "attempt"])
    op.create_index("ix_artifacts_key", "artifacts", ["project", "build_key"])
    op.create_index("ix_artifacts_project", "artifacts", ["project", "sequence"])
    op.create_index("uq_artifacts_held", "artifacts", ["held"], unique=True)
    op.create_table(
        "attempts",
        sa.Column("build_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("log_tail", sa.Text(), nullable=False),
        sa.Column("start_time", sa.BigInteger(), nullable=False),
        sa.Column("end_time", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("build_id", "epoch", name="pk_attempts"),
    )
    op.create_index("uq_attempts_request", "attempts", ["request_id"], unique=True)
    op.create_table(
        "builds",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.String(), nullable=True),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("build_key", sa.String(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("attempts_used", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_holder", sa.String(), nullable=False),
        sa.Column("lease_ttl", sa.BigInteger(), nullable=False),
        sa.Column("lease_expire", sa.BigInteger(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("cancel_reason", sa.String(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=True),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("content_digest", sa.String(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.Column("end_time", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_builds"),
    )
    op.create_index("ix_builds_project", "builds", ["project", "sequence"])
    op.create_index("ix_builds_state", "builds", ["state", "kind", "sequence"])
    op.create_index("uq_builds_slot", "builds", ["slot"], unique=True)
    op.create_table(
        "counters",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "edges",
        sa.Column("artifact", sa.BigInteger(), nullable=False),
        sa.Column("input", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("artifact", "input", name="pk_edges"),
    )
    op.create_index("ix_edges_input", "edges", ["input"])
    op.create_table(
        "events",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_events"),
    )
    op.create_index("uq_events_id", "events", ["id"], unique=True)
    op.create_table(
        "manifests",
        sa.Column("build_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("build_id", "attempt", name="pk_manifests"),
    )
    op.create_table(
        "requests",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("build_id", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_requests"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_project", "runs", ["project", "sequence"])
    counters = sa.table("counters", sa.column("name"), sa.column("value"))
    op.bulk_insert(counters, [{"name": "event", "value": 0}, {"name": "published", "value": 0}])


def downgrade() -> None:
    for table in (
        "artifacts",
        "attempts",
        "builds",
        "counters",
        "edges",
        "events",
        "manifests",
        "requests",
        "runs",
    ):
        op.drop_table(table)
