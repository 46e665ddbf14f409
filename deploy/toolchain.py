"""Is there a C++ compiler that works? Asked before anything is built."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.messages import Stop

# CMake's own order of search on Unix, the rare ones left out
_NAMES = {"CXX": ("c++", "g++", "clang++"), "CC": ("cc", "gcc", "clang")}
_LANGUAGES = {"CXX": "C++", "CC": "C"}
# a standard header and a link: g++ without libstdc++-dev or libc6-dev is found, and builds nothing
_TRIALS = {
    "CC": ("trial.c", '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n', "-std=c11"),
    "CXX": (
        "trial.cpp",
        "#include <filesystem>\nint main() { return std::filesystem::path().has_root_path(); }\n",
        "-std=c++17",
    ),
}
_INSTALL = (
    ("apt-get", "sudo apt-get install g++"),
    ("dnf", "dnf install gcc-c++"),
    ("zypper", "zypper install gcc-c++"),
    ("pacman", "pacman -S gcc"),
    ("apk", "apk add g++"),
    ("xcode-select", "xcode-select --install"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A C and a C++ compiler that compiled and linked a program; ``version`` is the C++ compiler's first line."""

    c: str
    cxx: str
    version: str


def as_root(command: str) -> str:
    """Put sudo before a command that needs root, where the user is not root."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def install_line() -> str:
    """Give the command that installs a C++ compiler here."""
    for tool, command in _INSTALL:
        if shutil.which(tool):
            return command if tool == "xcode-select" else as_root(command)
    return "install a C++ compiler (g++ or clang++)"


def find_compiler(variable: str) -> list[str] | None:
    """Find the compiler that CMake would take for CC or CXX, as a command."""
    asked = shlex.split(os.environ.get(variable, ""))
    if asked:
        return asked if shutil.which(asked[0]) else None
    found = next((path for name in _NAMES[variable] if (path := shutil.which(name))), None)
    return None if found is None else [found]


def mark_toolchain() -> str:
    """Name the compilers cheaply, so that a later run sees whether one has come or changed."""
    marks: list[str] = []
    for variable in _NAMES:
        command = find_compiler(variable)
        path = None if command is None else shutil.which(command[0])
        marks.append("none" if path is None else f"{path}@{os.stat(path).st_mtime_ns}")  # noqa: PTH116 - pathlib costs a start-up
    return " ".join(marks)


def require_toolchain() -> Toolchain:
    """Find compilers and try them on a two-line program, or stop with the line that installs one."""
    commands = {variable: _require(variable) for variable in _NAMES}
    for variable, command in commands.items():
        _try(variable, command)
    version = subprocess.run([*commands["CXX"], "--version"], capture_output=True, text=True, check=False).stdout
    return Toolchain(
        c=shlex.join(commands["CC"]), cxx=shlex.join(commands["CXX"]), version=version.partition("\n")[0].strip()
    )


def _require(variable: str) -> list[str]:
    command = find_compiler(variable)
    if command is None:
        asked = os.environ.get(variable, "")
        looked = f"{variable}={asked}, which is not there" if asked else f"looked for {', '.join(_NAMES[variable])}"
        missing = f"no {_LANGUAGES[variable]} compiler"
        raise Stop(f"{missing}: llama-cpp-python is built from source ({looked})", fix=install_line())
    return command


def _try(variable: str, command: list[str]) -> None:
    name, text, standard = _TRIALS[variable]
    with tempfile.TemporaryDirectory(prefix="streamworthy-") as folder:
        (Path(folder) / name).write_text(text)
        done = subprocess.run(
            [*command, standard, name, "-o", "trial"], cwd=folder, capture_output=True, text=True, check=False
        )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
        raise Stop(f"the compiler {shlex.join(command)} does not build a two-line program: {first}", fix=install_line())
