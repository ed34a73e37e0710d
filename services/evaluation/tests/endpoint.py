"""An OpenAI-shaped server for tests: it stands for the model, never for a harness. It answers by a function."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str], str | int]
"""From the text of the last user message (or the prompt) to the completion, or to an HTTP status to fail with."""


class Endpoint:
    """``with Endpoint(answer) as base_url``; ``requests`` keeps the bodies."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.requests = answer, []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append((self.path, body))
                self._send(*endpoint.reply(body))

            def _send(self, status: int, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        text = self.answer(prompt[0] if isinstance(prompt, list) else prompt)
        if isinstance(text, int):
            return text, {"error": {"message": f"this endpoint answers {text}", "type": "refused"}}
        content = {"message": {"role": "assistant", "content": text}} if "messages" in body else {"text": text}
        usage = {"prompt_tokens": 11, "completion_tokens": len(text.split())}
        return 200, {"choices": [{"index": 0, "finish_reason": "stop", **content}], "usage": usage}

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
