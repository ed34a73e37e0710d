"""Where the catalog's records are kept: one interface, held to one conformance suite by all its implementations."""
