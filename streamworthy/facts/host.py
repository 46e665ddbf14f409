"""Which machine this is: what a report's head says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """A machine's identity."""

    name: str  # the host's name; of a captured machine the one in machine.toml, else its folder's
    machine_class: str  # "laptop", "desktop", "server", "virtual machine", "container", "WSL", "board", "unknown"
    product: str | None  # "LENOVO 21CB", "FriendlyElec CM3588"; None: firmware tells none
    cpu_model: str | None  # None: aarch64 kernels print part numbers only
    memory_total_bytes: int
    kernel_release: str
    system: str  # "Linux", "Darwin"
