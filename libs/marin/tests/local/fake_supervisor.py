"""The real supervisor over a table of stand-in services and the real bus."""

import sys
from pathlib import Path

from marin.local.services import Service, nats_command
from marin.local.supervisor import main

FAKE = str(Path(__file__).with_name("fake_service.py"))


def stand_in(name: str, offset: int, mode: str, *needs: str) -> Service:
    return Service(name, offset, lambda s: [sys.executable, FAKE, mode, "--port", str(s.ports[name])], needs)


TABLE = (
    Service("nats", 10, nats_command, ready_file=False),
    stand_in("catalog", 1, "steady"),
    stand_in("workflow", 2, "leaning", "catalog"),
    stand_in("crasher", 3, "crash"),
    stand_in("misled", 4, "bad-start"),
    stand_in("stubborn", 5, "stubborn"),
)

if __name__ == "__main__":
    sys.exit(main(table=TABLE, grace=0.3))
