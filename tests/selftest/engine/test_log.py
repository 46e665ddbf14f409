"""What the engine's log says, on logs of real runs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streamworthy.engine.log import LogFacts, clean_log, explain_refusal, parse_log

_LOGS = Path(__file__).parents[3] / "fixtures/logs"
_MIB = 2**20

_SAMPLE = LogFacts(
    kv_bytes=_MIB,
    compute_bytes=round(0.97 * _MIB) + round(0.01 * _MIB),
    repack_bytes=0,
    kv_types=("f16",),
    smallest_kv_cells=256,
    slots_count=1,
    ubatch_tokens=32,
    load_mode="mmap",
    flash_attention="enabled",
    lock_failure="",
    hint_refused="",
    gpus=(),
    unmapped="",
)


def read(name):
    """Read a stored log."""
    return (_LOGS / f"{name}.log").read_text(encoding="utf-8")


def changed(facts, **changes):
    """Give the same facts with changes."""
    return LogFacts(**({name: getattr(facts, name) for name in LogFacts.__slots__} | changes))


def test_a_mapped_load_is_read_whole():
    """Every fact of the sample's log."""
    assert parse_log(read("sample-mmap")) == changed(_SAMPLE, compute_bytes=round(0.98 * _MIB))


def test_a_repacked_load_tells_its_copy():
    """The log says mmap in both; only the CPU_REPACK buffer tells that the weights were copied."""
    found = parse_log(read("sample-repack"))

    assert found.load_mode == "mmap"
    assert found.repack_bytes == round(202.5 * _MIB)


def test_a_load_without_mmap_says_so():
    """The effective mode is read, not the one asked for."""
    assert parse_log(read("sample-no-mmap")).load_mode == "none"


def test_the_kv_type_is_the_engines():
    """A quantised cache is told by its line."""
    assert parse_log(read("smollm2-q8-kv")).kv_types == ("q8_0",)


def test_a_refused_lock_is_told():
    """The load goes on without the lock, so the warning is all there is."""
    assert parse_log(read("smollm2-locked")).lock_failure == ""
    assert parse_log(read("smollm2-lock-refused")).lock_failure.startswith("failed to mlock 31866880-byte buffer")


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("llm_load_tensors: (mmap = true, direct_io = false)", "load_mode", "mmap"),
        ("load_tensors: (mmap = false)", "load_mode", "none"),
        ("load_tensors: (load_mode = mmap+mlock)", "load_mode", "mmap+mlock"),
        (
            "llama_model_loader: direct I/O is enabled, disabling mmap",
            "unmapped",
            "direct I/O is enabled, disabling mmap",
        ),
        (
            "warning: posix_fadvise(.., POSIX_FADV_SEQUENTIAL) failed: Invalid argument",
            "hint_refused",
            "posix_fadvise(.., POSIX_FADV_SEQUENTIAL) failed: Invalid argument",
        ),
        ("warning: mmap is not supported on this platform", "unmapped", "mmap is not supported on this platform"),
        ("load_tensors: CPU_REPACK model buffer size =  1552,05 MiB", "repack_bytes", round(1552.05 * _MIB)),
        ("\x1b[32m0.00.110.615 I \x1b[0mload_tensors: (load_mode = none)", "load_mode", "none"),
        ("\x1b[0K\x1b[38:5:2m0.00.110.615 I \x1b[mload_tensors: (load_mode = none)\r", "load_mode", "none"),
        ("load_tensors: (load_mode = dio)", "load_mode", "dio"),
        ("load_tensors: (load_mode = dio)", "unmapped", "load_mode = dio"),
        ("load_tensors: (load_mode = mmap, lazy_mode = on)", "load_mode", "mmap"),
        ("load_tensors: (mmap = false, direct_io = true)", "unmapped", "direct_io = true"),
        ("load_tensors: (mmap = true, direct_io = false)", "unmapped", ""),
        ("load_tensors:  CPU_AARCH64 model buffer size =  1552.00 MiB", "repack_bytes", 1552 * _MIB),
        ("load_tensors:          AMX model buffer size =    12.00 MiB", "repack_bytes", 12 * _MIB),
        ("llama_memory_recurrent:        CPU RS buffer size =    19.00 MiB", "kv_bytes", 19 * _MIB),
        ("load_tensors:        CUDA0 model buffer size =  4096.00 MiB", "gpus", ("CUDA0",)),
        ("llama_context:      Vulkan1 compute buffer size =   301,75 MiB", "gpus", ("Vulkan1",)),
        ("load_tensors:  MTL0_Mapped model buffer size =  4096.00 MiB", "gpus", ("MTL0_Mapped",)),
        ("load_tensors: RPC0[10.0.0.2:50052] model buffer size = 40.00 MiB", "gpus", ("RPC0[10.0.0.2:50052]",)),
        ("sched_reserve:      CUDA0 compute buffer size =     0.00 MiB", "gpus", ()),
        ("sched_reserve:  CUDA_Host compute buffer size =     8.00 MiB", "gpus", ()),
        ("load_tensors:   CPU_Mapped model buffer size =  4096.00 MiB", "gpus", ()),
        ("warning: not compiled with GPU offload support, --gpu-layers option will be ignored", "gpus", ()),
        ("load_tensors: offloaded 0/33 layers to GPU", "gpus", ()),
    ],
)
def test_other_versions_lines_are_read(line, name, value):
    """Old and new spellings, a decimal comma, colours and time prefixes."""
    assert getattr(parse_log(line), name) == value


