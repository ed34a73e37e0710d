"""The runtime that every Marin service shares: server, config, health, telemetry, worker loop, bus and catalog client."""
