#!/usr/bin/env python3
"""A web service that limits its clients, for http_adapter.py: http_service.py PORT LIMIT/SECONDS

The limit is kept. What goes wrong: it says Retry-After: 0 however long the client must wait.
"""
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

limit, window = map(int, sys.argv[2].split("/"))
counts = {}
lock = Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        now = time.time()
        key = self.headers["X-Api-Key"]
        with lock:
            count, end = counts.get(key, (0, now + window))
            if end <= now:
                count, end = 0, now + window
            counts[key] = count + 1, end
        self.send_response(200 if count < limit else 429)
        self.send_header("RateLimit-Policy", f'"default";q={limit};w={window}')
        self.send_header("RateLimit", f'"default";r={max(limit - count - 1, 0)};t={int(end - now) + 1}')
        if count >= limit:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
