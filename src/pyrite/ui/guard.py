"""Who may see the page: whoever has its token, from a browser that asked for this machine."""

from __future__ import annotations

import hmac
import re
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Names of this machine; a tunnel keeps them, and a page of another site can't have them.
OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets requests through that name this machine and bring the token: in the address, which sets
    a cookie, in that cookie, or as `Authorization: Bearer`. Without a token, it asks for none."""

    def __init__(self, app: ASGIApp, token: str, cookie: str) -> None:
        self.app = app
        self.token = token
        self.cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self.refusal(scope["method"], headers, scope["query_string"].decode("latin-1"))
        if refusal is not None:
            await refuse(send, *refusal)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = [(name.encode(), text.encode()) for name, text in HEADERS.items()]
                if self.token and asked_by_address(scope["query_string"].decode("latin-1")):
                    found.append((b"set-cookie", self.new_cookie().encode()))
                message["headers"] = [*message["headers"], *found]
            await send(message)

        await self.app(scope, receive, answer)

    def refusal(self, method: str, headers: dict[str, str], query: str) -> tuple[int, str] | None:
        """Why a request is refused: a status and a line; None if it is not."""
        host = headers.get("host", "")
        if OWN_HOST.fullmatch(host.lower()) is None:
            return 403, "this page is only for this machine: ask for it as 127.0.0.1 or localhost"
        if method not in ("GET", "HEAD"):
            return 405, "this page only shows: use GET"
        if self.token and not any(
            hmac.compare_digest(each.encode(), self.token.encode())
            for each in self.tokens(headers, query)
        ):
            return 401, "the token is missing or another: open the address that Pyrite has printed"
        return None

    def tokens(self, headers: dict[str, str], query: str) -> list[str]:
        found = parse_qs(query).get("token", [])[:1]
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            found.append(given.strip())
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        return found if morsel is None else [*found, morsel.value]

    def new_cookie(self) -> str:
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def asked_by_address(query: str) -> bool:
    return "token" in parse_qs(query)


async def refuse(send: Send, status: int, line: str) -> None:
    body = f"{line}\n".encode()
    headers = {
        **HEADERS,
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
    }
    found = [(name.encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": found})
    await send({"type": "http.response.body", "body": body})
