"""What the service does, free of gRPC."""
