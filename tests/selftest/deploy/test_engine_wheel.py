"""Building the engine once: progress, what is kept, what pip sees."""

from __future__ import annotations

import csv
import io
import zipfile

from deploy import engine_wheel, recipe


def test_progress_of_ninja_and_make():
    """The last step of the log is told, in the words of either build tool."""
    assert engine_wheel.last_step("  [1/387] cc\n  [12/387] c++\n") == "step 12 of 387"
    assert engine_wheel.last_step("[  3%] Building\n[ 45%] Building\n") == "45 %"
    assert engine_wheel.last_step("Collecting llama-cpp-python\n") == "fetching and preparing the source"


def test_jobs_fit_memory():
    """Not more compilers than cores, nor than memory holds, and always one."""
    gib = 2**30
    assert engine_wheel.parallel_jobs(8, 64 * gib) == 8
    assert engine_wheel.parallel_jobs(8, 3 * gib) == 3
    assert engine_wheel.parallel_jobs(8, gib // 2) == 1


def test_kept_build_is_found(monkeypatch, tmp_path):
    """A wheel kept under the recipe's key is found; another recipe does not see it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    portable = recipe.portable_recipe()
    folder = recipe.cache_folder() / portable.key
    folder.mkdir()
    wheel = folder / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl"
    wheel.touch()
    assert engine_wheel.cached_wheel(portable) == wheel
    assert engine_wheel.cached_wheel(recipe.native_recipe()) is None


def test_wheel_says_how_it_was_built(tmp_path):
    """The marker lies in the wheel and in its RECORD, and everything else is as it was."""
    wheel = tmp_path / "x-1-py3-none-any.whl"
    before = {"x/a.so": b"\0code", "x-1.dist-info/RECORD": b"x/a.so,,\nx-1.dist-info/RECORD,,\n"}
    with zipfile.ZipFile(wheel, "w") as made:
        for name, content in before.items():
            made.writestr(name, content)
    engine_wheel.add_to_wheel(wheel, "x/marker.toml", 'flags = "native"\n')
    with zipfile.ZipFile(wheel) as made:
        found = {name: made.read(name) for name in made.namelist()}
    recorded = [row[0] for row in csv.reader(io.StringIO(found["x-1.dist-info/RECORD"].decode()))]
    assert sorted(recorded) == sorted(found)
    assert found["x/marker.toml"] == b'flags = "native"\n'
    assert found["x/a.so"] == before["x/a.so"]


def test_first_error_of_a_failed_build():
    """The first error is shown with what follows it, and not pip's summary of it."""
    log = "[3/9] g++ x.cpp\n  x.cpp:1:2: error: no member\n   1 | y\n\n     | ^\nninja: stopped\nerror: pip\n"
    assert engine_wheel.telling_lines(log) == ["x.cpp:1:2: error: no member", "1 | y", "| ^", "ninja: stopped"]
    assert engine_wheel.telling_lines("one\ntwo\n") == ["one", "two"]
