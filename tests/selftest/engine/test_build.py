"""Which engine is installed and how it was built."""

from __future__ import annotations

import pytest

from streamworthy.engine.build import MARKER, engine_build, probe_build, read_flags
from streamworthy.facts.episode import EngineBuild


@pytest.mark.parametrize(("text", "flags"), [('flags = "native"\n', "native"), ('flags = "portable"\n', "portable")])
@pytest.mark.parametrize("beside", [True, False])
def test_the_marker_tells_the_flags(tmp_path, text, flags, beside):
    """In the package or beside it."""
    folder = tmp_path / "llama_cpp"
    folder.mkdir()
    (tmp_path if beside else folder).joinpath(MARKER).write_text(text)

    assert read_flags(folder) == flags


@pytest.mark.parametrize(("count", "flags"), [(0, "unknown"), (1, "unknown"), (2, "portable")])
def test_several_cpu_libraries_are_a_portable_build(tmp_path, count, flags):
    """GGML_CPU_ALL_VARIANTS makes one library for each kind of CPU."""
    (tmp_path / "lib").mkdir()
    for number in range(count):
        (tmp_path / "lib" / f"libggml-cpu-kind{number}.so").touch()

    assert read_flags(tmp_path) == flags


@pytest.mark.parametrize("text", ["", "flags", 'other = "x"\n'])
def test_a_broken_marker_is_unknown(tmp_path, text):
    """Unknown is said, never guessed."""
    (tmp_path / MARKER).write_text(text)

    assert read_flags(tmp_path) == "unknown"
    assert read_flags(None) == "unknown"


def test_what_the_engine_says_is_kept():
    """Version, commit and features come from the running engine."""
    found = engine_build(version="0.3.36", commit="0c1e570", features="AVX2 = 1")

    assert found == EngineBuild(
        name="llama-cpp-python",
        version="0.3.36",
        commit="0c1e570",
        flags=found.flags,
        cmake_args=found.cmake_args,
        compiler=found.compiler,
        features="AVX2 = 1",
    )


def test_how_the_engine_was_built_is_read_from_its_marker(tmp_path):
    """Two builds with the same flags may differ in the compiler, and then in speed."""
    (tmp_path / MARKER).write_text('flags = "native"\ncmake_args = "-DGGML_NATIVE=ON"\ncompiler = "g++ 12.2.0"\n')
    found = engine_build(version="0.3.36", commit="", features="", folder=tmp_path)

    assert (found.flags, found.cmake_args, found.compiler) == ("native", "-DGGML_NATIVE=ON", "g++ 12.2.0")


def test_the_installed_engine_is_known_without_importing_it():
    """None where there is none."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")

    assert probe_build().version
