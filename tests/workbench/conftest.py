"""A folder of results shared by all tests of the workbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from benches import client_of, make_folder
from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one document, its columns and a gate; tests that write to it copy it first."""
    return make_folder(tmp_path_factory.mktemp("bench") / "runs")


@pytest.fixture(scope="session")
def client(folder: Path) -> Iterator[TestClient]:
    """A client that sends the token."""
    with client_of(folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def gold(client: TestClient) -> str:
    """The slug of the only gold file in the folder."""
    slug: str = client.get("/api/v1/golds").json()[0]["slug"]
    return slug
