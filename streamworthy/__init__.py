"""Will this machine run this model, at this speed, today? Asked by pytest, answered by measurement."""

__version__ = "0.1.0"
