"""The way of outputs from the engine's thread to a coroutine."""

import asyncio

from vllm.outputs import RequestOutput


class LoopSink:
    """Hands outputs from the engine's thread to a coroutine."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[RequestOutput | Exception] = asyncio.Queue()

    def put(self, item: RequestOutput | Exception) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    async def get(self) -> RequestOutput:
        item = await self._queue.get()
        if isinstance(item, Exception):
            raise item
        return item