def test_recurrent_states_are_no_window():
    """Hybrid models keep states of one cell a slot beside their KV cache; both are what the engine needs."""
    found = parse_log(
        "llama_kv_cache:        CPU KV buffer size =    16.00 MiB\n"
        "llama_kv_cache: size =   16.00 MiB (  4096 cells,  12 layers,  1/1 seqs), "
        "K (f16):    8.00 MiB, V (f16):    8.00 MiB\n"
        "llama_memory_recurrent:        CPU RS buffer size =    75.38 MiB\n"
        "llama_memory_recurrent: size =   75.38 MiB (     1 cells,  48 layers,  1 seqs), "
        "R (f32):    3.38 MiB, S (f32):   72.00 MiB\n"
    )
    assert (found.smallest_kv_cells, found.kv_types, found.kv_bytes) == (4096, ("f16",), round(91.38 * _MIB))


def test_a_line_without_an_end_is_read_in_time():
    """A log of one long word: as long as the largest that is kept."""
    began = time.process_time()
    assert parse_log("." * 256 * 2**10).gpus == ()
    assert time.process_time() - began < 5.0


def test_a_log_that_says_nothing_gives_no_facts():
    """Absent is absent, never 0 or a guess."""
    found = parse_log("hello\n")

    assert (found.kv_bytes, found.compute_bytes, found.kv_types, found.load_mode) == (None, None, (), "")


