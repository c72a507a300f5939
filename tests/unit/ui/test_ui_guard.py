"""Who may see the page."""

import pytest

pytest.importorskip("starlette", reason="the page needs pyrite[ui]")

from pyrite.ui.guard import Guard

HOST = {"host": "127.0.0.1:4040"}


def refusal(headers: dict[str, str], query: str = "", method: str = "GET") -> int | None:
    async def nothing(*_: object) -> None:
        raise AssertionError

    found = Guard(nothing, "secret", "pyrite-4040").refusal(method, headers, query)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:4040", "localhost:4040", "LOCALHOST", "[::1]:4040", "127.0.0.1:9"]
)
def test_this_machine_is_let_in(host: str) -> None:
    assert refusal({"host": host}, "token=secret") is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:4040", "127.0.0.1.evil.example", "localhost.evil.example:4040",
     "", "127.0.0.1:4040@evil.example", "0.0.0.0:4040", "localhost:4040 evil"],
)  # fmt: skip
def test_other_hosts_are_refused_even_with_the_token(host: str) -> None:
    assert refusal({"host": host}, "token=secret") == 403


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, "token=secret"),
        ({}, "a=1&token=secret"),
        ({"authorization": "Bearer secret"}, ""),
        ({"authorization": "bearer  secret"}, ""),
        ({"cookie": "other=1; pyrite-4040=secret"}, ""),
    ],
)
def test_the_token_is_found(headers: dict[str, str], query: str) -> None:
    assert refusal({**HOST, **headers}, query) is None


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({}, "token="),
        ({}, "token=Secret"),
        ({}, "token=secrets"),
        ({}, "token=other&token=secret"),
        ({"authorization": "Basic secret"}, ""),
        ({"authorization": "secret"}, ""),
        ({"cookie": "pyrite-4041=secret"}, ""),
        ({"cookie": "pyrite-4040=secre\u00e9"}, ""),
        ({"cookie": ";;;=\x00"}, ""),
    ],
)
def test_without_the_token_nothing_is_shown(headers: dict[str, str], query: str) -> None:
    assert refusal({**HOST, **headers}, query) == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(method: str) -> None:
    assert refusal(HOST, "token=secret", method) == 405
