"""Progress of a run: a live table on a terminal, plain lines elsewhere. Talk goes to stderr, results to stdout."""

import sys
import time
from types import TracebackType

from marin.cli.output import clean
from marin.client.errors import from_status
from marin.workflow.v1 import workflow_pb2 as wf

WORDS = {
    wf.NODE_STATE_WAITING: "waiting",
    wf.NODE_STATE_RUNNING: "running",
    wf.NODE_STATE_CACHED: "cached",
    wf.NODE_STATE_SUCCEEDED: "done",
    wf.NODE_STATE_ADOPTED: "adopted",
    wf.NODE_STATE_FAILED: "FAILED",
    wf.NODE_STATE_SKIPPED: "skipped",
    wf.NODE_STATE_CANCELLED: "cancelled",
}
_STYLES = {
    "running": "cyan",
    "done": "green",
    "cached": "dim",
    "adopted": "green",
    "FAILED": "bold red",
    "waiting": "dim",
}
LINE_SECONDS = 3.0


def progress_text(node: wf.NodeStatus, now: float) -> str:
    """Phase, step, metrics and the time left, in one line."""
    if node.state == wf.NODE_STATE_FAILED:
        return clean(from_status(node.error).message)
    if node.state in (wf.NODE_STATE_SUCCEEDED, wf.NODE_STATE_CACHED, wf.NODE_STATE_ADOPTED):
        return clean(node.artifact.headline)
    if node.reason:
        return clean(node.reason)
    progress = node.job.progress
    parts = [progress.phase or ("starting" if node.state == wf.NODE_STATE_RUNNING else "")]
    if progress.total:
        parts.append(f"{progress.step}/{progress.total}")
    parts += [f"{k.replace('_', ' ')} {_number(v)}" for k, v in sorted(progress.metrics.items())]
    if node.job.attempt > 1:
        parts.append(f"attempt {node.job.attempt}")
    return clean("  ".join(p for p in parts if p))


class Eta:
    """Seconds left of a phase, from the pace since its first step was seen."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[float, int]] = {}

    def text(self, node: wf.NodeStatus, now: float) -> str:
        progress = node.job.progress
        if node.state != wf.NODE_STATE_RUNNING or not progress.total or not progress.step:
            return ""
        start, step = self._first.setdefault((node.node_id, progress.phase), (now, progress.step))
        if progress.step <= step:
            return ""
        return f"  ETA {(now - start) / (progress.step - step) * (progress.total - progress.step):.0f} s"


class LiveView:
    """Context manager whose :meth:`update` takes each new state of the run."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._live = None
        self._eta = Eta()
        self._shown: dict[str, tuple[str, float, str]] = {}
        self._start = time.monotonic()

    def __enter__(self) -> "LiveView":
        if self._tty:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def update(self, run: wf.Run) -> None:
        """Shows a new state."""
        if self._live:
            self._live.update(self._table(run))
        else:
            self._lines(run)

    def _lines(self, run: wf.Run) -> None:
        now = time.monotonic()
        for node in run.nodes:
            word = WORDS[node.state]
            text = progress_text(node, now) + self._eta.text(node, now)
            before = self._shown.get(node.node_id)
            if before and before[0] == word and (before[2] == text or now - before[1] < LINE_SECONDS):
                continue
            if word == "waiting" and not before:
                self._shown[node.node_id] = (word, now, text)
                continue
            self._shown[node.node_id] = (word, now, text)
            print(f"[{now - self._start:6.1f} s] {node.node_id:<14} {word:<8} {text}", file=sys.stderr, flush=True)

    def _table(self, run: wf.Run) -> object:
        from rich.table import Table
        from rich.text import Text

        now = time.monotonic()
        table = Table.grid(padding=(0, 2))
        for node in run.nodes:
            word = WORDS[node.state]
            text = progress_text(node, now) + self._eta.text(node, now)
            table.add_row(
                Text(node.node_id),
                Text(word, style=_STYLES.get(word, "")),
                Text(text, overflow="ellipsis", no_wrap=True),
            )
        table.add_row(Text(f"{now - self._start:.0f} s", style="dim"))
        return table


def _number(v: float) -> str:
    if v == int(v) and abs(v) < 1e15:
        return f"{int(v)}"
    return f"{v:.4g}"
