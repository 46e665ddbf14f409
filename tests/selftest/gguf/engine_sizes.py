"""Loads a model in the engine and prints what its log says of the buffers, one JSON line for each configuration.

Run as a program: the engine aborts its process on some models. Arguments: the model, and a JSON list of plans.
"""

import json
import re
import sys

import llama_cpp as engine

KV_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 8}
LINES = []


@engine.llama_log_callback
def keep(_level, text, _data):
    """Keep the engine's log."""
    LINES.append(text.decode("utf-8", "replace"))


def sizes_of(model, plan):
    """Make a context as a plan asks and give its buffers in bytes, and the cells of each cache."""
    LINES.clear()
    params = engine.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = plan["context"], plan["batch"], plan["ubatch"]
    params.n_seq_max, params.swa_full = plan["slots"], plan["swa_full"]
    params.type_k = params.type_v = KV_TYPES[plan["kv_type"]]
    params.n_threads = params.n_threads_batch = 1
    context = engine.llama_init_from_model(model, params)
    log = "".join(LINES)
    if not context:
        sys.exit(log[-500:])
    engine.llama_free(context)
    found = {
        name: sum(float(size) for size in re.findall(rf"{name} buffer size = +([\d.]+) MiB", log))
        for name in ("KV", "RS", "compute", "output")
    }
    return found | {"cells": [int(cells) for cells in re.findall(r"\( *(\d+) cells", log)]}


def main():
    """Load the model once."""
    engine.llama_log_set(keep, None)
    engine.llama_backend_init()
    params = engine.llama_model_default_params()
    params.use_extra_bufts = False
    model = engine.llama_model_load_from_file(sys.argv[1].encode(), params)
    if not model:
        sys.exit("".join(LINES)[-500:])
    for plan in json.loads(sys.argv[2]):
        sys.stdout.write(json.dumps(sizes_of(model, plan)) + "\n")


if __name__ == "__main__":
    main()
