"""One table at the end: what was measured, beside whom, and what is promised."""

from __future__ import annotations

import pytest

from streamworthy.report.columns import table

ROWS = pytest.StashKey[list]()
_HEAD = ("measured", "found", "spread", "promised", "")


def pytest_configure(config):
    """Say it in one table instead of pytest-benchmark's, which knows no peers."""
    config.stash[ROWS] = []
    if config.pluginmanager.hasplugin("benchmark"):
        config.option.benchmark_quiet = True


@pytest.fixture
def tell(request):
    """Put a line into the table and hold it to what is promised."""

    def add(measured, found, *, spread="", promised, kept):
        request.config.stash[ROWS].append((measured, found, spread, promised, "" if kept else "MISSED"))
        assert kept, f"{measured}: {found}, promised {promised} ({spread})"

    return add


def pytest_terminal_summary(terminalreporter, config):
    """Print the table."""
    rows = config.stash.get(ROWS, [])
    if rows:
        terminalreporter.section("benchmarks")
        for line in table([_HEAD, *rows], right=()):
            terminalreporter.write_line(line)
