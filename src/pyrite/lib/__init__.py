"""Small libraries over the public API."""
