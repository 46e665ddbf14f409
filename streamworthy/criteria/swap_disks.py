"""Whether a swap device lies where swapping hurts least. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.criteria.finding import Finding
from streamworthy.criteria.wsl import configure
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from streamworthy.facts.memory import SwapDevice, SwapFacts
    from streamworthy.facts.storage import BlockLeaf


_OVER_NETWORK = frozenset(("nbd", "rbd", "iscsi", "fc", "nvme-fabrics"))


def judge_swap(device: SwapDevice, swap: SwapFacts) -> Finding:
    """Judge one swap device by the worst disk beneath it; zram lies in memory and on no disk."""
    measured = _describe(device)
    word, cause = _judge_disks(device, swap)
    fix: tuple[str, ...] = (
        f"sudo swapoff {shlex.quote(device.path)}",
        "remove its line from /etc/fstab, or make swap on another flash disk",
    )
    if device.kind == "virtual":
        fix = ("on the host of this container: swapon --show", "on the host: pct set ID --swap 0, or no swap limit")
    if swap.wsl:
        fix = configure("swap=0")
    return Finding(word=word, measured=measured, cause=cause, fix=() if word is Word.PASS else fix)


def _describe(device: SwapDevice) -> str:
    if device.kind == "zram":
        return f"{device.path} (compressed, in memory)"
    disks = ", ".join(f"{leaf.name} {leaf.transport}" for leaf in device.leaves) or device.network or "disk not known"
    return f"{device.path} on {disks}"


def _judge_disks(device: SwapDevice, swap: SwapFacts) -> tuple[Word, str]:
    shared = [leaf for leaf in device.leaves if leaf.major_minor in (swap.model_disks or ())]
    spinning = [leaf for leaf in device.leaves if leaf.rotational and leaf.flags_are_evidence]
    # the model's disk is judged by storage.rotational, by measurement where its flags tell nothing
    unseen = [leaf for leaf in device.leaves if not leaf.flags_are_evidence and leaf not in shared]
    if spinning:
        return Word.FAIL, f"swap {device.path} lies on the spinning disk {spinning[0].name}"
    far = device.network or next((leaf.transport for leaf in device.leaves if leaf.transport in _OVER_NETWORK), None)
    if far:
        return Word.ADVICE, f"swap {device.path} lies beyond a network ({far}): memory that is short waits for it"
    if device.leaves_unknown:
        return Word.ERROR, f"the disk of swap {device.path} is not known: {device.leaves_unknown}"
    if unseen:
        return Word.ERROR, f"swap {device.path} lies on {_untold(unseen[0])}"
    if shared:
        cause = f"swap {device.path} shares the disk {shared[0].name} with the model: each slows the other down"
        return Word.ADVICE, cause
    return Word.PASS, ""


def _untold(leaf: BlockLeaf) -> str:
    return f"{leaf.name} ({leaf.transport}), which does not tell whether it spins"


def emptying(device: SwapDevice) -> str:
    """Give the line that reads one swap device's pages back and goes on using it: zram stands in no /etc/fstab."""
    path = shlex.quote(device.path)
    keeping = f"--priority {device.priority} " if device.priority >= 0 else ""
    return f"sudo swapoff {path} && sudo swapon {keeping}{path}"