def test_colours_and_prefixes_are_stripped():
    """What is left is the message, without empty lines."""
    assert clean_log("\x1b[0m0.00.110.615 W failed\n\n \nnext\n") == ["failed", "next"]


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("truncated", "a shard is truncated"),
        ("missing", "a shard is missing"),
        ("web-page", "a shard is a web page, not its download"),
        ("lfs", "a shard is a Git LFS pointer, not its content"),
        ("later-shard", "a later shard was opened"),
        ("swapped", "shards are swapped or renamed"),
        ("renamed", "a shard was renamed"),
        ("architecture", "the engine does not know this architecture"),
        ("gguf-v1", "this GGUF version is not supported"),
        ("big-endian", "the model is big-endian"),
        ("address-space", "the address space is limited"),
        ("memory-kv", "not enough memory for KV"),
        ("memory-compute", "not enough memory for compute buffers"),
        ("memory-weights", "not enough memory to hold the weights outside of the page cache"),
        ("tokenizer", "the engine does not know this model's tokenizer"),
        ("removed-type", "this quantisation was removed from the engine"),
        ("tensor-not-found", "a tensor that this architecture needs is missing"),
        ("key-not-found", "a key that this architecture needs is missing"),
    ],
)
def test_a_refusal_is_explained(name, meaning):
    """The line is the log's own; the meaning and what to do are ours."""
    line, found, fix = explain_refusal(read(f"refused-{name}"))

    assert found == meaning
    assert line in read(f"refused-{name}")
    assert fix


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("gguf_init_from_file_impl: invalid magic characters: '????', expected 'GGUF'", "a shard begins with zeros"),
        ("gguf_init_from_reader: invalid magic characters: 'FUGG', expected 'GGUF'", "the model is big-endian"),
        ("gguf_init_from_reader: invalid magic characters: 'PK..', expected 'GGUF'", "a shard is not a GGUF file"),
        ("llama_model_loader: invalid split file: model-b.gguf", "a shard was renamed"),
        ("failed to load model: invalid split count, given: 2 splits, but expected 7", "the list of shards is not"),
        ("insufficient memory (attempted to allocate 103 000 MB)", "not enough memory"),
        (
            "alloc_tensor_range: failed to allocate CPU_REPACK buffer of size 103000000000",
            "not enough memory for repacked",
        ),
        ("gguf_init_from_file: failed to open GGUF file 'a' (Input/output error)", "a drive gives no data"),
        ("gguf_init_from_file: failed to open GGUF file 'a' (Stale file handle)", "the server of a shard's filesystem"),
        ("llama_model_load: error loading model: read error: Input/output error", "a shard cannot be read to its end"),
        (
            "llama_model_load_from_file_impl: no backends are loaded. hint: use ggml_backend_load()",
            "the engine's CPU code",
        ),
    ],
)
def test_lines_of_users_logs_are_explained(line, meaning):
    """Older spellings, and files whose first bytes tell what they are."""
    assert explain_refusal(f"loading\n0.00.110.615 E {line}\nllama_model_load: error loading model\n")[1].startswith(
        meaning
    )


@pytest.mark.parametrize(
    ("line", "fix", "other"),
    [
        ("init: failed to allocate buffer for kv cache", "context_tokens", "repack"),
        ("graph_reserve: failed to allocate compute buffers", "ubatch_tokens", "repack"),
        ("error loading model: unable to allocate CPU buffer", "mmap = true", "context_tokens"),
        ("alloc_tensor_range: failed to allocate CPU_REPACK buffer of size 9", "repack = false", "context_tokens"),
        ("GGUFv1 is no longer supported, please use a more up-to-date version", "newer conversion", "pip"),
        ("done_getting_tensors: wrong number of tensors; expected 1147, got 1025", "first shard", "sha256sum"),
        ("failed to initialize the context: quantized V cache was requested", 'kv_type = "f16"', "pip"),
        ("error loading model: mmap failed: Operation not permitted", "storage.mappable", "ulimit"),
        ("gguf_init_from_reader: failed to read magic", "sha256sum", "pip"),
        ("this GGUF file is version 9 but this software only supports up to version 3", "pip", "conversion"),
    ],
)
def test_each_cause_of_one_symptom_has_its_own_remedy(line, fix, other):
    """Memory is missing for one thing and not for another; what was too large is what has to shrink."""
    before = (
        "" if "alloc" not in line else "ggml_aligned_malloc: insufficient memory (attempted to allocate 8791.88 MB)\n"
    )
    found = explain_refusal(f"{before}{line}\n")[2]
    assert fix in found
    assert other not in found


def test_every_stored_log_is_used():
    """A refusal that nobody explains would be a fixture for nothing."""
    assert len(list(_LOGS.glob("refused-*.log"))) == 18


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "the log is empty"),
        ("a\nan error: b\nc\n", "an error: b"),
        ("a\nb\n", "b"),
        ("a: error: b\nc: error: failed to load model from x\nd: failed to load model\n", "a: error: b"),
        ("d: failed to load model\n", "d: failed to load model"),
    ],
)
def test_an_unknown_refusal_gives_the_most_telling_line(text, line):
    """No meaning is invented."""
    assert explain_refusal(text) == (line, "", "")
