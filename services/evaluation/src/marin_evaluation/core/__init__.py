"""What an evaluation is made of, without gRPC."""
