"""A host's name in reports: as it is, or as a salted id that stays the same on this machine and tells nothing."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.probes.home import probe_home, probe_state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping


def salted_id(name: str, salt: bytes) -> str:
    """Give 12 hexadecimal digits for a name (SHA-256 over salt and name)."""
    return f"host-{hashlib.sha256(salt + name.encode()).hexdigest()[:12]}"


MACHINE_ID = Path("/etc/machine-id")


def read_salt(folder: Path | None = None, machine_id: Path = MACHINE_ID) -> bytes:
    """Read this machine's salt, so that all its users' reports carry one id.

    That is machine-id(5), which is not to be told in the open and is hashed with the name. Where there is none, a salt
    of the user's own is made at the first call; a new one each run where nothing can be stored. STREAMWORTHY_SALT in
    the environment is used instead, so that a fleet can map ids back to its own hosts.
    """
    shared = os.environ.get("STREAMWORTHY_SALT")
    if shared:
        return shared.encode()
    try:
        if (known := machine_id.read_bytes().strip()) and known != b"uninitialized":
            return b"streamworthy " + known
    except OSError:
        pass  # macOS, small containers
    state = probe_state_folder()
    folder = folder or (None if state is None else state / "streamworthy")
    return secrets.token_hex(16).encode() if folder is None else _own_salt(folder / "salt")


def _own_salt(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        salt = secrets.token_hex(16).encode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as out:
            out.write(salt)
    except FileExistsError:
        return file.read_bytes()
    except OSError:
        pass  # a read-only home: the id then differs from run to run, which is safe
    return salt


def hidden_names(host: str, salt: bytes) -> dict[str, str]:
    """Map what would tell who and where to what is written instead: host name, user name, home folder."""
    home = probe_home()
    names = {host: salted_id(host, salt)}
    if home is not None and str(home) not in ("/", "/root"):
        names[str(home)] = "~"
        names[home.name] = "user"
    return names


def hide(text: str, names: Mapping[str, str]) -> str:
    """Replace names in a text, as whole words only: a host called `vm` is not part of `kvm`."""
    for name in sorted(names, key=len, reverse=True):
        if name:
            stand_in = names[name].replace("\\", r"\\")  # re.sub reads escapes in it
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", stand_in, text)
    return text
