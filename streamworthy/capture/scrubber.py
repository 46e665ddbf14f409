"""Takes out of kernel files what names a person, a machine or one piece of hardware.

The same name gets the same stand-in, so links, mounts and control groups still fit together. Kept: models of disks and
processors, mount points below /mnt and the names of the model's files, which say what is judged.
"""

from __future__ import annotations

import ipaddress
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from streamworthy.probes.mountinfo import unescape
from streamworthy.probes.settings import CMDLINE, mapping_kind, telling_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SECRET_FILES = frozenset(
    (
        "serial", "serial_number", "product_serial", "product_uuid", "board_serial", "chassis_serial", "wwid", "wwn",
        "chassis_asset_tag", "board_asset_tag", "eui", "nguid", "uuid", "unique_id", "subsysnqn", "hostnqn", "hostid",
        "vpd_pg80", "vpd_pg83", "serial-number",
    )
)  # fmt: skip
_UUID = re.compile(r"[0-9a-fA-F]{8}(-|_|\\x2d)[0-9a-fA-F]{4}(?:\1[0-9a-fA-F]{4}){2}\1[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32,128}(?![0-9A-Za-z])")
_MAC = re.compile(r"(?<![0-9a-fA-F:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?![0-9a-fA-F:])")
_WWN = re.compile(r"\b(0x|naa\.|eui\.|wwn-0x)([0-9a-f]{16,32})\b")
_CPU_SERIAL = re.compile(r"^(Serial\s*:\s*)[0-9a-f]+$", re.MULTILINE)
_WINDOWS_USER = re.compile(r"(?i)(\bUsers\\)([^\\;,/]+)")
_URL_HOST = re.compile(r"(\w+://)(?:[^@/\s]*@)?([^/:\s,]+)")
_REMOTE_SOURCE = re.compile(r"(?:(?P<user>[^@/:,]+)@)?(?P<host>\[[^\]]+\]|[^:/,@\[\]]+)(?=[:,])")
_REMOTE = re.compile(
    r"nfs4?|cifs|smb.*|ceph|glusterfs|lustre|beegfs|afs|fuse\.(?:sshfs|glusterfs|rclone|s3fs|ceph)|davfs"
)
_HOST_OPTIONS = frozenset(("addr", "clientaddr", "mountaddr", "srcaddr", "mon_addr", "ip", "domain", "workgroup"))
_USER_OPTIONS = frozenset(("username", "user", "cruid", "name"))
_HOMES = ("home", "Users")
_MEDIA = "media"
_BY_NAME = {"by-id": "disk", "by-label": "label", "by-partlabel": "label", "by-uuid": "uuid", "by-partuuid": "uuid"}
_DOCKER_LAYER = re.compile(r"[A-Z0-9]{26}")
_SERVERS = {"192.0.2.": "server", "2001:db8::": "server"}
_NO_PERSON = frozenset(("", "root", "user", "lost+found", "host"))
_STAND_IN = re.compile(r"(?:host|user|volume|server|label|disk)[0-9]+")  # of a machine that is captured again
_SHORTEST = 3  # shorter names are found in too many words


