"""A double of the inference service for tests of the pure core alone: samples with transformers, in this process."""

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from marin_chassis.engine import EngineError
from marin_rl.core.policy import response_logprobs, sequence_logprobs
from marin_rl.core.rollout import Probe, Request, Sample


class LocalSampler:
    """Keeps the promises that the trainer counts on: versions rise, seeds repeat, the probe is checked."""

    def __init__(self, max_new_tokens: int, temperature: float = 1.0) -> None:
        self._max, self._temperature = max_new_tokens, temperature
        self.loads: list[tuple[Path, int]] = []
        self.updates: list[int] = []
        self.version = -1
        self.frozen = False  # accept updates by label only: weights stay as they are

    def load(self, directory: Path, digest: str, version: int) -> None:
        self._model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
        self._stop = set(self._model.generation_config.eos_token_id)
        self.version = version
        self.loads.append((directory, version))

    @torch.no_grad()
    def generate(self, requests: Sequence[Request], n: int, min_version: int) -> list[list[Sample]]:
        return [self._group(r, n) for r in requests]

    def _group(self, request: Request, n: int) -> list[Sample]:
        generator = torch.Generator().manual_seed(request.seed)
        ids = torch.tensor([request.prompt_ids] * n)
        for _ in range(self._max):
            logits = self._model(ids, use_cache=False, logits_to_keep=1).logits[:, -1] / self._temperature
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1, generator=generator)], dim=1)
        return [self._cut(request.prompt_ids, row[len(request.prompt_ids) :]) for row in ids.tolist()]

    def _cut(self, prompt: tuple[int, ...], new: list[int]) -> Sample:
        end = next((i + 1 for i, t in enumerate(new) if t in self._stop), None)
        response = tuple(new[:end])
        logprobs = tuple(response_logprobs(self._model, prompt, [response], self._temperature)[0].tolist())
        return Sample(response, logprobs, ((self.version, 0, len(response)),), "stop" if end else "length")

    def update_weights(self, tensors: dict[str, torch.Tensor], digest: str, version: int, probe: Probe) -> float:
        assert version > self.version
        if not self.frozen:
            self._model.load_state_dict({k: v.clone() for k, v in tensors.items()}, strict=True)
            got = sequence_logprobs(self._model, probe.token_ids)
            worst = max(abs(a - b) for a, b in zip(got, probe.logprobs, strict=True))
            if worst > 1e-3:
                raise EngineError("probe differs", hint="", reason="PROBE_MISMATCH")
        self.version = version
        self.updates.append(version)
        return 0.0
