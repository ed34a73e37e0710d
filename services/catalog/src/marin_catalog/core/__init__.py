"""Rules and use cases of the catalog, free of gRPC, NATS and SQL."""
