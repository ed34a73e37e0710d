"""An agent that asks the model once and writes the integer it finds in the answer to /app/answer.txt."""

import json
import shlex
from typing import Any

import httpx
from drivers import prompt_hash
from extraction import extract
from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

NO_ANSWER = "-1"


class ModelRequestError(Exception):
    """The model was asked and gave no answer. Not a wrong answer: the trial has no score."""


class OneShotAgent(BaseAgent):
    """``endpoint`` is the base of OpenAI-style routes. It is called from here: the sandbox needs no network."""

    def __init__(
        self, *args: Any, endpoint: str, chat: bool, sampling: dict[str, Any], timeout_s: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._endpoint, self._chat, self._sampling, self._timeout_s = endpoint, chat, sampling, timeout_s

    @staticmethod
    def name() -> str:
        return "marin-one-shot"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        asked = [{"role": "user", "content": instruction}] if self._chat else instruction
        context.metadata = {"prompt_hash": prompt_hash(asked)}
        choice, usage = await self._ask(asked)
        answer = choice["message"]["content"] or "" if self._chat else choice["text"]
        extracted = extract(answer)
        context.n_input_tokens, context.n_output_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
        context.metadata |= {"prediction": answer, "extracted": extracted}
        (self.logs_dir / "answer.json").write_text(json.dumps(context.metadata))
        written = await environment.exec(f"printf %s {shlex.quote(extracted or NO_ANSWER)} > /app/answer.txt")
        if written.return_code:
            raise OSError(f"/app/answer.txt could not be written: {written.stderr}")

    async def _ask(self, asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        route, field = ("/chat/completions", "messages") if self._chat else ("/completions", "prompt")
        try:
            async with httpx.AsyncClient(timeout=self._timeout_s, trust_env=False) as client:
                body = {"model": self.model_name, field: asked, **self._sampling}
                response = await client.post(self._endpoint + route, json=body)
            response.raise_for_status()
            reply = response.json()
            return reply["choices"][0], reply.get("usage") or {}
        except (httpx.HTTPError, ValueError, LookupError) as e:
            raise ModelRequestError(f"{type(e).__name__}: {e}") from e
