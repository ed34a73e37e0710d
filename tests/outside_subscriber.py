"""An outsider's subscriber: prints one JSON line for each committed artifact, with nothing of Marin imported.

python tests/outside_subscriber.py nats://127.0.0.1:4222
"""

import asyncio
import sys

import nats


async def quiet(error: Exception) -> None:
    """A broken connection comes back by itself."""


async def main(url: str) -> None:
    connection = await nats.connect(url, error_cb=quiet, max_reconnect_attempts=-1)
    stream = connection.jetstream()
    subscription = await stream.subscribe("marin.artifacts.v1.*.*.committed", stream="MARIN", ordered_consumer=True)
    print("ready", flush=True)
    async for message in subscription.messages:
        print(message.data.decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
