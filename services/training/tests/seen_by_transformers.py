"""Loads a checkpoint with transformers and PyTorch and prints, as JSON, what they make of it. Runs where PyTorch is."""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
torch.manual_seed(0)
prompt = torch.tensor([tokenizer.encode("river stone")])
with torch.no_grad():
    logits = model(prompt).logits
    # Nearly uniform, so that ids of all kinds are sampled; nothing may end the samples early.
    sampled = model.generate(
        prompt, do_sample=True, temperature=50.0, top_k=0, max_new_tokens=48, num_return_sequences=16
    )
ids = sampled[:, prompt.shape[1] :].flatten().tolist()
print(
    json.dumps(
        {
            "logits": list(logits.shape),
            "finite": bool(torch.isfinite(logits).all()),
            "tokenizer": len(tokenizer),
            "sampled": ids,
            "texts": tokenizer.convert_ids_to_tokens(ids),
            "decoded": [tokenizer.decode([i], skip_special_tokens=True) for i in ids],
        }
    )
)
