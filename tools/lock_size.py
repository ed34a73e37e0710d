"""Writes the first line of a requirements.lock: how many packages, and megabytes of wheels for Linux on x86-64."""

import sys
import tomllib
from pathlib import Path


def fits(wheel: str) -> bool:
    """Whether CPython 3.12 on 64-bit x86 Linux with glibc installs a wheel of this name."""
    python, abi, platform = wheel.removesuffix(".whl").rsplit("-", 3)[1:]
    tags = set(python.split("."))
    runs = (
        "cp312" in tags
        or "py3" in tags
        or (abi == "abi3" and any(t.startswith("cp3") and int(t[3:]) <= 12 for t in tags))
    )
    return runs and (platform == "any" or ("x86_64" in platform and "linux" in platform and "musl" not in platform))


def download_bytes(package: dict) -> int:
    """Size of the wheel that is installed, or of the source distribution where none fits."""
    named = [(w["url"].rsplit("/", 1)[1], w.get("size", 0)) for w in package.get("wheels", [])]
    wheels = [size for name, size in named if fits(name)]
    return max(wheels) if wheels else package.get("sdist", {}).get("size", 0)


def main(pylock: str, lock: str) -> None:
    packages = tomllib.loads(Path(pylock).read_text())["packages"]
    megabytes = sum(download_bytes(p) for p in packages) / 1e6
    shown = f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{max(1, round(megabytes))} MB"
    lines = [line for line in Path(lock).read_text().splitlines() if not line.startswith("# ")]
    Path(lock).write_text("\n".join([f"# {len(packages)} packages, about {shown} to download", *lines]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
