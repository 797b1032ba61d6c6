"""The container of the workbench: its files are well formed, and its commands run here as there."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

yaml = pytest.importorskip("yaml")

DEPLOY = Path(__file__).parents[2] / "deploy"
KNOWN = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "ENV", "HEALTHCHECK", "CMD"}
TEXT = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
LINES = [line.partition(" ") for line in TEXT.splitlines() if line and not line.startswith("#")]
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def listed(instruction: str) -> list[str]:
    """The command of an instruction in its JSON form."""
    (line,) = [rest for name, _, rest in LINES if name == instruction]
    command: list[str] = json.loads(line[line.index("[") :].removeprefix("CMD "))
    return command


def test_the_image_is_built_from_known_instructions_and_runs_without_privileges() -> None:
    names = [name for name, _, _ in LINES]
    assert set(names) <= KNOWN and names[0] == "FROM"
    assert names.index("USER") > names.index("RUN")
    assert ("USER", "spanwise") in [(name, rest) for name, _, rest in LINES]
    extras = re.search(r"/source\[(.*)\]", TEXT)
    assert extras is not None and "workbench" in extras[1]
    for name, _, rest in LINES:
        if name == "RUN":
            assert subprocess.run(["sh", "-n", "-c", rest]).returncode == 0


def test_only_the_proxy_is_reachable_and_every_variable_is_demanded() -> None:
    services = COMPOSE["services"]
    assert "ports" not in services["workbench"] and services["proxy"]["ports"]
    assert services["workbench"]["read_only"] and services["workbench"]["cap_drop"] == ["ALL"]
    build = services["workbench"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"\{\$(\w+)\}", (DEPLOY / "Caddyfile").read_text(encoding="utf-8"))) <= set(
        services["proxy"]["environment"]
    )
    assert all(":?" in variable for variable in re.findall(r"\$\{.*?\}", text))
    assert "basic_auth" in (DEPLOY / "Caddyfile").read_text(encoding="utf-8")


def test_docker_accepts_the_compose_file() -> None:
    if shutil.which("docker") is None or subprocess.run(["docker", "compose", "version"]).returncode != 0:
        pytest.skip("docker compose is not installed")
    names = ("ORIGIN", "USER", "PASSWORD_HASH", "RESULTS")
    environment = {**os.environ, **{f"SPANWISE_{name}": "/x" for name in names}}
    call = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    assert subprocess.run(call, env=environment).returncode == 0


def test_the_command_serves_under_the_name_of_the_proxy_and_the_health_check_passes(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = listed("CMD")
    command[-1] = command[-1].replace("/results", str(tmp_path)) + f" --port {port}"
    environment = {
        **os.environ,
        "SPANWISE_ORIGIN": "https://scores.example.org",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        health = [word.replace("7350", port) for word in listed("HEALTHCHECK")]
        began = time.monotonic()
        while subprocess.run([sys.executable, *health[1:]], env=environment, capture_output=True).returncode:
            assert server.poll() is None and time.monotonic() - began < 60
        with pytest.raises(URLError):  # under another name nothing is served
            urlopen(Request(f"http://127.0.0.1:{port}/api/v1/health"))
    finally:
        server.terminate()  # what `docker stop` does, and the server ends by itself
        assert server.wait(20) in (0, -15)
        printed = server.stderr.read() if server.stderr else ""
    assert "https://scores.example.org/?token=" in printed
