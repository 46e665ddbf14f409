"""One machine, live or captured: every fact is probed when it is first asked for, and once."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError
from streamworthy.facts.memory import AddressSpaceFacts
from streamworthy.facts.storage import Placement
from streamworthy.probes import macos
from streamworthy.probes.allocation import probe_allocation
from streamworthy.probes.cpu import probe_cpu
from streamworthy.probes.frequency import probe_governor
from streamworthy.probes.health import probe_health
from streamworthy.probes.host import probe_host
from streamworthy.probes.kernel import probe_kernel
from streamworthy.probes.latency import probe_random_read_latency
from streamworthy.probes.link import probe_links
from streamworthy.probes.mapping import probe_mapping
from streamworthy.probes.memory import probe_commit_left, probe_memory
from streamworthy.probes.pressure import probe_pressure
from streamworthy.probes.process_limits import probe_address_limits, probe_memlock
from streamworthy.probes.read_ahead import probe_read_ahead
from streamworthy.probes.read_limits import probe_read_limits
from streamworthy.probes.settings import probe_settings
from streamworthy.probes.swap import probe_swap
from streamworthy.probes.temperature import probe_temperatures
from streamworthy.probes.volumes import note_model, probe_captured_model, probe_volumes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamworthy.facts.conditions import GovernorFacts, PressureFacts, TemperatureFacts
    from streamworthy.facts.cpu import CpuFacts
    from streamworthy.facts.disk import ReadAheadFacts
    from streamworthy.facts.drives import HealthFacts, LinkFacts
    from streamworthy.facts.host import HostFacts
    from streamworthy.facts.kernel import KernelFacts
    from streamworthy.facts.mapping import MappingFacts
    from streamworthy.facts.memory import MemlockFacts, MemoryFacts, SwapFacts
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.settings import SettingsFacts
    from streamworthy.facts.storage import Allocation, LatencyFacts, ReadLimitFacts, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

_STACK_BYTES = 8 * 2**20  # of a thread, pthread_create(3): the default of RLIMIT_STACK


class Machine:
    """The facts about one machine. Each property raises ProbeError when its fact cannot be learned.

    ``model_paths`` are the shards that are there (of a captured machine they stand in machine.toml); None without a
    model. ``lock_need_bytes`` gives the bytes of all weights, from the headers; ``set_total_bytes`` the size of the
    whole set, or None; ``engine_need_bytes`` what the engine needs beside the weights under a plan. ``engine_pid`` is
    an engine that already runs; None: the engine will be our child. ``folder`` is where a model will be put, when none
    is there yet.
    """

    def __init__(  # noqa: PLR0913 - what a machine is judged for
        self,
        root: Sysroot,
        *,
        model_paths: tuple[Path, ...] | None = None,
        plan: EnginePlan | None = None,
        lock_need_bytes: Callable[[], int] | None = None,
        set_total_bytes: Callable[[], int | None] | None = None,
        engine_need_bytes: Callable[[EnginePlan], int] | None = None,
        engine_pid: int | None = None,
        folder: Path | None = None,
        system: str = sys.platform,
    ) -> None:
        """Take what is asked about; nothing is probed yet."""
        self.root = root
        self.plan = plan
        self._model_paths = model_paths
        self._lock_need_bytes = lock_need_bytes
        self._set_total_bytes = set_total_bytes
        self._engine_need_bytes = engine_need_bytes
        self._pid = "self" if engine_pid is None else str(engine_pid)
        self._folder = folder
        self._mac = root.live and system == "darwin"

    @cached_property
    def cpu(self) -> CpuFacts:
        """Processor, cores and CPU time of this process."""
        return macos.probe_cpu() if self._mac else probe_cpu(self.root)

    @cached_property
    def memory(self) -> MemoryFacts:
        """Memory and what control groups leave of it."""
        return macos.probe_memory() if self._mac else probe_memory(self.root)

    @cached_property
    def swap(self) -> SwapFacts:
        """Swap devices and the disks beneath them."""
        return macos.probe_swap() if self._mac else probe_swap(self.root, model_disks=self._model_disks())

    @cached_property
    def memlock(self) -> MemlockFacts:
        """What the engine's process may lock, and what the tier locks."""
        probe = macos.probe_memlock if self._mac else self._probe_memlock
        return probe(need_bytes=self._lock_need(), pid=self._pid)

    @cached_property
    def address_space(self) -> AddressSpaceFacts:
        """What the engine's process may map, and what it will map."""
        limits = (
            macos.probe_address_limits(pid=self._pid) if self._mac else probe_address_limits(self.root, pid=self._pid)
        )
        engine, unknown = self._engine_need()
        return AddressSpaceFacts(
            process=self._pid,
            soft_bytes=limits[0],
            hard_bytes=limits[1],
            shards_bytes=self._whole_set(),
            engine_bytes=engine,
            engine_unknown=unknown,
            commit_left_bytes=None if self._mac else probe_commit_left(self.root),
        )

    @cached_property
    def kernel(self) -> KernelFacts:
        """The kernel's version."""
        if self._mac:
            raise ProbeError(f"kernel version: {os.uname().sysname} is no Linux, its version says nothing here")
        return probe_kernel(self.root)

    @cached_property
    def host(self) -> HostFacts:
        """What a report's head says."""
        if self._mac:
            return macos.probe_host()
        return probe_host(self.root, cpu=self.cpu, memory_total_bytes=self.memory.total_bytes)

    @cached_property
    def volumes(self) -> VolumesFacts:
        """The volumes that hold the model."""
        if self._mac:
            raise ProbeError("volumes: macOS has neither mountinfo nor sysfs, from which disks are found")
        if not self.root.live:
            placements, folder, total = probe_captured_model(self.root)
            return probe_volumes(self.root, placements, folder=folder, set_total_bytes=total)
        if not self._model_paths and self._folder is None:
            raise ProbeError("volumes: no model is given", fix="give --model PATH")
        placements = tuple(_place(path) for path in self._model_paths or ())
        folder = os.path.dirname(placements[0].real_path) if placements else os.path.realpath(str(self._folder))  # noqa: PTH120
        total = self._whole_set()
        note_model(self.root, placements, folder=folder, set_total_bytes=total)
        return probe_volumes(self.root, placements, folder=folder, set_total_bytes=total)

    @cached_property
    def allocation(self) -> Allocation:
        """Whether there is room for the shards that are missing, by asking for it."""
        return probe_allocation(self.root, self.volumes)

    @cached_property
    def latency(self) -> LatencyFacts:
        """Random-read latency of the volumes whose disks' flags are no evidence."""
        return probe_random_read_latency(self.root, self.volumes)

    @cached_property
    def mapping(self) -> MappingFacts:
        """One page of each shard, mapped as the engine maps it."""
        return probe_mapping(self.root, self.volumes)

    @cached_property
    def links(self) -> LinkFacts:
        """The PCIe links of the model's NVMe drives, under load where they are low."""
        return probe_links(self.root, self.volumes)

    @cached_property
    def read_limits(self) -> ReadLimitFacts:
        """What control groups let be read from the model's disks."""
        return probe_read_limits(self.root, self.volumes)

    @cached_property
    def health(self) -> HealthFacts:
        """What the model's NVMe drives say of their health, where they may be asked."""
        return probe_health(self.root, self.volumes)

    @cached_property
    def governor(self) -> GovernorFacts:
        """What chooses the clock."""
        if self._mac:
            raise ProbeError("governor: macOS chooses the clock itself, and does not tell how")
        return probe_governor(self.root)

    @cached_property
    def pressure(self) -> PressureFacts:
        """How much waits for CPU, memory and disks at this moment."""
        return probe_pressure(self.root)

    @cached_property
    def temperatures(self) -> TemperatureFacts:
        """How hot the model's disks are at this moment."""
        return probe_temperatures(self.root, self.volumes)

    @cached_property
    def read_ahead(self) -> ReadAheadFacts:
        """The read-ahead of the devices that hold shards."""
        return probe_read_ahead(self.root, self.volumes)

    @cached_property
    def settings(self) -> SettingsFacts:
        """What is judged nowhere and may explain why two runs differ."""
        if self._mac:
            raise ProbeError("settings: macOS has none of the kernel files that are recorded")
        try:
            chains = [leaf.chain for volume in self.volumes.volumes for leaf in volume.leaves]
        except ProbeError:
            chains = []
        return probe_settings(self.root, chains)

    def again(self, name: str) -> Any:  # noqa: ANN401 - any record of facts
        """Probe a fact anew: one that is of this moment only."""
        vars(self).pop(name, None)
        return getattr(self, name)

    def learn(self, name: str, fact: object) -> None:
        """Keep a fact that was learned by watching, beside the probed ones."""
        vars(self)[name] = fact

    def _probe_memlock(self, *, need_bytes: int, pid: str) -> MemlockFacts:
        return probe_memlock(self.root, need_bytes=need_bytes, pid=pid)

    def _lock_need(self) -> int:
        if self.plan is None:
            raise ProbeError("locked memory: no tier is chosen, so what it locks is not known", fix="give --tier NAME")
        if self.plan.lock_bytes >= 0:
            return self.plan.lock_bytes
        if self._lock_need_bytes is None:
            raise ProbeError("locked memory: the tier locks all weights, whose size no model tells", fix="give --model")
        return self._lock_need_bytes()

    def _whole_set(self) -> int | None:
        if not self.root.live:
            return probe_captured_model(self.root)[2] if "model" in self.root.answers else None
        return self._set_total_bytes() if self._set_total_bytes is not None else None

    def _engine_need(self) -> tuple[int | None, str]:
        if self.plan is None or self._engine_need_bytes is None:
            return None, "no model's headers tell what the engine needs beside the weights"
        try:
            threads = self.plan.threads or self.cpu.usable_cores_count or 1
            return self._engine_need_bytes(self.plan) + threads * _STACK_BYTES, ""
        except ProbeError as error:
            return None, error.message

    def _model_disks(self) -> tuple[str, ...] | None:
        try:
            volumes = self.volumes.volumes
        except ProbeError:
            return None
        if any(volume.leaves_unknown for volume in volumes):
            return None
        return tuple(leaf.major_minor for volume in volumes for leaf in volume.leaves)


def _place(path: Path) -> Placement:
    real = os.path.realpath(path)
    try:
        found = os.stat(real)  # noqa: PTH116 - the real path is text
    except OSError as error:
        raise ProbeError(f"{path}: cannot be read: {error.strerror}") from error
    blocks = found.st_blocks * 512  # stat(2): in units of 512 bytes on every filesystem
    return Placement(path=str(path), real_path=real, size_bytes=found.st_size, allocated_bytes=blocks)
