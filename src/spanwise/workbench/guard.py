"""Request checks: Host, Origin, token and size limits; and the security headers of every response."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Struct

MOST_CONDITIONS = 16
MOST_ROWS = 200  # per page or response
MOST_BODY = 1 << 20  # bytes of a request body, unless it is an upload
MOST_UPLOAD = 2 << 30  # bytes of predictions
MOST_NOTE = 4000  # characters
MOST_END = 1 << 31  # position in a text that was left out
MOST_LABEL = 200  # characters of the label of a note
IDLE = 60.0  # seconds without data after which an upload is aborted


Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
COOKIE = "spanwise-"  # prefix of the cookie's name; the port follows
OPEN = ("/api/v1/health",)  # paths that need no token
SAFE = ("GET", "HEAD")


class Remedy(Struct, frozen=True):
    """A suggested solution to a problem: the title of a button, its explanation and the options it sets."""

    title: str
    says: str
    set: Mapping[str, str]


class Place(Struct, frozen=True):
    """A location in a file."""

    file: str
    line: int | None = None


class ProblemDetails(Struct, frozen=True, kw_only=True):
    """A problem document (RFC 9457), worded as on the command line."""

    title: str
    status: int
    detail: str
    where: Place | None = None
    ways: tuple[Remedy, ...] = ()
    type: str = "about:blank"


PROBLEM = "application/problem+json"


class Refused(Exception):
    """A request that is refused."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Door(Struct, frozen=True):
    """The address of the server, and the hosts, origins and token it accepts."""

    port: int
    token: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    upload: int = MOST_UPLOAD

    @classmethod
    def at(cls, port: int, token: str, *, host: str = "127.0.0.1", proxy: str | None = None) -> Door:
        """The door of a server at a port; behind a proxy, only the proxy's own address is accepted."""
        if proxy is not None:
            origin = proxy.rstrip("/")
            return cls(port, token, (origin.partition("://")[2],), (origin,))
        names = dict.fromkeys(["127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host])
        hosts = tuple(f"{name}:{port}" for name in names)
        return cls(port, token, hosts, tuple(f"http://{host}" for host in hosts))

    @property
    def cookie(self) -> str:
        """The name of the cookie; it contains the port so that servers on one machine do not share it."""
        return f"{COOKIE}{self.port}"


def _refusal(refused: Refused, path: str) -> tuple[int, dict[str, str], str]:
    """The response to a refused request: a problem document for scripts, a sentence for people."""
    if not path.startswith("/api/"):
        return refused.status, {"content-type": "text/plain; charset=utf-8"}, f"{refused}\n"
    body = ProblemDetails(title=str(refused), status=refused.status, detail=str(refused))
    return refused.status, {"content-type": PROBLEM}, msgspec.json.encode(body).decode()


class Guard:
    """The outermost layer: every request passes through it."""

    def __init__(self, app: Application, door: Door) -> None:
        self.app, self.door = app, door
        self._key = secrets.token_urlsafe(24)  # of the link; only a cookie is worth the token itself

    def link(self) -> str:
        """The link that lets browsers in for as long as the server runs."""
        return f"{self.door.origins[0]}/?token={self._key}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, then pass it on or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            answer = self._checked(scope)
        except Refused as refused:
            answer = _refusal(refused, scope["path"])
        if answer is None:
            await self.app(scope, receive, with_headers)
            return
        status, headers, body = answer
        if status >= 400:
            headers = {**headers, "connection": "close"}  # strangers keep no connection
        coded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await with_headers({"type": "http.response.start", "status": status, "headers": coded})
        await with_headers({"type": "http.response.body", "body": body.encode()})

    def _checked(self, scope: Scope) -> tuple[int, dict[str, str], str] | None:
        """Return None if the request may pass; otherwise the response to send."""
        door = self.door
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if headers.get("host", []) not in [[host] for host in door.hosts]:
            raise Refused(421, "This host name is not served here. Open the link that the workbench printed.")
        if any(origin not in door.origins for origin in headers.get("origin", [])):
            raise Refused(403, "Requests from other sites are not accepted.")
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            raise Refused(403, "Requests from other sites are not accepted.")
        method, path = scope["method"], scope["path"]
        if method not in SAFE:
            self._check_size(headers, upload=method == "PUT" and path.endswith("/results"))
        if path in OPEN:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and method in SAFE:
            return self._exchanged(tokens[0], path, [pair for pair in query if pair[0] != "token"])
        if not self._has_token(headers):
            raise Refused(
                401, "Open the link that the workbench printed, or send its token as a Bearer token."
            )
        return None

    def _check_size(self, headers: dict[str, list[str]], *, upload: bool) -> None:
        most = self.door.upload if upload else MOST_BODY
        sizes = headers.get("content-length", [])
        if not upload and not sizes and "transfer-encoding" in headers:
            raise Refused(411, "The request must have a Content-Length header.")
        if any(not size.isdecimal() or int(size) > most for size in sizes):
            raise Refused(413, f"The body is too large; at most {most:,} bytes are accepted.")

    def _exchanged(
        self, token: str, path: str, query: list[tuple[str, str]]
    ) -> tuple[int, dict[str, str], str]:
        """Exchange the key of a link for a cookie, and redirect to the same address without the key."""
        if not _same(token, self._key):
            raise Refused(401, "This link is not that of the running workbench. Open the one it printed.")
        # A path that begins with two slashes would redirect to another host.
        to = "/" + path.lstrip("/\\") + (f"?{urlencode(query)}" if query else "")
        cookie = f"{self.door.cookie}={self.door.token}; HttpOnly; SameSite=Strict; Path=/"
        return 303, {"location": to.encode("ascii", "ignore").decode(), "set-cookie": cookie}, ""

    def _has_token(self, headers: dict[str, list[str]]) -> bool:
        tokens = [
            value.removeprefix("Bearer ").strip()
            for value in headers.get("authorization", [])
            if value.startswith("Bearer ")
        ]
        # Other programs on this machine share the header, and write into it what no cookie parser accepts.
        for pair in ";".join(headers.get("cookie", [])).split(";"):
            name, _, value = pair.partition("=")
            if name.strip() == self.door.cookie:
                tokens.append(value.strip().strip('"'))
        return any(_same(token, self.door.token) for token in tokens)


def _same(given: str, secret: str) -> bool:
    """Whether a text is the secret, in a time that does not tell how much of it is right."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
