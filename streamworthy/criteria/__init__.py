"""From facts and limits to verdicts; pure."""
