"""The kinds of artifact that exist, which service makes each, and the engine whose version its bytes depend on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of artifact.

    ``service`` makes it by ``create`` (the RPC on that service). ``engine`` names what can change the bytes: a new engine
    version gives new build keys. ``mutable_roles`` are role prefixes of which there may be several ("tokens/web", "tokens/code").
    """

    name: str
    service: str
    create: str
    engine: str


_LEVANTER = "marin-levanter-0.2.227.dev40316220070/1"

KINDS = {
    k.name: k
    for k in (
        Kind("documents", "data", "CreateRunPipelineJob", "datakernels/1"),
        Kind("conversations", "data", "CreateConvertConversationsJob", "datakernels/1"),
        Kind("problems", "data", "CreateConvertProblemsJob", "datakernels/1"),
        Kind("tokenizer", "tokenization", "CreateTrainTokenizerJob", "tokenizers-0.22/1"),
        Kind("tokens", "tokenization", "CreateTokenizeJob", _LEVANTER),
        Kind("checkpoint.pretrain", "training", "CreatePretrainJob", _LEVANTER),
        Kind("checkpoint.sft", "training", "CreateSftJob", _LEVANTER),
        Kind("policy", "rl", "CreateGrpoJob", "skyrl-0.4.0/vllm-0.32.0/1"),
        Kind("evaluation", "evaluation", "CreateEvaluateJob", "lm-eval-0.4.13/harbor-0.25.0/vllm-0.32.0/1"),
    )
}
