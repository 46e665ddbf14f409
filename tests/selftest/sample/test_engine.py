"""The default sample in the real engine: loaded from its first shard, in a child process."""

import pytest

from streamworthy.sample.reference import load_reference, stored_digests
from streamworthy.sample.spec import DEFAULT_SIZE_BYTES, spec_for_size
from streamworthy.sample.stored import hash_shards
from streamworthy.sample.text import passages
from streamworthy.sample.trace import RoutingTrace, top_share, unused_experts
from streamworthy.sample.vocabulary import encode

OTHER_TEXT = "It's 42 km/h.\n\n\tZażółć gęślą jaźń; 漢字 🙂 def f(x): return x**2  "

ANSWER = """
import json, sys
import numpy as np
from llama_cpp import Llama
from streamworthy.sample.reference import load_reference
reference = load_reference()
model = Llama(sys.argv[1], n_ctx=256, n_threads=1, n_threads_batch=1, logits_all=True, verbose=False)
model.eval(model.tokenize(reference.prompt.encode(), add_bos=False))
answer, margins, finite = [], [], True
for _ in reference.answer_tokens:
    logits = np.array(model.scores[model.n_tokens - 1])
    best = np.sort(logits)
    answer.append(int(logits.argmax())); margins.append(float(best[-1] - best[-2]))
    finite = finite and bool(np.isfinite(logits).all())
    model.eval(answer[-1:])
print(json.dumps({"answer": answer, "margin": min(margins), "finite": finite}))
"""

TOKENS = """
import json, sys
from llama_cpp import Llama
from streamworthy.sample.text import passages
model = Llama(sys.argv[1], vocab_only=True, verbose=False)
other = model.tokenize(sys.argv[2].encode(), add_bos=False)
print(json.dumps({
    "passages": [model.tokenize(text.encode(), add_bos=False) for text in passages()],
    "round_trip": model.detokenize(other).decode(),
}))
"""

TRACE = """
import json, sys, pathlib
from streamworthy.sample.trace import trace_routing
trace = trace_routing(pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]))
print(json.dumps({"n_expert": trace.n_expert, "picks": trace.picks}))
"""


def test_default_has_the_stored_digests(default_sample):
    """Any machine writes the bytes that are stored for the default size."""
    spec = spec_for_size(DEFAULT_SIZE_BYTES)
    assert tuple(hash_shards(default_sample.parent, spec)) == stored_digests(spec)


def test_answers_with_the_reference(engine, default_sample):
    """The greedy answer is the stored one, by at least the stored margin, and every logit is finite."""
    found = engine(ANSWER, default_sample)
    reference = load_reference()
    assert tuple(found["answer"]) == reference.answer_tokens
    assert found["margin"] >= reference.logit_margin
    assert found["finite"]


def test_tokenizer(engine, default_sample):
    """The engine gives the passages the tokens that the library expects, and any text comes back whole."""
    found = engine(TOKENS, default_sample, OTHER_TEXT)
    assert [tuple(tokens) for tokens in found["passages"]] == [encode(text) for text in passages()]
    assert found["round_trip"] == OTHER_TEXT


@pytest.fixture(scope="module")
def trace(engine, default_sample):
    """Trace 512 tokens of the passages through the default sample."""
    tokens = [token for text in passages() for token in encode(text)][:512]
    found = engine(TRACE, default_sample, list(tokens))
    return RoutingTrace(n_expert=found["n_expert"], picks=tuple(tuple(map(tuple, row)) for row in found["picks"]))


def test_trace_is_complete(trace):
    """All layers show four different experts of 64 for each of the 512 tokens."""
    spec = spec_for_size(DEFAULT_SIZE_BYTES)
    assert trace.n_expert == spec.n_expert
    assert [len(layer) for layer in trace.picks] == [512] * spec.n_layer
    assert all(len(set(token)) == spec.n_expert_used for layer in trace.picks for token in layer)


def test_routing_is_skewed(trace):
    """The top tenth of the experts takes 30 to 60 % of the picks."""
    assert 0.30 <= top_share(trace, 0.10) <= 0.60


def test_no_expert_is_unused(trace):
    """Every expert of every layer is picked at least once in 512 tokens."""
    assert unused_experts(trace) == ()
