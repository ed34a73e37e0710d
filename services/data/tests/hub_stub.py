"""A hub on this machine: as much of the Hugging Face hub's HTTP API as reading Parquet files by range needs."""

import io
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq


class Hub:
    """``files[dataset][path]`` are the bytes served at ``commits[dataset]``; ``failures`` are answered first."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.commits: dict[str, str] = {}
        self.failures: list[int] = []
        self.served = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def add(self, dataset: str, commit: str, path: str, rows: list[dict], row_group_size: int = 100) -> None:
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=row_group_size)
        self.files.setdefault(dataset, {})[path] = buffer.getvalue()
        self.commits[dataset] = commit

    def _handler(hub):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                if hub.failures:
                    return self._send(hub.failures.pop(0), b"try later")
                path = unquote(self.path.split("?")[0])
                if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/revision/([^/]+)", path):
                    return self._info(*m.groups())
                if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)/(.+)", path):
                    return self._tree(*m.groups())
                if m := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
                    return self._file(*m.groups())
                return self._send(404, b"{}")

            do_HEAD = do_GET

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                if hub.failures:
                    return self._send(hub.failures.pop(0), b"try later")
                m = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/paths-info/([^/]+)", unquote(self.path))
                if not m or not self._known(*m.groups()):
                    return None
                asked = re.findall(r"paths=([^&]+)", body) or json.loads(body)["paths"]
                return self._entries(m[1], [p for p in map(unquote, asked) if p in hub.files[m[1]]])

            def _entries(self, dataset, paths):
                files = hub.files[dataset]
                found = [{"type": "file", "path": p, "size": len(files[p]), "oid": "0" * 40} for p in paths]
                return self._send(200, json.dumps(found).encode())

            def _tree(self, dataset, revision, directory):
                if self._known(dataset, revision):
                    self._entries(dataset, [p for p in hub.files[dataset] if p.rpartition("/")[0] == directory])

            def _known(self, dataset, revision):
                if dataset not in hub.files:
                    self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
                elif dataset == "someone/gated":
                    self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
                elif not hub.commits[dataset].startswith(revision):
                    self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
                else:
                    return True
                return False

            def _info(self, dataset, revision):
                if self._known(dataset, revision):
                    siblings = [{"rfilename": p} for p in hub.files[dataset]]
                    info = {
                        "id": dataset,
                        "sha": hub.commits[dataset],
                        "siblings": siblings,
                        "private": False,
                        "tags": [],
                    }
                    self._send(200, json.dumps(info).encode())

            def _file(self, dataset, revision, path):
                if not self._known(dataset, revision):
                    return
                content = hub.files[dataset].get(path)
                if content is None:
                    return self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"})
                begin, end = re.fullmatch(
                    r"bytes=(\d+)-(\d+)", self.headers.get("Range", f"bytes=0-{len(content)}")
                ).groups()
                part = content[int(begin) : int(end) + 1]
                hub.served += len(part)
                self._send(206, part, {"Content-Range": f"bytes {begin}-{int(begin) + len(part) - 1}/{len(content)}"})

            def _send(self, status, body, headers=None):
                self.send_response(status)
                for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        return Handler
