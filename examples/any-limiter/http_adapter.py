#!/usr/bin/env python3
"""Lets rlctl ask a web service that limits its clients, with one GET for each request:

    rlctl burst steady --clock real --limit 5/1h --rate 10/s --duration 1s \\
        --exec './http_adapter.py http://127.0.0.1:8080/ broken-promises'

The key is sent as X-Api-Key; status 429 means denied. Retry-After, RateLimit and RateLimit-Policy
(draft-ietf-httpapi-ratelimit-headers) and X-RateLimit-* are read. What they said and what then happened is a line of
the file broken-promises if the two differ, once for each client.
"""
import json
import re
import sys
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import quote, urlsplit

url = urlsplit(sys.argv[1])
connection = (HTTPSConnection if url.scheme == "https" else HTTPConnection)(url.netloc, timeout=60)
report = open(sys.argv[2], "w", buffering=1)


def number(field, pattern):
    """The number in a field such as `"default";r=3;t=59`, or None."""
    found = re.search(pattern, field or "")
    return int(found[1]) if found else None


def seconds(field):
    """How long Retry-After asks to wait: a number of seconds, or a date."""
    if field is None or field.isdigit():
        return field and int(field)
    return max(0, parsedate_to_datetime(field).timestamp() - time.time())


class Client:
    def __init__(self, key):
        self.key = key
        self.left = None  # how many more requests may pass, as the service said
        self.promise = None  # when it said Retry-After, and the seconds that it said
        self.told = set()

    def tell(self, kind, text):
        if kind not in self.told:
            self.told.add(kind)
            print(f"{self.key}: {text}", file=report)

    def ask(self, limit, window):
        sent = time.time()
        connection.request("GET", url.path or "/", headers={"X-Api-Key": quote(self.key)})
        response = connection.getresponse()
        response.read()
        allowed = response.status != 429
        if allowed and response.status >= 400:
            sys.exit(f"{sys.argv[1]}: status {response.status}")
        self.check_limit(response.headers, limit, window)
        self.check_promises(allowed, sent)

        fields, answer = response.headers, {"allowed": allowed}
        remaining = number(fields["RateLimit"], r"\b(?:r|remaining)=(\d+)")
        old_remaining = number(fields["X-RateLimit-Remaining"], r"^(\d+)")
        if None not in (remaining, old_remaining) and remaining != old_remaining:
            self.tell("fields", f"RateLimit says r={remaining}, X-RateLimit-Remaining {old_remaining}")
        self.left = old_remaining if remaining is None else remaining
        if self.left is not None:
            answer["remaining"] = self.left
        wait = None if allowed else seconds(fields["Retry-After"])
        if wait is not None:
            answer["retry_after_us"] = round(wait * 1e6)
            self.promise = self.promise or (time.time(), wait)
        return answer

    def check_limit(self, fields, limit, window):
        said = number(fields["RateLimit-Policy"], r"\bq=(\d+)") or number(fields["X-RateLimit-Limit"], r"^(\d+)")
        if said not in (None, limit):
            self.tell("limit", f"the limit is said to be {said}, not {limit}")
        said = number(fields["RateLimit-Policy"], r"\bw=(\d+)")
        if said not in (None, window):
            self.tell("window", f"the window is said to be {said} s, not {window:g} s")

    def check_promises(self, allowed, sent):
        if not allowed and self.left:
            self.tell("left", f"{self.left} requests were said to remain, but the next one was denied")
        if self.promise is None:
            return
        said_at, wait = self.promise
        waited = sent - said_at
        if not allowed and waited >= wait:
            self.tell("early", f"Retry-After said {wait:g} s, but a request {waited:.1f} s later was denied")
        if allowed and waited + 1 < wait:  # it is in whole seconds
            self.tell("late", f"Retry-After said {wait:g} s, but a request {waited:.1f} s later was allowed")
        if allowed or waited >= wait:
            self.promise = None


print('{"hello":{"pipeline":1}}', flush=True)  # rlctl begins as soon as the adapter is ready
clients = {}
for line in sys.stdin:
    request = json.loads(line)
    if "reset" in request:
        continue  # a service cannot be told to forget its clients
    client = clients.setdefault(request["key"], Client(request["key"]))
    print(json.dumps(client.ask(request["limit"], request["window_us"] / 1e6)), flush=True)
