"""The release; the same as the command's, which a test compares."""

__version__ = "0.1.0"
