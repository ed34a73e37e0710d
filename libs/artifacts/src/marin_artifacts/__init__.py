"""Identity and shape of artifacts: canonical specs, build keys, manifests, digests, the kinds that exist."""
