"""An engine that repacks the weights although it is asked not to, as a build with that default would. Not a test."""

from __future__ import annotations

import sys

if "streamworthy.engine.child" in sys.orig_argv:
    from llama_cpp import llama_cpp

    load = llama_cpp.llama_model_load_from_file

    def load_repacked(path, parameters):
        """Load with one wish ignored."""
        parameters.use_extra_bufts = True
        return load(path, parameters)

    llama_cpp.llama_model_load_from_file = load_repacked
