"""From bytes to facts: headers, shards, sizes, hashes."""
