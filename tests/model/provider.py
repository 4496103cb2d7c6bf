"""A local server that speaks enough of the OpenAI and Anthropic protocols to misbehave like a real one.

Every request pops the next answer of the script; the last answer is repeated. Requests are counted and kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: object = None  # a str is sent as it is, all else as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0  # before the first byte
    drip_s: float = 0.0  # between bytes: the connection never goes quiet, the answer never ends


def chat(
    content: object = "hi",
    finish: str | None = "stop",
    *,
    usage: bool = True,
    choices: bool = True,
    message: Mapping[str, object] | None = None,
) -> Answer:
    """A chat completion with one choice."""
    said = {"role": "assistant", "content": content, **(message or {})}
    body: dict[str, object] = {
        "id": "c1", "object": "chat.completion", "created": 1, "model": "kernel-coder",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}] if choices else [],
    }  # fmt: skip
    if usage:
        body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return Answer(body=body)


def error(status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> Answer:
    body = {"error": {"message": message, "type": code or "invalid_request_error", "code": code or None}}
    return Answer(status, body, headers or {})


@dataclass
class Provider:
    """A running server."""

    script: Sequence[Answer]
    url: str = ""
    requests: list[dict[str, object]] = field(default_factory=list)  # bodies, in order of arrival
    paths: list[str] = field(default_factory=list)

    def next(self, path: str, body: dict[str, object]) -> Answer:
        self.paths.append(path)
        self.requests.append(body)
        return self.script[min(len(self.requests), len(self.script)) - 1]


@contextmanager
def serving(*script: Answer) -> Iterator[Provider]:
    provider = Provider(script)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            answer = provider.next(self.path, json.loads(self.rfile.read(length)))
            time.sleep(answer.delay_s)
            text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            try:
                self._send(answer, text.encode())
            except (BrokenPipeError, ConnectionResetError):
                return

        def _send(self, answer: Answer, data: bytes) -> None:
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            for byte in data if answer.drip_s else ():
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(answer.drip_s)
            if not answer.drip_s:
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
