"""From the machine to facts: one kernel interface, one file."""
