"""Access control: the security table, checked on every route."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benches import ORIGIN, TOKEN, client_of
from starlette.testclient import TestClient

from spanwise.workbench.guard import HEADERS, PROBLEM, Door, Guard
from spanwise.workbench.openapi import OPERATIONS, PREFIX
from spanwise.workbench.pages import PATHS

FILL = {
    "gold": "g",
    "result": "1",
    "slug": "s",
    "note": "1",
    "job": "1",
    "document": "1",
    "a": "1",
    "b": "2",
    "number": "0",
    "name": "page.css",
}
ROUTES = [(one.method, (PREFIX + one.path).format(**FILL)) for one in OPERATIONS]
ROUTES += [("GET", path.format(**FILL)) for path in PATHS]
CLOSED = [route for route in ROUTES if not route[1].endswith("/health")]


@pytest.fixture(scope="module")
def stranger(folder: Path) -> Iterator[TestClient]:
    with client_of(folder, known=False) as client:
        yield client


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": "127.0.0.1:7350.evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_other_hosts_and_sites_are_refused_even_with_the_token(
    stranger: TestClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = stranger.request(method, path, headers={"authorization": f"Bearer {TOKEN}", **headers})
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    if path.startswith(PREFIX):
        assert answer.headers["content-type"] == PROBLEM and answer.json()["status"] == status


@pytest.mark.parametrize(("method", "path"), CLOSED)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": TOKEN},
        {"cookie": "spanwise-7350=wrong"},
        {"cookie": f"spanwise-1={TOKEN}"},
    ],
)
def test_without_the_token_every_request_is_refused(
    stranger: TestClient, method: str, path: str, headers: dict[str, str]
) -> None:
    assert stranger.request(method, path, headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        route
        for route in ROUTES
        if not route[1].endswith("events") and not route[1].startswith(("/r/", "/d/"))
    ],
)
def test_every_answer_has_the_headers_and_allows_no_other_origin(
    client: TestClient, method: str, path: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code < 500
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_link_lets_browsers_in_while_the_server_runs_and_leaves_no_token_in_the_address(
    folder: Path,
) -> None:
    with client_of(folder, known=False) as client:
        guard = client.app
        assert isinstance(guard, Guard)
        link = guard.link()
        answer = client.get(f"{link.removeprefix(ORIGIN)}&q=1")
        assert answer.status_code == 303 and answer.headers["location"] == "/?q=1"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert client.get("/settings").status_code == 200  # the client has kept the cookie
        client.cookies.clear()  # another browser
        assert client.get("/settings").status_code == 401
        assert client.get(link.removeprefix(ORIGIN)).status_code == 303
        assert client.get("/settings").status_code == 200


def test_a_link_cannot_lead_to_another_host(folder: Path) -> None:
    with client_of(folder, known=False) as client:
        guard = client.app
        assert isinstance(guard, Guard)
        token = guard.link().partition("token=")[2]
        answer = client.get(f"{ORIGIN}//evil.example/?token={token}")
        assert answer.headers["location"] == "/evil.example/"


def test_large_bodies_are_refused_before_they_are_read(client: TestClient, gold: str) -> None:
    answer = client.post(f"/api/v1/golds/{gold}/notes", content=b"x" * (1 << 20) + b"y")
    assert answer.status_code == 413
    answer = client.put(
        f"/api/v1/golds/{gold}/results?system=a", headers={"content-length": str(3 << 30)}, content=b"x"
    )
    assert answer.status_code == 413


def test_forms_of_other_sites_are_refused_by_their_type(client: TestClient, gold: str) -> None:
    answer = client.post(
        f"/api/v1/golds/{gold}/notes",
        content=b'{"sentence": 0, "tag": "x"}',
        headers={"content-type": "text/plain"},
    )
    assert answer.status_code == 415


def test_behind_a_proxy_only_its_address_is_answered() -> None:
    door = Door.at(7350, TOKEN, proxy="https://bench.example/")
    assert door.hosts == ("bench.example",) and door.origins == ("https://bench.example",)
