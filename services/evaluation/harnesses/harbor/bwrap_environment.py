"""A Harbor environment on bubblewrap: needs no daemon, no image and no root."""

import io
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult, transfer_tar_filter
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.task.config import NetworkMode
from sandbox import Sandbox

MOUNTS = ("/app", "/logs", "/tests", "/solution")


class BwrapEnvironment(BaseEnvironment):
    """Each command is a sandbox of its own over directories that last for the trial.

    Files go in and out through a tar process inside the sandbox, never by paths outside: an agent may have left a link
    where a file is expected, and only inside does it point to where the agent could go anyway.
    """

    def __init__(self, *args: Any, isolation: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._root = self.trial_paths.trial_dir / "sandbox"
        mounts = {path: self._root / path[1:] for path in MOUNTS}
        self._sandbox = Sandbox(mounts, tuple(isolation))
        self._mounted = mounts

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        """Refuses what this environment cannot give: a score without it would be worth nothing."""
        image = self.task_env_config.docker_image or [
            p.name for p in self.environment_dir.glob("*") if p.name != ".gitkeep"
        ]
        if image:
            raise ValueError(f"task {self.environment_name} wants an image ({image}); this environment has only /usr")
        if self.network_policy.network_mode != NetworkMode.NO_NETWORK:
            raise ValueError(f"task {self.environment_name} wants a network; this environment has none")

    async def start(self, force_build: bool) -> None:
        for directory in self._mounted.values():
            directory.mkdir(parents=True, exist_ok=True)
        await self.exec("mkdir -p /logs/agent /logs/verifier /logs/artifacts", cwd="/")

    async def stop(self, delete: bool) -> None:
        if delete:
            shutil.rmtree(self._root, ignore_errors=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """``user`` makes no difference: inside there is one unprivileged user, who owns every writable file."""
        result = await self._sandbox.run(
            ["/bin/sh", "-c", command],
            cwd=cwd or self.task_env_config.workdir or "/app",
            env=self._merge_env(env),
            timeout=timeout_sec,
        )
        return ExecResult(
            stdout=result.stdout.decode(errors="replace"),
            stderr=result.stderr.decode(errors="replace"),
            return_code=result.code,
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = PurePosixPath(target_path)
        await self._unpack(str(target.parent), lambda tar: tar.add(source_path, arcname=target.name))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._unpack(target_dir, lambda tar: tar.add(source_dir, arcname="."))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        source, target = PurePosixPath(source_path), Path(target_path)
        with await self._pack(str(source.parent), source.name) as tar:
            content = tar.extractfile(source.name)
            if content is None:
                raise FileNotFoundError(f"{source_path} in the sandbox is no regular file")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        with await self._pack(source_dir, ".") as tar:
            tar.extractall(target_dir, filter=transfer_tar_filter)

    async def _unpack(self, directory: str, fill: Any) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            fill(tar)
        await self._tar(
            ["sh", "-c", 'mkdir -p "$0" && tar -x --no-same-owner -f - -C "$0"', directory], packed.getvalue()
        )

    async def _pack(self, directory: str, name: str) -> tarfile.TarFile:
        packed = await self._tar(["tar", "-c", "-f", "-", "-C", directory, "--", name], b"")
        return tarfile.open(fileobj=io.BytesIO(packed))

    async def _tar(self, command: list[str], stdin: bytes) -> bytes:
        result = await self._sandbox.run(command, stdin=stdin, timeout=60)
        if result.code:
            said = result.stderr.decode(errors="replace").strip()
            raise OSError(f"{' '.join(command)} in the sandbox: exit status {result.code}: {said}")
        return result.stdout
