"""Texts in a file's place: what a server, a version control or a copying tool wrote there instead of the content.

The servers' words: Hugging Face's hub ("Entry not found", "Access to model ... is restricted"), S3's error codes
(AccessDenied, NoSuchKey, ExpiredToken), and the status lines of HTTP. Pointers: the documentation of git-lfs, Xet, DVC
and git-annex.
"""

from __future__ import annotations

import re
import shlex

Answer = tuple[str, tuple[str, ...]]  # the likely cause as a question, and what to do

AGAIN = "download the file again, with /resolve/ instead of /blob/ in its address"
_TITLE = re.compile(r"<title>(.*?)(?:</title>|$)", re.IGNORECASE | re.DOTALL)
_WORDS = (
    (
        re.compile(r"expired|SignatureDoesNotMatch", re.IGNORECASE),
        "the address was good for a time only, and that is over",
        ("download the file again from an address that was made anew",),
    ),
    (
        re.compile(
            r"restricted|\bgated|authenticat|unauthori[sz]ed|forbidden|access ?denied|sign in|log in|password"
            r"|\b40[13]\b",
            re.IGNORECASE,
        ),
        "the server refused access",
        ("accept the model's terms on its page, then: hf auth login", "download the file again"),
    ),
    (
        re.compile(r"not ?found|NoSuch(?:Key|Bucket)|does not exist|\b404\b", re.IGNORECASE),
        "the server has no such file",
        ("compare repository, revision and file name with the model's page, then download the file again",),
    ),
    (
        re.compile(
            r"too many requests|rate limit|slow ?down|bad gateway|unavailable|time-?out|internal (?:server )?error"
            r"|\b(?:429|50[0234])\b",
            re.IGNORECASE,
        ),
        "the server was too busy or broken",
        ("wait a while, then download the file again",),
    ),
)
_POINTERS = (  # what a text begins with, or holds: what it is, and what fetches the content
    (re.compile(r"# xet version"), "a Xet pointer", "hf download OWNER/REPOSITORY {name}"),
    (re.compile(r"(?:md5: \S+\n)?outs:\n"), "a DVC pointer", "dvc pull {name}"),
    (re.compile(r"[^\n]{0,200}/annex/objects/"), "a git-annex pointer", "git annex get {name}"),
)
_LINK = re.compile(r"(?:\.{1,2}/|/)[^\n\0]{1,400}\n?")
_JSON = re.compile(r"""\{\s*["}]|\[\s*[{"\]]""")


def recognise_text(text: str, name: str) -> Answer | None:
    """Say what a text in a file's place is; None for one that is none of these. ``text`` is its beginning."""
    bare, quoted = text.strip(), shlex.quote(name)
    for pattern, what, fetch in _POINTERS:
        if pattern.match(bare):
            return f"{what}: the content was not fetched?", (fetch.format(name=quoted),)
    if _LINK.fullmatch(text):
        return (
            f"the target of a link ({bare[:80]}): copied, or checked out, where no links can be?",
            ("copy the files that the links lead to: cp -rL SOURCE FOLDER",),
        )
    if bare.startswith("HTTP/"):
        return "the server's headers before the file: saved by curl -i?", ("download the file again without -i",)
    return _recognise_answer(bare)


def _recognise_answer(bare: str) -> Answer | None:
    if re.match(r"<\?xml|<Error>", bare):
        return _with_words("XML: an error message of the server", bare)
    if bare.startswith("<"):
        title = _TITLE.search(bare)  # the page around it offers to log in, whatever happened
        return _with_words("a web page", title[1] if title else "")
    if _JSON.match(bare):
        return _with_words("JSON: an error message of the server", bare)
    if bare.startswith("[InternetShortcut]"):
        return "a shortcut to an address, saved instead of the file?", (AGAIN,)
    is_message = "\n" not in bare and any(words.search(bare) for words, _, _ in _WORDS)
    return _with_words("a message of the server", bare) if is_message else None


def _with_words(what: str, text: str) -> Answer:
    for words, why, fix in _WORDS:
        if words.search(text):
            return f"{what}, saved instead of the file: {why}?", fix
    return f"{what}, saved instead of the file?", (AGAIN,)
