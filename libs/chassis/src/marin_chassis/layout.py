"""Where builds live below the store. One build key has one directory, one attempt has one directory below it."""

from pathlib import Path

from marin.catalog.v1.catalog_pb2 import Build


def build_dir(store: Path, build: Build) -> Path:
    """``<store>/<project>/<kind>/<first 24 digits of the build key>``."""
    return store / (build.target.project or "default") / build.kind / build.build_key[:24]


def attempt_dir(store: Path, build: Build, epoch: int | None = None) -> Path:
    """Directory of one attempt, the newest by default. The build id is in it: a rebuilt key never reuses a directory."""
    return build_dir(store, build) / "attempts" / f"{build.id[:8]}-{epoch or build.epoch}"


def scratch_dir(store: Path, build: Build) -> Path:
    """Resumable state that attempts of the same key hand on."""
    return build_dir(store, build) / "scratch"
