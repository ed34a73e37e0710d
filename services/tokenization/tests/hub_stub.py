"""A hub on this machine: as much of the Hugging Face hub's HTTP API as fetching files of a model repository needs."""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class Hub:
    """``files[repo][path]`` are the bytes served at ``commits[repo]``; ``failures`` are answered first."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.commits: dict[str, str] = {}
        self.failures: list[int] = []
        self.requests: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def clear(self) -> None:
        for held in (self.files, self.commits, self.failures, self.requests):
            held.clear()

    def _handler(hub):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                path = unquote(self.path.split("?")[0])
                hub.requests.append(f"{self.command} {path}")
                if hub.failures:
                    return self._send(hub.failures.pop(0), b"try later")
                if m := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/([^/]+)", path):
                    return self._info(*m.groups())
                if m := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
                    return self._file(*m.groups())
                return self._send(404, b"{}")

            do_HEAD = do_GET

            def _known(self, repo, revision):
                if repo not in hub.files:
                    self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
                elif repo == "someone/gated":
                    self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
                elif not hub.commits[repo].startswith(revision) and revision != "feedbee":
                    self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
                else:
                    return True
                return False

            def _info(self, repo, revision):
                if self._known(repo, revision):
                    siblings = [{"rfilename": p} for p in hub.files[repo]]
                    info = {"id": repo, "sha": hub.commits[repo], "siblings": siblings, "private": False, "tags": []}
                    self._send(200, json.dumps(info).encode())

            def _file(self, repo, revision, path):
                if self._known(repo, revision):
                    content = hub.files[repo][path]
                    etag = f'"{hashlib.sha1(content).hexdigest()}"'
                    self._send(200, content, {"ETag": etag, "X-Repo-Commit": hub.commits[repo]})

            def _send(self, status, body, headers=None):
                self.send_response(status)
                for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        return Handler
