"""A model in a child process, timed: episodes, each in a verified state of the page cache."""
