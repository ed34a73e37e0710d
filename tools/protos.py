"""Lint and breaking-change checks of the contracts with buf, offline.

buf cannot fetch imports here, so protoc builds one image of everything (ours and what we import) and buf reads that.

    python tools/protos.py lint        buf lint, STANDARD and COMMENTS
    python tools/protos.py breaking    against the baseline image, WIRE_JSON
    python tools/protos.py baseline    makes the present contracts the baseline (at a release)
"""

import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import grpc_tools
from google.rpc import status_pb2
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
BASELINE = PROTO / "baseline.json"


def sources() -> list[str]:
    """Our proto files, relative to ``proto/``."""
    return sorted(p.relative_to(PROTO).as_posix() for p in PROTO.rglob("*.proto"))


def build_image(out: Path) -> None:
    """Writes a self-contained descriptor set with source positions."""
    googleapis = Path(status_pb2.__file__).resolve().parent.parent.parent
    args = [
        "protoc",
        f"-I{PROTO}",
        f"-I{googleapis}",
        f"-I{files(grpc_tools) / '_proto'}",
        "--include_imports",
        "--include_source_info",
        f"--descriptor_set_out={out}",
        *sources(),
    ]
    if protoc.main(args) != 0:
        raise SystemExit("protoc failed: fix the .proto file named above")


def buf(*args: str) -> subprocess.CompletedProcess[str]:
    """Runs the buf binary of this environment."""
    binary = shutil.which("buf", path=str(Path(sys.executable).parent)) or "buf"
    return subprocess.run([binary, *args], capture_output=True, text=True, cwd=ROOT, check=False)


def check(command: str, image: Path, *extra: str) -> subprocess.CompletedProcess[str]:
    """``buf lint`` or ``buf breaking`` on an image, our files alone."""
    paths = [part for s in sources() for part in ("--path", s)]
    return buf(command, str(image), "--config", str(PROTO / "buf.yaml"), *extra, *paths)


def main(command: str) -> int:
    with tempfile.TemporaryDirectory() as tmp:
        image = Path(tmp) / "all.binpb"
        build_image(image)
        if command == "baseline":
            result = buf("build", str(image), "--exclude-source-info", "-o", str(BASELINE))
        elif command == "breaking":
            result = check("breaking", image, "--against", str(BASELINE))
        else:
            result = check("lint", image)
    print(result.stdout + result.stderr, end="")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "lint"))
