"""From this machine to a folder that can be judged elsewhere."""
