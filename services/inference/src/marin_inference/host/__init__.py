"""The engine process: vLLM in one thread, served to the parent over a unix socket and to harnesses over HTTP."""