class Scrubber:
    """Stand-ins for what must not leave the machine, numbered as they are met.

    ``hosts`` and ``users`` are known names; ``kept`` are words of the kernel, which no name replaces.
    """

    def __init__(self, *, hosts: Iterable[str], users: Iterable[str], kept: Iterable[str]) -> None:
        self._kept = frozenset(kept) | _NO_PERSON
        self._given: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}
        for kind, names in (("host", hosts), ("user", users)):
            for name in names:
                self._learn(kind, name)

    def _learn(self, kind: str, name: str) -> None:
        if len(name) >= _SHORTEST and name not in self._kept and not _STAND_IN.fullmatch(name):
            stand_in = self._stand_in(kind, name)
            self._names[name] = stand_in
            self._names[name.replace("-", "--")] = stand_in  # device mapper doubles it

    def _stand_in(self, kind: str, name: str, form: str = "{kind}{number}") -> str:
        if name.startswith(kind) and name.removeprefix(kind).isdigit():
            return name
        number = sum(1 for known, _ in self._given if known == kind) + 1
        return self._given.setdefault((kind, name), form.format(kind=kind, number=number))

    def learn_homes(self, paths: Iterable[str]) -> None:
        """Learn the names of users from paths such as /home/NAME, before anything is scrubbed."""
        for path in paths:
            parts = path.split("/")
            for before, part in pairwise(parts):
                if before in (*_HOMES, "@home") and part not in _NO_PERSON:
                    self._learn("user", part)

    def ids(self, text: str) -> str:
        """Replace UUIDs, long hexadecimal names, MAC addresses and world-wide names anywhere in a text."""
        text = _UUID.sub(lambda match: self._uuid(match[0], match[1]), text)
        text = _HEX.sub(lambda match: self._hex(match[0]), text)
        text = _MAC.sub(lambda match: self._stand_in("mac", match[0], "02:00:00:00:00:{number:02x}"), text)
        return _WWN.sub(lambda match: match[1] + self._hex(match[2]), text)

    def _uuid(self, found: str, separator: str) -> str:
        plain = self._stand_in("uuid", re.sub(r"\\x2d|_", "-", found.lower()), "00000000-0000-4000-8000-{number:012x}")
        return plain.replace("-", separator)

    def _hex(self, found: str) -> str:
        return self._stand_in("hex", found, "{number:x}").rjust(len(found), "0") if found.strip("0") else found

    def words(self, text: str) -> str:
        """Replace ids, and the names of hosts and users that stand alone in a text."""
        text = self.ids(text)
        for name in sorted(self._names, key=len, reverse=True):
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", self._names[name], text)
        return _WINDOWS_USER.sub(lambda match: match[1] + self._stand_in("user", match[2]), text)

    def path(self, path: str) -> str:
        """Scrub a path part by part; homes, removable volumes and udev's names are known by their place."""
        parts = path.split("/")
        return "/".join(self._part(parts, index) for index in range(len(parts)))

    def _part(self, parts: list[str], index: int) -> str:
        part, before = parts[index], parts[index - 1] if index else ""
        if not part:
            return part
        if before in (*_HOMES, "@home"):
            return part if part in _NO_PERSON else self._stand_in("user", part)
        if before in _BY_NAME:
            return self._stand_in(_BY_NAME[before], part)
        if _MEDIA in parts[max(0, index - 2) : index] and parts[1:2] in (["run"], ["media"]):
            return self._stand_in("user" if before == _MEDIA else "volume", part)
        if before == "l" and _DOCKER_LAYER.fullmatch(part):
            return self._stand_in("layer", part, "LAYER{number:021d}")
        return self.words(part)

    def kernel_file(self, place: str, text: str) -> str:
        """Scrub the content of a kernel file, as its format asks."""
        name = place.rpartition("/")[2]
        if place.endswith("/dm/uuid"):
            return f"{mapping_kind(text)}-scrubbed\n"
        if name in SECRET_FILES:
            return "scrubbed\n" if text.strip() else text
        by_line: dict[str, Callable[[str], str]] = {
            "mountinfo": self._mount_line, "cgroup": self._group_line, "swaps": self._swap_line,
            "backing_file": self.path, "hostname": self.words,
        }  # fmt: skip
        if name in by_line:
            lines = text.split("\n")
            return "\n".join(by_line[name](line) if line else line for line in lines)
        if place == CMDLINE:
            return f"{telling_parameters(text)}\n"
        if place.endswith("/dm/name"):
            return self.words(text)
        return _CPU_SERIAL.sub(lambda match: f"{match[1]}{'0' * 16}", self.ids(text))

    def _group_line(self, line: str) -> str:
        head, separator, path = line.partition(":/")
        return head + separator + self.path(path)

    def _swap_line(self, line: str) -> str:
        path = line.split(maxsplit=1)[0]
        return escape(self.path(unescape(path))) + line.removeprefix(path)

    def _mount_line(self, line: str) -> str:
        before, separator, after = line.partition(" - ")
        head, tail = before.split(" "), after.split(" ")
        if not separator or len(head) < 6 or len(tail) < 3:  # noqa: PLR2004 - proc_pid_mountinfo(5)
            return self.words(line)
        head[3:5] = (escape(self.path(unescape(field))) for field in head[3:5])
        source = escape(self._source(tail[0], unescape(tail[1])))
        options = ",".join(escape(self._option(tail[0], unescape(option))) for option in " ".join(tail[2:]).split(","))
        return f"{' '.join(head)} - {tail[0]} {source} {options}"

    def _source(self, fstype: str, source: str) -> str:
        source = _URL_HOST.sub(lambda match: match[1] + self._server(match[2]), source)
        if not _REMOTE.fullmatch(fstype):
            return ":".join(self.path(each) for each in source.split(":"))
        if source.startswith("//"):
            host, slash, share = source[2:].partition("/")
            return f"//{self._server(host)}{slash}{self.path(share)}"
        source = _REMOTE_SOURCE.sub(self._login, source)
        host, slash, path = source.partition("/")
        return host + self.path(slash + path)

    def _login(self, match: re.Match[str]) -> str:
        user = f"{self._stand_in('user', match['user'])}@" if match["user"] else ""
        return user + self._server(match["host"])

    def _server(self, host: str) -> str:
        try:
            address = ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            return self._stand_in("server", host)
        if address.version == 4:  # noqa: PLR2004 - documentation addresses, RFC 5737 and RFC 3849
            return self._stand_in("192.0.2.", host, "{kind}{number}")
        return host.replace(host.strip("[]"), self._stand_in("2001:db8::", host.strip("[]"), "{kind}{number:x}"))

    def _option(self, fstype: str, option: str) -> str:
        key, _, value = option.partition("=")
        remote = value and (fstype == "9p" or _REMOTE.fullmatch(fstype))  # elsewhere name=systemd is no person
        if remote and key in _HOST_OPTIONS:
            return f"{key}={self._server(value)}"
        if remote and key in _USER_OPTIONS:
            return f"{key}={self._stand_in('user', value)}"
        return ":".join(self.path(each) for each in option.split(":"))

    def answer(self, value: Any) -> Any:  # noqa: ANN401 - whatever stands in machine.toml
        """Scrub every text in a value: as one path where it begins like one, else word by word."""
        if isinstance(value, str):
            return self.path(value) if value.startswith("/") else self._sentence(value)
        if isinstance(value, dict):
            return {key: self.answer(each) for key, each in value.items()}
        return [self.answer(each) for each in value] if isinstance(value, (list, tuple)) else value

    def _sentence(self, text: str) -> str:
        met = [(name, stand_in) for (kind, name), stand_in in self._given.items() if kind in ("volume", "label")]
        for name, stand_in in sorted(met, key=lambda pair: len(pair[0]), reverse=True):
            text = text.replace(name, stand_in)
        return " ".join(":".join(self.path(each) for each in word.split(":")) for word in text.split(" "))

    def counts(self) -> dict[str, int]:
        """Count the names that got a stand-in, by kind."""
        kinds = [_SERVERS.get(kind, kind) for kind, _ in self._given]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def escape(text: str) -> str:
    r"""Write blank, tab, newline and backslash as the kernel does in mountinfo: ``\040``."""
    return re.sub(r"[ \t\n\\#]", lambda match: f"\\{ord(match[0]):03o}", text)
