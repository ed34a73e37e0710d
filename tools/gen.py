"""Generates stubs for every proto file into an output root; removes stubs whose proto file is gone."""

import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import grpc_tools
from google.rpc import status_pb2
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent


def generate(out: Path) -> None:
    protos = sorted(str(p.relative_to(ROOT / "proto")) for p in (ROOT / "proto").rglob("*.proto"))
    googleapis = Path(status_pb2.__file__).resolve().parent.parent.parent
    out.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=out))
    args = [
        "protoc",
        f"-I{ROOT / 'proto'}",
        f"-I{googleapis}",
        f"-I{files(grpc_tools) / '_proto'}",
        f"--python_out={staging}",
        f"--pyi_out={staging}",
        f"--grpc_python_out={staging}",
        *protos,
    ]
    try:
        if protoc.main(args) != 0:
            raise SystemExit("protoc failed: fix the .proto file named above")
        _drop_empty_services(staging)
        shutil.rmtree(out / "marin", ignore_errors=True)
        (staging / "marin").rename(out / "marin")
    finally:
        shutil.rmtree(staging)


def _drop_empty_services(out: Path) -> None:
    for stub in (out / "marin").rglob("*_pb2_grpc.py"):
        source = ROOT / "proto" / str(stub.relative_to(out)).replace("_pb2_grpc.py", ".proto")
        if "service " not in "\n".join(line for line in source.read_text().splitlines() if line.startswith("service ")):
            stub.unlink()


if __name__ == "__main__":
    generate(Path(sys.argv[1]).resolve())
