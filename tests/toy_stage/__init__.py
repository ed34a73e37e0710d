"""An engine that does as its spec says, for tests of the worker against a real catalog."""
