"""Will this machine run this model, at this speed, today?"""

__version__ = "0.1.0"
