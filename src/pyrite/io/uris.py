"""Paths as the URIs that Spark shows."""

from __future__ import annotations

import os


def with_scheme(path: str) -> str:
    """A path with the scheme of its storage.

    >>> with_scheme("/data/in"), with_scheme("s3://bucket/in")
    ('file:/data/in', 's3://bucket/in')
    """
    return path if "://" in path or path.startswith("file:") else f"file:{os.path.abspath(path)}"


def file_uri(path: str) -> str:
    """A path as a URI; what follows `#`, the name of an unpacked archive, stays as it is.

    >>> file_uri("/data/my file.zip#name")
    'file:/data/my%20file.zip#name'
    """
    from urllib.parse import quote

    whole = with_scheme(path)
    return whole if whole == path else quote(whole, safe="/:#")
