"""The verify command, as it is typed."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.selftest.differential.model import make_whole
from tests.selftest.gguf.build import build

NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")


@pytest.fixture
def model(tmp_path):
    """Make a folder with two shards."""
    folder = tmp_path / "model"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        keys = (("general.name", "str", str(number)), ("split.no", "u16", number), ("split.count", "u16", 2))
        (folder / name).write_bytes(build(keys=keys))
    return folder


@pytest.fixture
def verify(tmp_path):
    """Run the command with a store of its own; gives exit code, standard output and standard error."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "streamworthy.cli", "verify", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
@pytest.mark.parametrize(
    "command", [["verify", "--make-manifest"], ["inspect"], ["inspect", "--json"], ["cache", "show"]]
)
def test_a_name_in_no_encoding_is_written_as_it_is(tmp_path, command, encoding):
    """In most terminals Python refuses to print a name that is not UTF-8; sha256sum -c has to find it."""
    name = b"t\xff\xc3\xbc.gguf"
    (tmp_path / os.fsdecode(name)).write_bytes(make_whole().raw())
    done = subprocess.run(
        [sys.executable, "-m", "streamworthy.cli", *command, str(tmp_path)],
        capture_output=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (rb"t\udcff" if "--json" in command else name.removesuffix(b".gguf")) in done.stdout
    if "--json" in command:
        assert json.loads(done.stdout)["model"].startswith("t\udcff")


def write_sums(folder):
    """Write the manifest of what the shards hold now."""
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in NAMES]
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_without_a_manifest(model, verify):
    """Without a manifest nothing is verified, and how to get one is said."""
    code, out, _ = verify(model)
    assert code == 10
    assert out.startswith("error: content not verified: no manifest for 2 shards")
    assert "--make-manifest" in out


def test_all_match(model, verify):
    """Shards that match their manifest are 0; the second time from the store, unless asked to read again."""
    write_sums(model)
    assert [verify(model)[0], verify(model)[0], verify(model, "--rehash")[0]] == [0, 0, 0]
    assert "2 results stand since" in verify(model / NAMES[1])[1]
    assert "results stand" not in verify(model, "--rehash")[1]


def test_one_byte_is_wrong(model, verify):
    """A shard with one wrong byte is 1, named with both hashes."""
    write_sums(model)
    data = bytearray((model / NAMES[1]).read_bytes())
    data[-1] ^= 1
    (model / NAMES[1]).write_bytes(data)
    code, out, _ = verify(model)
    assert code == 1
    assert f"FAIL: {NAMES[1]} has {hashlib.sha256(data).hexdigest()[:12]}..., expected " in out


def test_the_manifest_that_is_made(model, verify):
    """What is printed is a manifest that verifies this copy, and a copy elsewhere."""
    code, out, _ = verify(model, "--make-manifest")
    assert code == 0
    listed = model.parent / "list.txt"
    listed.write_text(out)
    assert verify(model, "--sha256", listed)[0] == 0
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", listed], cwd=model, check=True)


@pytest.mark.parametrize("raw", [b"", b"<!doctype html>", b"version https://git-lfs.github.com/spec/v1\n"])
def test_no_manifest_of_what_was_not_fetched(model, verify, raw):
    """An empty file, a page and a pointer have hashes too, and with them every later copy would be held wrong."""
    (model / NAMES[1]).write_bytes(raw)
    code, out, err = verify(model, "--make-manifest")
    assert (code, out, f"{NAMES[1]}: found no GGUF in it" in err) == (2, "", True)


def test_no_manifest_of_a_part(model, verify):
    """A set with a missing shard gets no manifest."""
    (model / NAMES[1]).unlink()
    code, _, err = verify(model, "--make-manifest")
    assert (code, "found 1 of 2 shards, expected all" in err) == (2, True)


@pytest.mark.parametrize("arguments", [["/nonexistent/model"], ["--sha256", "/nonexistent/list"]])
def test_paths_that_are_not_there(model, verify, arguments):
    """A wrong path is one line, without a traceback."""
    code, _, err = verify(*([model, *arguments] if arguments[0].startswith("--") else arguments))
    assert (code, err.startswith("streamworthy: "), "Traceback" in err) == (2, True, False)


def test_damage_is_told_by_tensor(model, verify):
    """A manifest of tensors is made on a good copy, and tells later which one is damaged, and where."""
    code, listed, _ = verify(model, "--make-manifest", "--per-tensor")
    assert (code, listed.count("sha256 ")) == (0, 2 * 3)
    (model / "m.manifest").write_text(listed)
    code, told, _ = verify(model)
    assert (code, told.splitlines()[:3]) == (
        0,
        [
            f"pass  {NAMES[0]}  2 tensors as listed",
            f"pass  {NAMES[1]}  2 tensors as listed",
            "advice: keys and vocabulary of 2 shards are in no hash: only tensors are",
        ],
    )
    raw = bytearray((model / NAMES[1]).read_bytes())
    raw[-1] ^= 1
    (model / NAMES[1]).write_bytes(raw)
    code, told, _ = verify(model)
    assert code == 1
    assert f"FAIL  {NAMES[1]}  1 tensor as listed\n  output.weight: 512 bytes from {len(raw) - 512} on: " in told
    assert f"FAIL: {NAMES[1]}: not as in m.manifest: output.weight (bytes {len(raw) - 512} to {len(raw) - 1})" in told


def test_tensors_are_hashed_for_a_manifest_only(model, verify):
    """The option alone means nothing."""
    code, _, told = verify(model, "--per-tensor")
    assert code == 2
    assert "belongs to --make-manifest" in told
