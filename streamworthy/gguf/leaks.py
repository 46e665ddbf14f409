"""Finds in a text what names a person, a machine or a way in: tokens, passwords, home folders, hosts, e-mails.

Every pattern has a fixed beginning or a bounded length, so that a text of any length is read in linear time. What is
found is told masked. Chat templates are programs in Jinja: they are read as text, and of the kinds only those are asked
that no prompt or example in a template has; ``/mnt/data`` and ``user@example.com`` are no leaks there.

Forms of tokens: the documentation of secret scanning of GitHub and GitLab, and of Hugging Face.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN, PASSWORD, SIGNED, KEY = "access token", "password in an address", "signed address", "private key"
HOME, PATH, HOST, LOGIN, EMAIL = "home folder", "absolute path", "host name", "login", "e-mail address"
SECRETS = frozenset((TOKEN, PASSWORD, SIGNED, KEY))


class Leak(NamedTuple):
    """One finding: its range in the text, and how it may be shown."""

    kind: str
    start: int
    end: int
    shown: str


_TOKENS = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<kind>hf_(?=[A-Za-z0-9]{20})|api_org_(?=[A-Za-z0-9]{20})|sk-(?=[A-Za-z0-9_-]{20})|gh[pousr]_(?=[A-Za-z0-9]{30})"
    r"|github_pat_(?=\w{30})|glpat-(?=[\w-]{20})|AKIA(?=[A-Z0-9]{16})|ASIA(?=[A-Z0-9]{16})|xox[abprs]-(?=[\w-]{10})"
    r"|AIza(?=[\w-]{35})|npm_(?=[A-Za-z0-9]{36})|pypi-(?=[\w-]{50})|eyJ(?=[\w-]{10,400}\.eyJ[\w-]{10}))(?P<rest>[\w.-]{1,2000})"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY-----")
_URL = re.compile(
    r"(?<![A-Za-z0-9])(?P<scheme>[a-z][a-z0-9+.-]{1,15})://(?P<rest>[^\s\"'<>`\\{}|]{1,2000})", re.IGNORECASE
)
_QUERY_SECRET = re.compile(
    r"[?&;](?:(?:access_?|auth_?|api_?|private_?)?(?:token|key)|sig|signature|x-amz-signature|x-amz-credential|x-goog-signature|secret|password)"
    r"=(?P<value>[^&\s]{8,2000})",
    re.IGNORECASE,
)
_PERSONAL = r"(?P<name>[A-Za-z0-9_][\w.-]{0,63})"
# behind file:// and ../ a path begins anew
_BEGIN = r"(?:(?<![\w./~-])|(?<=file://)|(?<=file://localhost)|(?<=\.\./\.\.))"
_UNIX_HOME = re.compile(
    rf"{_BEGIN}(?P<root>(?:/(?:var|usr|export|data|private|nfs|scratch|mnt|mnt/[\w.-]{{1,32}}))?/(?:home|homes|Users))/{_PERSONAL}"
)
_ROOT_HOME = re.compile(rf"{_BEGIN}(?P<root>/root)/(?P<name>[\w.-])")
_WINDOWS_HOME = re.compile(
    rf"(?<![A-Za-z0-9])(?P<root>[A-Za-z]:[\\/]{{1,2}}(?:Users|Documents and Settings))[\\/]{{1,2}}{_PERSONAL}",
    re.IGNORECASE,
)
_WSL_HOME = re.compile(rf"(?P<root>\\\\wsl(?:\$|\.localhost)\\[\w.-]{{1,32}}\\home)\\{_PERSONAL}", re.IGNORECASE)
_SHARE = re.compile(r"(?<![\w\\])\\\\(?P<name>[A-Za-z0-9][\w.-]{0,63})\\[\w$.-]")
_PLACES = "mnt|media|data|workspace|workdir|tmp|scratch|srv|opt|var|nfs|lustre|gpfs|fsx|storage|content|kaggle|gfs"
_UNIX_PATH = re.compile(
    rf"(?:(?<![\w./~<-])|(?<=file://)|(?<=file://localhost))/(?:{_PLACES})/[\w.+-]{{1,255}}(?:/[\w.+-]{{1,255}}){{0,40}}"
)
_WHOLE_PATH = re.compile(r"/(?:[^/\s](?:[^/\n]{0,250}[^/\s])?/){1,40}[^/\n]{0,255}")
_WINDOWS_PATH = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\{1,2}[\w-][\w .-]{0,63}(?:\\{1,2}[\w.-]{1,255}){1,40}")
_WHOLE_WINDOWS = re.compile(r"[A-Za-z]:[\\/](?=[\w~$%])(?:[^\\/\n]{1,255}[\\/]){0,40}[^\\/\n]{0,255}")
_SEPARATOR = re.compile(r"(?<!^)[\\/]")
_LOGIN = re.compile(r"(?<![\w.@-])(?P<name>[a-z_][a-z0-9_.-]{0,31})@(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252}):[~/\w]")
_EMAIL = re.compile(
    r"(?<![\w.%+-])(?P<name>[A-Za-z0-9][\w.%+-]{0,63})@(?P<host>[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24})(?![\w-])"
)
_EXPORT = re.compile(
    r"(?<![\w./:-])(?P<host>[a-z][\w.-]{0,63}):/(?:export|exports|mnt|vol|volume|data|home|srv|nfs|pool)\w*/\w"
)
_LOCAL_ADDRESS = re.compile(r"(?<![\w.])(?:192\.168(?:\.\d{1,3}){2}|10(?:\.\d{1,3}){3}:\d{2,5})(?![\w.]\d)")
_PRIVATE_HOST = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]"  # whoever publishes gives a name and no address
    r"|[\w-]{1,63}|[\w.-]{1,253}\.(?:local|lan|internal|intranet|intra|corp|home|localdomain|private|ts\.net)",
    re.IGNORECASE,
)
# what stands behind :// is no machine's name there
_NO_MACHINES = frozenset(("hf", "huggingface", "modelscope", "ollama", "docker", "oci", "file", "data", "urn"))
_NO_HOST = frozenset(("localhost", "127.0.0.1", "0.0.0.0", "example"))  # noqa: S104 - names in examples
_NO_PERSON = frozenset(
    (
        "user",
        "username",
        "yourusername",
        "your_username",
        "yourname",
        "your_name",
        "name",
        "you",
        "me",
        "oai",
        "runner",
        "ubuntu",
        "node",
        "app",
        "jovyan",
        "model",
        "workspace",
        "public",
        "shared",
        "default",
        "someone",
    )
)  # in examples of paths
_NOBODY = frozenset(("john", "johndoe", "john.doe", "john_doe", "jane", "janedoe", "jane.doe", "jane_doe", "foo"))
_ROLES = re.compile(
    r"(?:[\w.-]{1,40}[-_.])?(?:contact|feedback|hello|help|info|legal|licen[cs]es?|licensing|models?|no-?reply|opensource|press"
    r"|privacy|sales|security|service|support|team)(?:[-_.][\w.-]{1,40})?",
    re.IGNORECASE,
)
_EXAMPLE_HOSTS = re.compile(
    r"(?:.*\.)?(?:example|test|invalid)(?:\.(?:com|org|net))?|(?:domain|email|mail|company|acme|yourdomain)\.(?:com|org|net)",
    re.IGNORECASE,
)
_LONGEST_PATH = 4096  # limits.h, PATH_MAX
_FEWEST_LETTERS = 6  # different ones in a token: hf_xxxxxxxx stands for one


def find_leaks(text: str, *, template: bool) -> tuple[Leak, ...]:
    """Find all leaks in a text, by their places, none inside of another. ``template``: it is a chat template."""
    found = [*_secrets(text, template=template), *_homes(text, template=template)]
    if not template:
        found += [*_paths(text), *_hosts(text)]
    found += _emails(text, template=template)
    kept: list[Leak] = []
    for leak in sorted(found, key=lambda leak: (leak.start, _rank(leak))):
        if not kept or leak.start >= kept[-1].end:
            kept.append(leak)
        elif _rank(leak) < _rank(kept[-1]):  # a token inside of a path is a token
            kept[-1] = leak
    return tuple(leak._replace(shown=_printable(leak.shown)) for leak in kept)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _rank(leak: Leak) -> int:
    return 0 if leak.kind in SECRETS else 1 if leak.kind == HOME else 2


def _secrets(text: str, *, template: bool) -> Iterator[Leak]:
    for match in _TOKENS.finditer(text):
        if len(set(match["rest"])) >= _FEWEST_LETTERS:
            yield Leak(TOKEN, *match.span(), f"{match['kind']}***")
    for match in _PRIVATE_KEY.finditer(text):
        yield Leak(KEY, match.start(), len(text), "-----BEGIN *** PRIVATE KEY-----")
    for match in _URL.finditer(text):
        authority, _, _ = match["rest"].partition("/")
        login, at, _ = authority.rpartition("@")
        if at and ":" in login and login.partition(":")[2] and not (template and _is_example(authority)):
            yield Leak(PASSWORD, *match.span(), f"{match['scheme']}://***")
        elif _QUERY_SECRET.search(match["rest"]):
            yield Leak(SIGNED, *match.span(), f"{match['scheme']}://***")


def _is_example(authority: str) -> bool:
    return _EXAMPLE_HOSTS.fullmatch(_host_of(authority)) is not None


def _host_of(rest: str) -> str:
    """Give the host of what stands behind ``://``, without login and port."""
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _homes(text: str, *, template: bool) -> Iterator[Leak]:
    for pattern in (_UNIX_HOME, _WINDOWS_HOME, _WSL_HOME):
        for match in pattern.finditer(text):
            if not (template and match["name"].lower() in _NO_PERSON | _NOBODY):
                yield Leak(HOME, *match.span(), f"{match['root']}/{_hidden(match['name'])}")
    if not template:
        for match in _ROOT_HOME.finditer(text):
            yield Leak(HOME, *match.span(), "/root/***")


