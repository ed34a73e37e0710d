"""Logic without gRPC: exports, weight files, version rules, checks of requests."""
