"""A recording proxy between harnesses and the served policy.

Harnesses differ in what they keep of a request. Here every request of every harness is counted in one way: status,
tokens, why the answer ended, time. It is also the one place where a request waits for a server that is away, and where
the server's address is asked for again after its process was started anew.
"""

import contextlib
import hashlib
import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marin_chassis.engine import EngineError

REQUEST_TIMEOUT_S = 600.0
_TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
_LONGEST_DELAY = 5.0


@dataclass(frozen=True)
class Exchange:
    """One request and how it ended. ``error_type`` is None for an answer, else what failed."""

    task: str
    prompt_hash: str
    error_type: str | None = None
    error_message: str | None = None
    finish_reason: str | None = None
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    tries: int = 1
    latency_ms: float = 0.0


@dataclass
class Count:
    """Totals of one task; ``prompts`` holds the different ones."""

    requests: int = 0
    errors: int = 0
    completion_tokens: int = 0
    prompts: set[str] = field(default_factory=set)


def prompt_hash(asked: Any) -> str:
    """Identity of what a model is asked; the drivers compute the same."""
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


class RecordingProxy:
    """``with RecordingProxy(...) as proxy``: then ``proxy.base_url(task)`` is an OpenAI-style base for one task.

    ``upstream`` is the base of the server's routes and ``resolve`` finds it again. A request waits ``patience`` seconds
    for a server that is away or overloaded. After one has waited in vain none waits, until one is answered again.
    """

    def __init__(self, upstream: str, resolve: Callable[[], str], patience: float, log: Path) -> None:
        self._upstream, self._resolve, self._patience = upstream, resolve, patience
        self._log = open(log, "a", encoding="utf-8")  # noqa: SIM115  (closed with the proxy)
        self._lock, self._resolving = threading.Lock(), threading.Lock()
        self._resolved_at = 0.0
        self._dead = False
        self._tasks: list[str] = []
        self._exchanges: dict[tuple[str, str], Exchange] = {}
        self._counts: dict[str, Count] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    def __enter__(self) -> "RecordingProxy":
        threading.Thread(target=self._server.serve_forever, name="proxy", daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            self._log.close()

    def base_url(self, task: str) -> str:
        with self._lock:
            if task not in self._tasks:
                self._tasks.append(task)
                self._counts[task] = Count()
            return f"http://127.0.0.1:{self._server.server_port}/{self._tasks.index(task)}/v1"

    def exchange(self, task: str, prompt: str | None) -> Exchange | None:
        """The last exchange of a task about this prompt."""
        with self._lock:
            return self._exchanges.get((task, prompt or ""))

    def totals(self) -> dict[str, int]:
        """Sums over all tasks, for progress."""
        with self._lock:
            counts = list(self._counts.values())
        return {
            "samples": sum(len(c.prompts) for c in counts),
            "requests": sum(c.requests for c in counts),
            "errors": sum(c.errors for c in counts),
            "completion_tokens": sum(c.completion_tokens for c in counts),
        }

    def forward(self, path: str, body: bytes, connect: "_Upstream") -> tuple[int, bytes]:
        """Sends one request on, waiting for the server as long as that makes sense; records how it ended."""
        index, _, route = path.lstrip("/").partition("/")
        task = self._tasks[int(index)]
        began, tries, delay, searching = time.monotonic(), 0, 0.25, 0.0
        while True:
            tries += 1
            try:
                status, reply = connect.post(self._upstream, route.removeprefix("v1"), body)
            except (OSError, http.client.HTTPException) as e:
                status, reply = 502, json.dumps(_unreachable(self._upstream, e)).encode()
                searching += self._find_again()
            waited = time.monotonic() - began - searching  # a server that is being started is not one that is away
            if status not in _TRY_AGAIN or self._dead or waited + delay > self._patience:
                break
            time.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)
        self._dead = status in _TRY_AGAIN
        self._note(_exchange(task, body, status, reply, tries, time.monotonic() - began))
        return status, reply

    def _find_again(self) -> float:
        """Asks where the server is now, one thread for all; returns the seconds that it took."""
        began = time.monotonic()
        with self._resolving:
            if time.monotonic() - self._resolved_at >= 2.0:
                with contextlib.suppress(EngineError):  # the request will say that the server is away
                    self._upstream = self._resolve()
                self._resolved_at = time.monotonic()
        return time.monotonic() - began

    def _note(self, exchange: Exchange) -> None:
        with self._lock:
            count = self._counts[exchange.task]
            count.requests += 1
            count.errors += exchange.error_type is not None
            count.completion_tokens += exchange.n_completion_tokens or 0
            count.prompts.add(exchange.prompt_hash)
            self._exchanges[exchange.task, exchange.prompt_hash] = exchange
            if not self._log.closed:
                self._log.write(json.dumps(asdict(exchange)) + "\n")
                self._log.flush()


class _Upstream:
    """A kept-open connection to the server, one for each client connection."""

    def __init__(self) -> None:
        self._connection: http.client.HTTPConnection | None = None
        self._base = ""

    def post(self, base: str, route: str, body: bytes) -> tuple[int, bytes]:
        kept = self._connection is not None and self._base == base
        try:
            return self._post(base, route, body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()
            if not kept:
                raise
            return self._post(base, route, body)  # an idle connection that the server had closed meanwhile

    def _post(self, base: str, route: str, body: bytes) -> tuple[int, bytes]:
        if self._connection is None or self._base != base:
            self.close()
            self._connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=REQUEST_TIMEOUT_S)
            self._base = base
        try:
            self._connection.request("POST", urlsplit(base).path + route, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _handler(proxy: RecordingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self._upstream = _Upstream()

        def finish(self) -> None:
            self._upstream.close()
            with contextlib.suppress(OSError):
                super().finish()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, reply = proxy.forward(self.path, body, self._upstream)
            with contextlib.suppress(OSError):  # the harness did not wait for it
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

        def log_message(self, *args: Any) -> None:
            """Requests are recorded, not printed."""

    return Handler


def _exchange(task: str, body: bytes, status: int, reply: bytes, tries: int, seconds: float) -> Exchange:
    request = json.loads(body)
    asked = request.get("messages", request.get("prompt"))
    if isinstance(asked, list) and len(asked) == 1 and isinstance(asked[0], str):
        asked = asked[0]
    common = {"task": task, "prompt_hash": prompt_hash(asked), "tries": tries, "latency_ms": round(seconds * 1000, 1)}
    try:
        parsed = json.loads(reply)
        if status == 200:
            usage = parsed.get("usage") or {}
            return Exchange(
                **common,
                finish_reason=parsed["choices"][0].get("finish_reason"),
                n_prompt_tokens=usage.get("prompt_tokens"),
                n_completion_tokens=usage.get("completion_tokens"),
            )
        message = str(parsed.get("error", parsed).get("message", ""))
    except (ValueError, LookupError, AttributeError):
        message = reply[:500].decode(errors="replace")
    kind = "endpoint_unavailable" if status in _TRY_AGAIN else "bad_reply" if status == 200 else f"http_{status}"
    return Exchange(**common, error_type=kind, error_message=message)


def _unreachable(upstream: str, error: Exception) -> dict[str, Any]:
    return {
        "error": {
            "type": "endpoint_unavailable",
            "message": f"{upstream} cannot be reached: {type(error).__name__}: {error}",
        }
    }
