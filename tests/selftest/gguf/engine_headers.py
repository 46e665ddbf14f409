"""Asks ggml's own reader about files: prints a 1 or a 0 for each path given on standard input. Run as a program."""

import ctypes
import sys

import llama_cpp
from llama_cpp._ggml import libggml


class Params(ctypes.Structure):
    """struct gguf_init_params of gguf.h."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


@llama_cpp.llama_log_callback
def hush(_level, _text, _data):
    """Keep ggml's messages from the output."""


def main():
    """Read each header."""
    libggml.ggml_log_set(hush, None)
    libggml.gguf_init_from_file.restype = ctypes.c_void_p
    libggml.gguf_init_from_file.argtypes = (ctypes.c_char_p, Params)
    libggml.gguf_free.argtypes = (ctypes.c_void_p,)
    for path in sys.stdin.read().splitlines():
        found = libggml.gguf_init_from_file(path.encode(), Params(True, None))
        sys.stdout.write("1" if found else "0")
        if found:
            libggml.gguf_free(found)


if __name__ == "__main__":
    main()