def _paths(text: str) -> Iterator[Leak]:
    whole = text.strip()
    for pattern in (_WHOLE_PATH, _WHOLE_WINDOWS):
        if len(whole) <= _LONGEST_PATH and pattern.fullmatch(whole) and not _homes_begin(whole):
            start = text.index(whole)
            yield Leak(PATH, start, start + len(whole), f"{_SEPARATOR.split(whole, maxsplit=1)[0]}/***")
            return
    for match in _UNIX_PATH.finditer(text):
        yield Leak(PATH, *match.span(), f"/{match[0].split('/')[1]}/***")
    for match in _WINDOWS_PATH.finditer(text):
        yield Leak(PATH, *match.span(), f"{match[0][:2]}/***")


def _homes_begin(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_UNIX_HOME, _ROOT_HOME, _WINDOWS_HOME))


def _hosts(text: str) -> Iterator[Leak]:
    for match in _SHARE.finditer(text):
        yield Leak(HOST, *match.span(), rf"\\{_hidden(match['name'])}")
    for match in _LOGIN.finditer(text):
        if match["name"] != "git":
            yield Leak(LOGIN, *match.span(), f"{_hidden(match['name'])}@***")
    for match in _EXPORT.finditer(text):
        yield Leak(HOST, *match.span(), f"{_hidden(match['host'])}:/***")
    for match in _LOCAL_ADDRESS.finditer(text):
        yield Leak(HOST, *match.span(), _hidden(match[0]))
    for match in _URL.finditer(text):
        host = _host_of(match["rest"])
        if match["scheme"].lower() in _NO_MACHINES:
            continue
        if host.lower() not in _NO_HOST and _PRIVATE_HOST.fullmatch(host):
            yield Leak(HOST, *match.span(), f"{match['scheme']}://{_hidden(host)}")


def _emails(text: str, *, template: bool) -> Iterator[Leak]:
    for match in _EMAIL.finditer(text):
        name = match["name"].lower()
        nobody = name == "git" or _ROLES.fullmatch(name) or (template and name in _NOBODY)
        if not nobody and not _EXAMPLE_HOSTS.fullmatch(match["host"]):
            yield Leak(EMAIL, *match.span(), f"{_hidden(match['name'])}@***")


def _hidden(name: str) -> str:
    return f"{name[0]}***"
