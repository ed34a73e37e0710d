"""The tables. Times are microseconds since 1970; structured values are JSON text, as no query looks inside."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

METADATA = MetaData(naming_convention={"pk": "pk_%(table_name)s"})

# "event": sequence number of the newest event; "published": of the newest event known to be on the bus.
COUNTERS = Table(
    "counters", METADATA, Column("name", String, primary_key=True), Column("value", BigInteger, nullable=False)
)

BUILDS = Table(
    "builds",
    METADATA,
    Column("id", String, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("slot", String, nullable=True),
    Column("project", String, nullable=False),
    Column("name", String, nullable=False),
    Column("version", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("build_key", String, nullable=False),
    Column("spec", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("attempts_used", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("lease_holder", String, nullable=False),
    Column("lease_ttl", BigInteger, nullable=False),
    Column("lease_expire", BigInteger, nullable=True),
    Column("cancel_requested", Boolean, nullable=False),
    Column("cancel_reason", String, nullable=False),
    Column("error", Text, nullable=True),
    Column("progress", Text, nullable=True),
    Column("uri", String, nullable=False),
    Column("content_digest", String, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("update_time", BigInteger, nullable=False),
    Column("end_time", BigInteger, nullable=True),
    Column("backoff_base", BigInteger, nullable=False, server_default="0"),
    Column("backoff_max", BigInteger, nullable=False, server_default="0"),
    Column("not_before", BigInteger, nullable=False, server_default="0"),
    Column("preemptions", Integer, nullable=False, server_default="0"),
    Column("supersedes", String, nullable=False, server_default=""),
    Index("uq_builds_slot", "slot", unique=True),
    Index("ix_builds_state", "state", "kind", "sequence"),
    Index("ix_builds_project", "project", "sequence"),
)

REQUESTS = Table(
    "requests",
    METADATA,
    Column("id", String, primary_key=True),
    Column("build_id", String, nullable=False),
    Column("fingerprint", String, nullable=False),
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("build_id", String, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("request_id", String, nullable=True),
    Column("holder", String, nullable=False),
    Column("host", String, nullable=False),
    Column("command", Text, nullable=False),
    Column("uri", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("error", Text, nullable=True),
    Column("log_tail", Text, nullable=False),
    Column("start_time", BigInteger, nullable=False),
    Column("end_time", BigInteger, nullable=True),
    Column("facts", Text, nullable=False, server_default="{}"),
    PrimaryKeyConstraint("build_id", "epoch"),
    Index("uq_attempts_request", "request_id", unique=True),
)

# "held" is the address that the artifact has now; null once a newer commit of a mutable version took it. (A partial
# index would say the same, and would make SQLAlchemy load the PostgreSQL dialect at every start.)
ARTIFACTS = Table(
    "artifacts",
    METADATA,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("held", String, nullable=True),
    Column("project", String, nullable=False),
    Column("name", String, nullable=False),
    Column("version", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("content_digest", String, nullable=False),
    Column("build_key", String, nullable=False),
    Column("build_id", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("uri", String, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", Integer, nullable=False),
    Column("summary", Text, nullable=False),
    Column("headline", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("adopted_from", String, nullable=False),
    Index("uq_artifacts_held", "held", unique=True),
    Index("ix_artifacts_key", "project", "build_key"),
    Index("ix_artifacts_project", "project", "sequence"),
    Index("ix_artifacts_build", "build_id", "attempt"),
    Index("ix_artifacts_name", "project", "name", "sequence"),
    Index("ix_artifacts_uri", "uri"),
)

# One row for each pair of an artifact and one that it was made from.
EDGES = Table(
    "edges",
    METADATA,
    Column("artifact", BigInteger, nullable=False),
    Column("input", BigInteger, nullable=False),
    PrimaryKeyConstraint("artifact", "input"),
    Index("ix_edges_input", "input"),
)

MANIFESTS = Table(
    "manifests",
    METADATA,
    Column("build_id", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("record", Text, nullable=False),
    PrimaryKeyConstraint("build_id", "attempt"),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("id", String, nullable=False),
    Column("type", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("project", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("uq_events_id", "id", unique=True),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("project", String, nullable=False),
    Column("name", String, nullable=False),
    Column("state", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("update_time", BigInteger, nullable=False),
    Index("ix_runs_project", "project", "sequence"),
)
