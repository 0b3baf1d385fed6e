"""JupyterLab with the user's own settings, started for a moment and asked what a browser would ask it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

import websocket

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "browser"))
import lab  # noqa: E402

ANSWER = 30  # seconds allowed to an answer of the server, and to a cell
COMMAND = [
    sys.executable,
    *("-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"),
    f"--ServerApp.root_dir={ROOT / 'notebooks'}",
    # Should we be killed, it ends by itself.
    "--ServerApp.shutdown_no_activity_timeout=60",
    *("--MappingKernelManager.cull_idle_timeout=60", "--MappingKernelManager.cull_interval=30"),
]


@contextmanager
def jupyter_lab(command=COMMAND):
    """A Server, gone on leaving; RuntimeError shows its log if it does not start."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        environment = {**os.environ, "JUPYTER_RUNTIME_DIR": folder}
        with log.open("w") as out:
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            yield Server(*lab.address(process, Path(folder), log), process.pid)
        finally:
            lab.stop(process)


@dataclass
class Server:
    url: str
    token: str
    pid: int

    def ask(self, path, method="GET", **content):
        """The answer's text. No proxy: it could not know this machine's own server."""
        headers = {"Authorization": f"token {self.token}"}
        body = json.dumps(content).encode() if content else None
        request = Request(self.url + path, body, headers, method=method)
        with build_opener(ProxyHandler({})).open(request, timeout=ANSWER) as answer:
            return answer.read().decode()

    def extensions(self):
        """{name: address of its first script} of what the page adds to JupyterLab."""
        config = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', self.ask("lab"), re.DOTALL)[1]
        added = json.loads(config)["federated_extensions"]
        return {one["name"]: f"lab/extensions/{one['name']}/{one['load']}" for one in added}

    def run(self, code):
        """The contents of all messages that a fresh kernel sends of a cell, by the way a browser takes."""
        kernel = json.loads(self.ask("api/kernels", "POST", name="python3"))["id"]
        try:
            return self._talk(kernel, code)
        finally:
            self.ask(f"api/kernels/{kernel}", "DELETE")

    def _talk(self, kernel, code):
        socket = websocket.create_connection(
            f"{self.url.replace('http', 'ws', 1)}api/kernels/{kernel}/channels",
            header={"Authorization": f"token {self.token}"},
            timeout=ANSWER,
        )
        number, deadline, contents = uuid.uuid4().hex, time.monotonic() + ANSWER, []
        header = {"msg_id": number, "msg_type": "execute_request", "version": "5.3", "session": number}
        header |= {"username": "", "date": ""}
        request = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell"}
        socket.send(json.dumps({**request, "content": {"code": code, "silent": False}}))
        while time.monotonic() < deadline:
            text = socket.recv()
            message = json.loads(text) if isinstance(text, str) else {}  # binary: a widget's bytes
            if message.get("parent_header", {}).get("msg_id") == number:
                contents.append(message["content"])
                if message["content"].get("execution_state") == "idle":
                    socket.close()
                    return contents
        raise TimeoutError(f"the cell was not done after {ANSWER} s")
