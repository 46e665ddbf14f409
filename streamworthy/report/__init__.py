"""One run's outcomes as text, JUnit and JSON."""
