"""A machine, measured: page cache, disk, and who disturbs."""
