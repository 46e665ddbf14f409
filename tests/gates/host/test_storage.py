"""Questions about the disks and filesystems that hold the model."""

from streamworthy.bench.preconditions import look_at_disks, look_at_temperatures
from streamworthy.criteria import storage


def test_filesystem(require, machine, limit):
    """A streamed model is read by page faults, and some filesystems make each fault many times dearer."""
    require(storage.filesystem(machine.volumes, limit))


def test_network(require, machine, limit):
    """Over a network or a relay each expert that is not cached waits for another machine or process."""
    require(storage.network(machine.volumes, limit))


def test_mappable(require, machine, plan, limit):
    """The engine maps each shard shared, which some filesystems refuse: it then does not start, or dies of a page."""
    require(storage.mappable(machine.mapping, plan, limit))


def test_rotational(require, machine, limit):
    """A spinning disk moves its heads for each expert: about a hundred reads a second, so a token takes minutes."""
    require(storage.rotational(machine.volumes, machine.latency, limit))


def test_transport(require, machine, limit):
    """Each token reads gigabytes of experts at random, which only a drive on the PCIe bus answers in time."""
    require(storage.transport(machine.volumes, machine.latency, limit))


def test_link(require, machine, limit):
    """A drive behind fewer or slower lanes than it has gives a half or a quarter of what it is sold for."""
    require(storage.link(machine.links, limit))


def test_read_limit(require, machine, limit):
    """A limit on a group's reads (docker --device-read-bps, IOReadBandwidthMax=) makes any drive a slow one."""
    require(storage.read_limit(machine.read_limits, limit))


def test_health(require, machine, limit):
    """A drive that runs out of spare blocks loses shards, and one that reports lost data has perhaps lost some."""
    require(storage.health(machine.health, limit))


def test_mount_options(require, machine, limit):
    """Without noatime or relatime each read of a shard writes to the disk that is to be read."""
    require(storage.mount_options(machine.volumes, limit))


def test_free_space(require, machine, limit):
    """A set that does not fit ends as a truncated shard after hours of download."""
    require(storage.free_space(machine.volumes, machine.allocation, limit))


def test_used_share(require, machine, limit):
    """On a nearly full disk files fragment and flash loses speed, so the same drive streams slower each month."""
    require(storage.used_share(machine.volumes, limit))


def test_quiet(require, settled, limit):
    """A disk that others read gives what they leave, and the rates of loading and decoding with it."""
    require(storage.quiet(settled(look_at_disks, storage.quiet), limit))


def test_temperature(require, settled, limit):
    """A drive that is hot before it is read slows down while it is, and the rate of the first minute is not kept."""
    require(storage.temperature(settled(look_at_temperatures, storage.temperature), limit))
