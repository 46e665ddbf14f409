"""llama.cpp through the low-level interface of llama-cpp-python, for use in the engine's child process only.

Every call that matters is timed by CLOCK_MONOTONIC, which all processes share. getrusage(2) tells device bytes
(ru_inblock, 512 bytes each, the same counter as read_bytes in /proc/PID/io) and major faults in a microsecond.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from streamworthy.engine.wishes import context_assignments, model_assignments, numa_strategy
from streamworthy.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.plan import EnginePlan

_BLOCK_BYTES = 512  # of ru_inblock
_DEBUG, _CONTINUED = 1, 5  # ggml_log_level
_PIECE_BYTES = 256
_EMPTY_TOKENS = 8  # after so many tokens without text the last one counts as the first


def usage() -> tuple[int, int]:
    """Give bytes read from devices and major faults of this process so far, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_inblock * _BLOCK_BYTES, used.ru_majflt


class Llama:
    """One model and one context. ``log`` receives the engine's lines, its debug output left out."""

    def __init__(self, log: TextIO) -> None:
        """Import the binding; raises ImportError as the import does, OSError or RuntimeError without its library."""
        from llama_cpp import llama_cpp

        self.api: Any = llama_cpp
        self._callback = self._keep_log(log)
        self._model: Any = None
        self._context: Any = None
        self._vocabulary: Any = None
        self._words_count = 0
        self._continuation: list[int] = []
        self._no_devices = (ctypes.c_void_p * 1)(None)

    def _keep_log(self, log: TextIO) -> Any:  # noqa: ANN401 - a ctypes function
        last = 0

        def write(level: int, text: bytes, _: object) -> None:
            nonlocal last
            last = last if level == _CONTINUED else level
            if last != _DEBUG:
                log.write(text.decode("utf-8", "replace"))
                log.flush()

        callback = self.api.llama_log_callback(write)
        self.api.llama_log_set(callback, ctypes.c_void_p(0))
        _load_backends(self.api)
        self.api.llama_backend_init()
        return callback

    def load(self, path: Path, plan: EnginePlan, threads: int) -> bool:
        """Load the model and make a context; False when the engine refused, its log says why."""
        api = self.api
        constants = {name: value for name, value in vars(api).items() if name.startswith(("LLAMA_", "GGML_NUMA_"))}
        strategy = numa_strategy(plan, constants)
        if strategy is not None:
            api.llama_numa_init(strategy)
        model = api.llama_model_default_params()
        _assign(model, model_assignments(plan, _fields(model), constants))
        if "devices" in _fields(model):  # an empty list: no GPU, whatever the build has; without a list, all
            model.devices = ctypes.cast(self._no_devices, ctypes.c_void_p)
        context = api.llama_context_default_params()
        _assign(context, context_assignments(plan, threads, _fields(context)))
        self._model = api.llama_model_load_from_file(os.fsencode(path), model)
        if not self._model:
            return False
        self._vocabulary = api.llama_model_get_vocab(self._model)
        self._words_count = int(api.llama_vocab_n_tokens(self._vocabulary))
        self._context = api.llama_init_from_model(self._model, context)
        return bool(self._context)

    @property
    def vocabulary_count(self) -> int:
        """How many tokens the model knows."""
        return self._words_count

    @property
    def context_tokens(self) -> int:
        """The context that the engine made."""
        return int(self.api.llama_n_ctx(self._context))

    @property
    def threads(self) -> int:
        """The threads that the engine decodes with."""
        return int(self.api.llama_n_threads(self._context))

    def set_threads(self, count: int) -> None:
        """Compute prompts and tokens with so many threads from now on."""
        self.api.llama_set_n_threads(self._context, count, count)

    def tokenize(self, text: str) -> list[int]:
        """Turn a text into tokens, with the begin token where the model wants one."""
        raw = text.encode()
        room = len(raw) + 16
        tokens = (self.api.llama_token * room)()
        count = self.api.llama_tokenize(self._vocabulary, raw, len(raw), tokens, room, True, False)
        if count <= 0:
            raise EngineError(f"engine: the model's tokenizer gave {count} tokens for {len(raw)} bytes of English text")
        return list(tokens[:count])

    def piece(self, token: int) -> str:
        """Give a token's text; "" for control tokens."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        count = self.api.llama_token_to_piece(self._vocabulary, token, buffer, _PIECE_BYTES, 0, False)
        return buffer.raw[: max(count, 0)].decode("utf-8", "replace")

    def prompt(self, texts: Sequence[str], tokens: int, spare: int, batch: int) -> dict[str, Any]:
        """Feed ``tokens`` tokens of the texts to an empty context and wait for the first token that has text.

        Keeps the ``spare`` tokens that follow in the text for decode. Texts are repeated where they are too short.
        """
        stream = self.tokenize(" ".join(texts))
        stream *= -(-(tokens + spare) // len(stream))
        self._continuation = stream[tokens : tokens + spare]
        self.clear()
        before, sent = usage(), time.monotonic()
        self._feed(stream[:tokens], batch)
        token = self._best()
        prefilled = time.monotonic()
        for _ in range(_EMPTY_TOKENS):
            if self.piece(token):
                break
            self._feed([token], batch)
            token = self._best()
        first, after = time.monotonic(), usage()
        return {
            "sent": sent,
            "prefill_seconds": prefilled - sent,
            "first": first,
            "tokens": tokens,
            "device_bytes": after[0] - before[0],
            "major_faults": after[1] - before[1],
        }

    def decode(self, tokens: int) -> dict[str, Any]:
        """Feed the text's own next tokens one at a time, each as generation would, and time their logits."""
        feed, self._continuation = self._continuation[:tokens], self._continuation[tokens:]
        before, began = usage(), time.monotonic()
        arrivals, device = [], []
        for token in feed:
            self._feed([token], 1)
            self._best()
            arrivals.append(time.monotonic() - began)
            device.append(usage()[0] - before[0])
        after = usage()
        return {
            "began": began,
            "seconds": arrivals[-1],
            "tokens": len(feed),
            "token_seconds": arrivals,
            "token_device_bytes": device,
            "device_bytes": after[0] - before[0],
            "major_faults": after[1] - before[1],
        }

    def answer(self, text: str, tokens: int, batch: int) -> dict[str, Any]:
        """Answer greedily: token ids and text."""
        self.clear()
        self._feed(self.tokenize(text), batch)
        found = [self._best()]
        while len(found) < tokens:
            self._feed([found[-1]], batch)
            found.append(self._best())
        return {"ids": found, "text": "".join(map(self.piece, found))}

    def clear(self) -> None:
        """Empty the KV cache."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self._context), True)

    def _feed(self, tokens: Sequence[int], batch: int) -> None:
        for start in range(0, len(tokens), batch):
            part = tokens[start : start + batch]
            array = (self.api.llama_token * len(part))(*part)
            status = self.api.llama_decode(self._context, self.api.llama_batch_get_one(array, len(part)))
            if status != 0:
                raise EngineError(f"engine: llama_decode returned {status} for {len(part)} tokens, expected 0")

    def _best(self) -> int:
        import numpy as np

        logits = np.ctypeslib.as_array(self.api.llama_get_logits_ith(self._context, -1), (self._words_count,))
        best = int(logits.argmax())
        if not np.isfinite(logits[best]):
            raise EngineError(
                "engine: the logits are not finite numbers",
                fix="the weights are damaged or this quantisation fails in this build: check the shards' hashes",
            )
        return best


def _fields(struct: ctypes.Structure) -> list[str]:
    return [field[0] for field in struct._fields_]


def _assign(struct: ctypes.Structure, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(struct, name, value)


def _load_backends(api: Any) -> None:  # noqa: ANN401 - the binding's module
    """Register a portable build's CPU code: llama.cpp looks for it beside Python's executable, the wheel has it in lib.

    Through libllama's own handle, so that the registry is the one that it reads. A native build has its CPU code built
    in, and would have it twice.
    """
    folder = Path(api.__file__).parent / "lib"
    if any(folder.glob("libggml-cpu-*.so")):
        api._lib.ggml_backend_load_all_from_path(os.fsencode(folder))  # noqa: SLF001 - the binding's only handle
