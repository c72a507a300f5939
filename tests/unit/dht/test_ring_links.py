"""Connections to the servers of a ring are closed with what uses them."""

import gc
import socket

from pyrite.dht.client import distance
from pyrite.dht.links import RingLinks
from pyrite.remote.link import PeerLink
from pyrite.ring.views import RingMember


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


def test_a_member_is_near_by_whatever_address_of_this_machine() -> None:
    # The first is an address for documentation, which no machine has.
    addresses = ["192.0.2.1:7700", "localhost:7700", "127.0.0.2:7700"]
    members = [RingMember(each, 1, each, 0) for each in addresses]
    nearest_first = sorted(members, key=distance)
    assert [each.address for each in nearest_first] == [*addresses[1:], addresses[0]]
