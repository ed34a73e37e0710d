"""The rule for versions of weights."""

from marin_chassis.engine import EngineError


def is_repeat(policy_id: str, served: tuple[int, str], offered: tuple[int, str]) -> bool:
    """Whether ``offered`` (version, digest) is what is served. Raises EngineError if it may not follow ``served``."""
    (version, digest), (new_version, new_digest) = served, offered
    if not new_digest:
        raise EngineError(
            f"weights for {policy_id} came without a digest",
            hint="set digest to something that names these bytes, for example their sha256",
            reason="MISSING_DIGEST",
        )
    if new_version == version and new_digest == digest:
        return True
    if new_version == version:
        raise EngineError(
            f"{policy_id} serves version {version} with digest {digest}; other weights ({new_digest}) came as the same",
            hint=f"send them as version {version + 1} or above",
            reason="VERSION_TAKEN",
            code="ALREADY_EXISTS",
        )
    if new_version < version:
        raise EngineError(
            f"{policy_id} serves version {version}; version {new_version} is older",
            hint=f"versions only rise: send {version + 1} or above, or call LoadPolicy to go back",
            reason="VERSION_TOO_LOW",
            code="FAILED_PRECONDITION",
        )
    return False
