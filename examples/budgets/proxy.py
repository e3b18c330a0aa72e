#!/usr/bin/env python3
"""usage: proxy.py PORT UPSTREAM REDIS SCRIPT TOKENS/SECONDS

A proxy in front of a language model that gives each client a budget of tokens. UPSTREAM is the URL of the model's
server, REDIS is HOST:PORT or the path of a Unix socket, and SCRIPT is rlctl's budget.lua.
"""
import hashlib
import json
import math
import secrets
import socket
import sys
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT = 1  # of Redis, in seconds
UPSTREAM_TIMEOUT = 60
HOLD = 90  # longer than the model takes; if the proxy dies, its tokens are free after that
MAX_TOKENS = 1000  # of an answer, unless the client says otherwise
MAX_BODY = 1_000_000  # bytes


class RedisError(Exception):
    """An error that the server replied."""


class Redis:
    """A client without dependencies. Every command has a connection of its own."""

    def __init__(self, address):
        self.address = address

    def connect(self):
        if "/" not in self.address:
            return socket.create_connection(self.address.rsplit(":", 1), TIMEOUT)
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(TIMEOUT)
        link.connect(self.address)
        return link

    def call(self, *words):
        words = [str(word).encode() for word in words]
        command = [b"*%d\r\n" % len(words)] + [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
        with self.connect() as link, link.makefile("rb") as replies:
            link.sendall(b"".join(command))
            return self.read(replies)

    def read(self, replies):
        line = replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, value = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise RedisError(value)
        if kind == b"*":
            return [self.read(replies) for _ in range(int(value))]
        return replies.read(int(value) + 2)[:-2].decode() if kind == b"$" else int(value)


@dataclass(frozen=True)
class Decision:
    allowed: bool
    remaining: int
    retry_after: float  # in seconds; negative if there will never be room
    state: str  # of the reservation


class Budget:
    def __init__(self, redis, script, limit, seconds):
        self.redis = redis
        self.script = script
        self.sha1 = hashlib.sha1(script.encode()).hexdigest()
        self.limit = [limit, seconds * 1_000_000, ""]

    def reserve(self, key, id, units, hold):
        return self.decide(key, units, "", "reserve", id, hold * 1_000_000)

    def settle(self, key, id, actual):
        return self.decide(key, actual, "", "settle", id)

    def decide(self, key, *arguments):
        try:
            reply = self.evaluate(key, *arguments)
        except OSError:  # Since the call has an ID, it counts once even if both are executed.
            reply = self.evaluate(key, *arguments)
        allowed, remaining, retry_after, _, _, _, state, _, _ = reply
        return Decision(allowed == 1, remaining, retry_after / 1e6, state)

    def evaluate(self, key, *arguments):
        try:
            return self.redis.call("EVALSHA", self.sha1, 1, key, *self.limit, *arguments)
        except RedisError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            return self.redis.call("EVAL", self.script, 1, key, *self.limit, *arguments)


class Proxy(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            return self.refuse(413, f"a request has at most {MAX_BODY} bytes")
        try:
            request = json.loads(self.rfile.read(int(length)))
            # What is not reserved must not be used, so the model is told where to stop.
            request["max_tokens"] = most = int(request.get("max_tokens", MAX_TOKENS))
        except (ValueError, TypeError, AttributeError, OverflowError):
            return self.refuse(400, "the body must be a JSON object, and max_tokens a number")
        if not 1 <= most <= 1_000_000 or request.get("stream"):
            return self.refuse(400, "max_tokens must be from 1 to 1000000, and stream is not supported")
        body = json.dumps(request).encode()
        units = len(body) // 3 + most  # most texts have more than three bytes a token
        # The key does not show the client's secret. The ID has 20 bytes, the most that the script takes.
        key = "tokens:" + hashlib.sha256(self.headers.get("Authorization", "").encode()).hexdigest()[:16]
        id = secrets.token_hex(10)
        try:
            decision = self.budget.reserve(key, id, units, HOLD)
        except (OSError, RedisError) as error:
            self.log_error("%s: %s", key, error)
            return self.refuse(503, "the budget cannot be read")
        if not decision.allowed:
            return self.deny(decision, units)
        status, answer, used = self.ask_model(body, units)
        try:
            decision = self.budget.settle(key, id, used)
        except (OSError, RedisError) as error:
            self.log_error("%s: %s tokens may not have been counted: %s", key, used, error)
        return self.answer(status, answer, {"X-RateLimit-Remaining-Tokens": decision.remaining})

    def ask_model(self, body, units):
        """Returns the status and the body of the model's answer, and how many tokens it used."""
        connection = self.upstream()
        try:
            connection.connect()
        except OSError as error:
            return 502, error_body(f"no connection to the model: {error}"), 0
        try:
            headers = {"Content-Type": "application/json", "Authorization": self.headers.get("Authorization", "")}
            connection.request("POST", self.path, body, headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                return response.status, answer, 0
            used = json.loads(answer)["usage"]["total_tokens"]
            return 200, answer, used if isinstance(used, int) and used >= 0 else units
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            # The model may have worked: count what was reserved.
            return 502, error_body(f"no answer from the model: {error}"), units
        finally:
            connection.close()

    def deny(self, decision, units):
        message = f"this request may use {units} tokens, and {decision.remaining} are left"
        if decision.retry_after < 0:
            return self.refuse(413, message)
        return self.refuse(429, message, {"Retry-After": math.ceil(decision.retry_after)})

    def refuse(self, status, message, headers=None):
        return self.answer(status, error_body(message), headers)

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


def error_body(message):
    return json.dumps({"error": {"message": message}}).encode()


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__.splitlines()[0])
    url = urlsplit(sys.argv[2])
    connection = HTTPSConnection if url.scheme == "https" else HTTPConnection
    Proxy.upstream = lambda self: connection(url.netloc, timeout=UPSTREAM_TIMEOUT)
    limit, seconds = map(int, sys.argv[5].split("/"))
    Proxy.budget = Budget(Redis(sys.argv[3]), Path(sys.argv[4]).read_text(), limit, seconds)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Proxy)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
