"""The OpenAI-compatible door: vLLM's own routes for models, completions and chat, over our engine, not its own."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from vllm import SamplingParams
from vllm.entrypoints.openai.chat_completion import api_router as chat_routes
from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.entrypoints.openai.completion import api_router as completion_routes
from vllm.entrypoints.openai.completion.serving import OpenAIServingCompletion
from vllm.entrypoints.openai.models import api_router as model_routes
from vllm.entrypoints.openai.models.protocol import BaseModelPath
from vllm.entrypoints.openai.models.serving import OpenAIServingModels
from vllm.entrypoints.serve.exception_handling.register import init_exception_handler
from vllm.outputs import RequestOutput
from vllm.renderers.online_renderer import OnlineRenderer

from marin_chassis.engine import EngineError
from marin_inference.host.engine import Engine, died
from marin_inference.host.sink import LoopSink


class DoorClient:
    """What vLLM's serving classes ask of an engine client: to generate, and whether the engine lives."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        llm = engine.llm
        self.vllm_config, self.model_config = llm.vllm_config, llm.model_config
        self.renderer, self.input_processor = llm.renderer, llm.input_processor

    @property
    def errored(self) -> bool:
        return self._engine.dead is not None

    @property
    def dead_error(self) -> BaseException:
        return died(self._engine.dead or RuntimeError("unknown"))

    def check_admission(self, n: int = 1, request_id: str | None = None) -> None:
        """The queue has no limit of its own; the callers' concurrency is theirs to choose."""

    async def generate(
        self,
        prompt: Any,
        sampling_params: SamplingParams,
        request_id: str,
        *,
        prompt_text: str | None = None,
        **options: Any,
    ) -> AsyncIterator[RequestOutput]:
        """Outputs as the sampling parameters' output kind says; leaving the iterator ends the request."""
        kept = {k: options[k] for k in ("priority", "trace_headers") if options.get(k)}
        request = self._engine.prepare(request_id, prompt, sampling_params, **kept)
        sink = LoopSink()
        await asyncio.wrap_future(self._engine.call(lambda: self._engine.admit(request, sink, prompt_text)))
        finished = False
        try:
            while not finished:
                output = await sink.get()
                finished = output.finished
                yield output
        finally:
            if not finished:
                self._engine.call(lambda: self._engine.abort([request.request_id]))


class Door:
    """The HTTP server. It answers 503 until a policy has a name: a warm engine is no served model."""

    def __init__(self, engine: Engine, directory: str, listener: socket.socket) -> None:
        client = DoorClient(engine)
        self._engine, self._listener, self._directory = engine, listener, directory
        self._names: list[BaseModelPath] = []
        self.app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        for routes in (model_routes, completion_routes, chat_routes):
            routes.attach_router(self.app)
        init_exception_handler(self.app)
        self.app.middleware("http")(self._refuse_unnamed)
        self.app.get("/health")(self._health)
        self._wire(client)

    def _wire(self, client: Any) -> None:
        models = OpenAIServingModels(client, self._names)
        renderer = OnlineRenderer(
            client.model_config,
            client.renderer,
            request_logger=None,
            chat_template=None,
            chat_template_content_format="auto",
        )
        state = self.app.state
        state.engine_client, state.openai_serving_models = client, models
        state.args = SimpleNamespace(sse_keep_alive_interval=0, log_error_stack=False)
        state.enable_server_load_tracking = False
        state.openai_serving_completion = OpenAIServingCompletion(
            client, models, online_renderer=renderer, request_logger=None
        )
        state.openai_serving_chat = OpenAIServingChat(
            client,
            models,
            "assistant",
            online_renderer=renderer,
            request_logger=None,
            chat_template=None,
            chat_template_content_format="auto",
        )

    def serve_as(self, name: str) -> None:
        """Names the model; an empty name closes the door. vLLM's registry shares the list: it is changed in place."""
        self._names[:] = [BaseModelPath(name=name, model_path=self._directory)] if name else []

    async def _refuse_unnamed(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        if request.url.path.startswith("/v1/") and not self._names:
            error = {"message": "no policy is loaded: call LoadPolicy first", "type": "ServiceUnavailable", "code": 503}
            return JSONResponse({"error": error}, status_code=503)
        return await call_next(request)

    async def _health(self) -> Response:
        return Response(status_code=200 if self._engine.dead is None else 503)

    async def serve(self) -> None:
        """Serves until cancelled."""
        await _Server(uvicorn.Config(self.app, log_level="warning", timeout_keep_alive=60)).serve(
            sockets=[self._listener]
        )


class _Server(uvicorn.Server):
    """Leaves signals to the process that it runs in."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


def listen(host: str, port: int, is_a_wish: bool) -> socket.socket:
    """A bound socket; port 0 for a free one, which also does where ``port`` is taken and only wished for."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as e:
        if not is_a_wish:
            raise EngineError(
                f"the HTTP door cannot listen on {host}:{port}: {e.strerror}",
                hint="choose another port with --http-port or MARIN_INFERENCE_HTTP_PORT",
                reason="PORT_IN_USE",
                code="UNAVAILABLE",
            ) from e
        listener.bind((host, 0))
    return listener
