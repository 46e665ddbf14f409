"""Hashes as Windows, OpenSSL, git-lfs and a signature write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ProbeError
from streamworthy.gguf.manifest import find_manifest
from streamworthy.gguf.other_sums import to_sha256sum
from streamworthy.gguf.sha256sum import parse_sha256sum

NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
DIGESTS = ("0123456789abcdef" * 4, "fedcba9876543210" * 4)
PLAIN = "".join(f"{digest}  {name}\n" for digest, name in zip(DIGESTS, NAMES, strict=True))


def each(line):
    """Write a line for each shard, with its name, its digest, and the digest in capitals and in pairs."""
    return "".join(
        line.format(
            name=name,
            digest=digest,
            capitals=digest.upper(),
            pairs=" ".join(map("".join, zip(*[iter(digest)] * 2, strict=True))),
        )
        for digest, name in zip(DIGESTS, NAMES, strict=True)
    )


FORMS = {
    "Get-FileHash": "\r\nAlgorithm       Hash           Path\r\n---------       ----           ----\r\n"
    + each("SHA256          {capitals}       C:\\models\\{name}           \r\n")
    + "\r\n",
    "Get-FileHash as a list": each("\r\nAlgorithm : SHA256\r\nHash      : {capitals}\r\nPath      : D:\\{name}\r\n"),
    "certutil": each("SHA256 hash of {name}:\r\n{digest}\r\nCertUtil: -hashfile command completed successfully.\r\n"),
    "an older certutil": each("SHA256 hash of file {name}:\r\n{pairs}\r\nCertUtil: -hashfile command completed.\r\n"),
    "certutil in Chinese": each("SHA256 的 {name} 哈希:\r\n{digest}\r\nCertUtil: -hashfile 命令成功完成。\r\n"),
    "openssl dgst": each("SHA2-256({name})= {digest}\n"),
    "an older openssl dgst": each("SHA256({name})= {digest}\n"),
    "git lfs ls-files --long": each("{digest} * {name}\n"),
    "the same, not fetched": each("{digest} - {name}\n"),
    "a signed message": "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + PLAIN
    + "-----BEGIN PGP SIGNATURE-----\n\niQIzBAEBCgAdFiEE\n=abcd\n-----END PGP SIGNATURE-----\n",
    "blanks behind the names": each("{digest}  {name}  \n"),
    "quoted names": each('{digest}  "{name}"\n'),
    "comments": "; of a tool\n# of a person\n" + PLAIN,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_tells_the_shards_hashes(tmp_path, form):
    """The same two hashes, whatever wrote them."""
    (tmp_path / "sums").write_bytes(FORMS[form].encode())
    found = find_manifest(tuple(tmp_path / name for name in NAMES), tmp_path / "sums")
    assert [(one.path.name, one.digest) for one in found.expected] == list(zip(NAMES, DIGESTS, strict=True))
    assert (found.unlisted, found.missing, found.unknown) == ((), (), ())


@pytest.mark.parametrize("form", FORMS)
def test_lines_keep_their_numbers(form):
    """A message names the line that an editor shows."""
    numbers = [line.number for line in parse_sha256sum(FORMS[form], where="sums")]
    lines = FORMS[form].split("\n")
    assert len(numbers) == 2
    for number, name in zip(numbers, NAMES, strict=True):
        assert name in lines[number - 1] or name in lines[number - 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MD5 (m.gguf) = " + "a" * 32, "line 1: found a hash of MD5, expected one of SHA256"),
        ("BLAKE2b (m.gguf) = " + "a" * 128, "line 1: found a hash of BLAKE2b, expected one of SHA256"),
        ("a" * 128 + "  m.gguf", "is this from sha512sum or b2sum?"),
        ("Algorithm : MD5\nHash      : " + "A" * 32 + "\nPath      : m.gguf", "line 3: found 'Path      : m.gguf'"),
    ],
)
def test_hashes_of_other_algorithms_are_named(text, message):
    """They prove nothing here, and are not taken for damage."""
    with pytest.raises(ProbeError) as caught:
        parse_sha256sum(text, where="sums")
    assert message in caught.value.message


@given(st.text(alphabet="SHA256 hashofPth:-= \nab01CertUtil", max_size=200))
def test_any_text_keeps_its_number_of_lines(text):
    """Whatever is translated, no line is added or lost."""
    assert to_sha256sum(text).count("\n") == text.count("\n")


def test_a_signed_message_without_its_end_is_read(tmp_path):
    """A copied part still tells its hashes."""
    text = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n" + PLAIN
    assert [line.digest for line in parse_sha256sum(text, where="sums")] == list(DIGESTS)


def test_what_macos_notes_of_a_manifest_is_none(tmp_path):
    """A ._SHA256SUMS beside it holds bytes and no hash."""
    (tmp_path / "SHA256SUMS").write_text(PLAIN)
    (tmp_path / "._SHA256SUMS").write_bytes(b"\x00\x05\x16\x07" + bytes(60))
    found = find_manifest(tuple(tmp_path / name for name in NAMES), None)
    assert len(found.expected) == 2
