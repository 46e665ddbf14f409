"""Frozen records: what was learned, one file per topic."""
