"""The arrow of the design, held by reading the code: who may import whom, who prints, who opens kernel files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "streamworthy"
FILES = sorted(LIBRARY.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Folder or file below streamworthy/ -> what of the library it may import.
ARROW = {
    "closing.py": (),
    "errors.py": (),
    "units.py": (),
    "verdict.py": (),
    "facts": ("facts",),
    "model.py": ("facts",),
    "stats_plan.py": ("units",),
    "stats_series.py": ("stats_plan",),
    "stats.py": ("stats_plan", "stats_series", "units"),
    "criteria": ("facts", "verdict", "units", "criteria", "errors", "model", "stats", "stats_plan", "stats_series"),
    "probes": ("facts", "errors", "units", "probes", "gguf"),
    "gguf": ("facts", "errors", "units", "closing", "gguf", "probes", "bench"),
}
# The system may not be reached from where judgements are made.
IMPURE = frozenset(
    ("os", "sys", "io", "time", "datetime", "random", "pathlib", "subprocess", "socket", "shutil", "platform", "psutil")
)
HEAVY = ("numpy", "llama_cpp", "gguf", "psutil", "junitparser", "pytest", "hypothesis")


def tree(path):
    """Parse a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path):
    """Name a file as below streamworthy/."""
    return path.relative_to(LIBRARY).as_posix()


def imports(path):
    """List every module that a file imports, wherever in it, in full: ``streamworthy.criteria.spec``."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            own = node.module in ("streamworthy", "streamworthy.criteria", "streamworthy.facts")
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if own else {node.module}
    return found


def calls(path):
    """List the calls of a file: the function as text, and the node."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]


def strays(path, allowed):
    """List what a file imports of the library beyond what it may."""
    own = {module.partition(".")[2] for module in imports(path) if module.startswith("streamworthy.")}
    return {module for module in own if module.partition(".")[0] not in allowed}


def test_the_library_was_found():
    """The loops below have files to read."""
    assert len(FILES) > 40


@pytest.mark.parametrize("place", ARROW)
def test_imports_follow_the_arrow(place):
    """Facts know nothing, criteria know facts, probes know no criteria and no engine."""
    files = [path for path in FILES if name_of(path) == place or name_of(path).startswith(f"{place}/")]
    files = [path for path in files if not path.stem.endswith("command")]  # a subcommand joins layers, as cli.py does
    assert files
    assert {name_of(path): found for path in files if (found := strays(path, ARROW[place]))} == {}


@pytest.mark.parametrize("place", ["criteria", "facts", "model.py", "verdict.py", "units.py"])
def test_judgement_is_pure(place):
    """No file, no clock, no environment: the same facts and limit give the same verdict anywhere."""
    for path in [path for path in FILES if name_of(path) == place or name_of(path).startswith(f"{place}/")]:
        allowed = {"pathlib"} if place == "facts" else set()  # a record may hold a path
        found = {module.partition(".")[0] for module in imports(path)} & IMPURE - allowed
        assert not found, f"{name_of(path)} imports {found}"
        assert "open" not in {name for name, _ in calls(path)}, name_of(path)


def test_the_library_knows_no_pytest():
    """Only the face below tests/face and conftest.py is pytest's."""
    assert [
        name_of(path) for path in FILES if {"pytest", "_pytest"} & {each.partition(".")[0] for each in imports(path)}
    ] == []


def test_only_the_command_prints():
    """Everything else returns values or takes a function to say lines with."""
    printing = [name_of(path) for path in FILES if "print" in {name for name, _ in calls(path)}]
    assert printing == ["cli.py"]


def kernel_opens(path):
    """List the places where a path below /proc or /sys is opened or made, as text."""
    openers = (
        "open",
        "Path",
        "os.open",
        "os.listdir",
        "os.stat",
        "os.readlink",
        "os.scandir",
        "os.access",
        "pathlib.Path",
    )
    found = []
    for name, node in calls(path):
        first = node.args[0] if node.args else None
        if isinstance(first, ast.JoinedStr) and first.values:
            first = first.values[0]
        text = first.value if isinstance(first, ast.Constant) else None
        if name in openers and isinstance(text, str) and text.startswith(("/proc", "/sys")):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_only_sysroot_opens_kernel_files():
    """A captured machine answers every question only if there is no second door."""
    assert {name_of(path): opened for path in FILES if (opened := kernel_opens(path))} == {}


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('open("/proc/meminfo")', 1),
        ('Path("/sys/block").iterdir()', 1),
        ('os.listdir(f"/proc/{pid}/fd")', 1),
        ('root.read_text("proc/meminfo")', 0),
        ('raise ParseError("x", where="/proc/meminfo")', 0),
    ],
)
def test_a_second_door_would_be_seen(tmp_path, code, count):
    """What the test above looks for is found where it is, and only there."""
    (tmp_path / "probe.py").write_text(code, encoding="utf-8")
    assert len(kernel_opens(tmp_path / "probe.py")) == count


@pytest.mark.parametrize("path", [*FILES, *TESTS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_short(path):
    """400 lines a file and 50 a function are the end; about 250 and 10 are the aim."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno - node.lineno >= 50
    ]
    assert long == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_things_are_documented(path):
    """Modules, public classes and public functions say what they are."""
    module = tree(path)
    named = [node for node in ast.walk(module) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    silent = [node.name for node in named if not node.name.startswith("_") and not ast.get_docstring(node)]
    inner = {
        child.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        for child in ast.walk(node)
        if isinstance(child, ast.FunctionDef) and child is not node
    }
    assert not module.body or ast.get_docstring(module)
    assert [name for name in silent if name not in inner] == []


def test_facts_are_frozen_records_without_defaults():
    """Two facts are never half filled, and nobody changes one."""
    for path in (path for path in FILES if name_of(path).startswith("facts/")):
        for node in (node for node in tree(path).body if isinstance(node, ast.ClassDef)):
            if any("Enum" in ast.unparse(base) for base in node.bases):
                continue
            decorators = [ast.unparse(each) for each in node.decorator_list]
            assert decorators == ["dataclass(frozen=True, slots=True, kw_only=True)"], f"{name_of(path)}: {node.name}"
            defaults = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is not None]
            assert defaults == [], f"{name_of(path)}: {node.name}"


def test_a_start_imports_nothing_heavy():
    """Choosing a tier and judging the host needs none of the packages that cost a tenth of a second each."""
    code = (
        "import sys; from pathlib import Path\n"
        "from streamworthy.thresholds import load_tiers\n"
        "import streamworthy.applies, streamworthy.model, streamworthy.qualification\n"
        "import streamworthy.probes.machine, streamworthy.gguf.subject\n"
        f"load_tiers(Path({str(ROOT / 'thresholds')!r}))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
