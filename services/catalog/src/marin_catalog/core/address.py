"""Checks of what callers name things."""

import re
from dataclasses import replace

from marin_catalog.core.errors import BadRequest
from marin_catalog.core.model import Target

DEFAULT_PROJECT = "default"
LATEST, FINAL = "latest", "final"
ALIASES = (LATEST, FINAL)
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_KIND = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")
_BUILD_KEY = re.compile(r"[0-9a-f]{64}")


def check_project(project: str) -> str:
    """The project, "default" if empty. Raises BadRequest for a name that cannot be part of a bus subject or a path."""
    project = project or DEFAULT_PROJECT
    if not _PROJECT.fullmatch(project):
        raise BadRequest(
            f"'{project}' is no project name", hint="use letters, digits, '-' and '_', at most 63", reason="BAD_PROJECT"
        )
    return project


def check_target(target: Target) -> Target:
    """The target with its project filled in. Raises BadRequest for a bad name or version."""
    if len(target.name) > 256 or not _NAME.fullmatch(target.name):
        raise BadRequest(
            f"'{target.name}' is no artifact name",
            hint="use parts of letters, digits, '.', '_' and '-' joined by '/', for example 'tokens/web'",
            reason="BAD_ADDRESS",
        )
    if not _VERSION.fullmatch(target.version):
        raise BadRequest(
            f"'{target.version}' is no version of {target.name}",
            hint="use letters, digits, '.', '_', '+' and '-', for example 'v1' or '2026.08.01'",
            reason="BAD_ADDRESS",
        )
    return replace(target, project=check_project(target.project))


def check_commit_target(target: Target) -> Target:
    """A target that something can be committed to. Raises BadRequest for an alias too."""
    if target.version in ALIASES:
        raise BadRequest(
            f"'{target.version}' is an alias: nothing can be committed to {target.address}",
            hint="give a version of its own; 'latest' and 'final' find the newest commit",
            reason="ALIAS_TARGET",
        )
    return check_target(target)


def parse_address(project: str, address: str) -> Target:
    """Splits ``name@version``."""
    name, _, version = address.rpartition("@")
    return check_target(Target(project, name, version))


def check_kind(kind: str) -> str:
    """Raises BadRequest unless ``kind`` looks like "tokens" or "checkpoint.sft"."""
    if not _KIND.fullmatch(kind):
        raise BadRequest(f"'{kind}' is no artifact kind", hint="give a kind such as 'tokens'", reason="BAD_KIND")
    return kind


def check_build_key(build_key: str) -> str:
    """Raises BadRequest unless ``build_key`` is a sha256 in hex."""
    if not _BUILD_KEY.fullmatch(build_key):
        raise BadRequest(
            f"'{build_key}' is no build key",
            hint="give the sha256 in hex that marin_artifacts.identity.build_key returns",
            reason="BAD_BUILD_KEY",
        )
    return build_key
