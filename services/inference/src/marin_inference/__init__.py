"""The inference service: policies on vLLM behind gRPC and an OpenAI-compatible door."""
