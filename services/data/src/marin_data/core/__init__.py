"""What the service does, without gRPC and without the bus."""
