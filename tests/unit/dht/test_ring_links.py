"""Connections to the servers of a ring are closed with what uses them."""

import gc
import socket

from pyrite.dht.links import RingLinks
from pyrite.remote.link import PeerLink


def keep_link(links: RingLinks) -> socket.socket:
    """Gives an open connection back; returns its other end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = PeerLink(server.getsockname(), 1.0)
        link.sock.connect(link.address)
        other, _ = server.accept()
    other.settimeout(20.0)
    links._give_back("127.0.0.1:1", 1.0, link)
    return other


def test_idle_connections_are_closed_with_their_owner() -> None:
    links = RingLinks(b"secret")
    with keep_link(links) as other:
        del links
        gc.collect()
        assert other.recv(1) == b""


def test_a_forgotten_server_has_no_idle_connection() -> None:
    links = RingLinks(b"secret")
    with keep_link(links) as other:
        links.forget("127.0.0.1:1")
        assert other.recv(1) == b""
