"""Stands in for a service: ``fake_service.py MODE --port N``, which says that it is ready as a real one does."""

import http.server
import os
import signal
import subprocess
import sys
from pathlib import Path

mode, port = sys.argv[1], int(sys.argv[3])
if mode == "crash":
    print("the reason is written here", flush=True)
    sys.exit(3)
if mode == "bad-start":
    print("the setting 'colour' is unknown\n  fix: remove it", file=sys.stderr)
    sys.exit(2)
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    helper = subprocess.Popen(
        [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"]
    )
    Path(os.environ["MARIN_WORKSPACE"], "helper.pid").write_text(str(helper.pid))
Path(os.environ["MARIN_WORKSPACE"], f"{mode}.env").write_text("\n".join(f"{k}={v}" for k, v in os.environ.items()))
server = http.server.HTTPServer(("127.0.0.1", port), http.server.SimpleHTTPRequestHandler)
Path(os.environ["MARIN_READY_FILE"]).write_text(str(port))
server.serve_forever()
