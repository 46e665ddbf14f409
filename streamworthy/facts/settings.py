"""How a machine is set up where nothing is judged: what may explain why two runs differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One kernel file."""

    name: str  # its path without the leading slash; the unit is the kernel's and stands in the path
    value: str | None  # of a choice such as "always [madvise] never" the chosen word; None: it may not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFacts:
    """All that this kernel has of them, in a fixed order; what it lacks is left out."""

    settings: tuple[Setting, ...]

    def value(self, name: str) -> str | None:
        """Give a setting's value; None where the kernel lacks it or does not let it be read."""
        return next((setting.value for setting in self.settings if setting.name == name), None)
