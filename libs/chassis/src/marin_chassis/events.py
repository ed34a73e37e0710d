"""Reads what an engine writes while it runs."""

import json
from pathlib import Path

from marin.common.v1 import job_pb2


class EventTail:
    """Follows ``record/events.jsonl``, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def newest_progress(self) -> job_pb2.Progress | None:
        """The newest progress event since the last call, or None. Metrics of earlier events in between are skipped."""
        newest = None
        for event in self._read():
            if event.get("type") == "progress":
                newest = event
        if newest is None:
            return None
        progress = job_pb2.Progress(
            phase=newest.get("phase", ""), step=int(newest.get("step", 0)), total=int(newest.get("total", 0))
        )
        for name, value in newest.get("metrics", {}).items():
            progress.metrics[name] = float(value)
        progress.time.FromMilliseconds(int(newest["t"] * 1000))
        return progress

    def _read(self) -> list[dict]:
        try:
            with open(self._path, "rb") as f:
                f.seek(self._offset)
                data = f.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
