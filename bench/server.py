"""Private servers, and a connection to one."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from common import ROOT, CannotRun


def answers(path):
    """Whether a server listens at the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


@contextlib.contextmanager
def private_server(*options):
    """Starts a redis-server with these options in its own folder; yields the path of its unix socket."""
    names = [os.environ.get("RLCTL_REDIS_SERVER") or "redis-server", "valkey-server",
             "redis-check-rdb", "valkey-check-rdb"]
    binary = next(filter(None, map(shutil.which, names)), None)
    if not binary:
        raise CannotRun("there is no redis-server")
    with tempfile.TemporaryDirectory(prefix="rlctl-bench.") as folder:
        path = f"{folder}/socket"
        # Debian's redis-check-rdb is the server itself, and behaves as one under the server's name.
        os.symlink(os.path.realpath(binary) if "check" in binary else binary,
                   f"{folder}/redis-server")
        command = [f"{folder}/redis-server", "--port", "0", "--unixsocket", path, "--dir", folder,
                   "--save", "", "--appendonly", "no", "--logfile", f"{folder}/log", *options]
        if shutil.which("setpriv"):  # gone with this process, even if that is killed
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        server = subprocess.Popen(command, env={**os.environ, "LC_ALL": "C"})
        try:
            deadline = time.monotonic() + 10
            while not answers(path):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise CannotRun(f"{binary} does not start as a server")
                time.sleep(0.01)
            yield path
        finally:
            server.kill()
            server.wait()


class ReplyError(Exception):
    pass


def encode(arguments):
    """One command in Redis's format."""
    out = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = argument if isinstance(argument, bytes) else str(argument).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(out)


def decode(data):
    """All the replies in `data`: integers, bytes, None, lists, ReplyError."""
    at = 0

    def one():
        nonlocal at
        end = data.index(b"\r\n", at)
        kind, text = data[at:at + 1], data[at + 1:end]
        at = end + 2
        if kind == b":":
            return int(text)
        if kind == b"+":
            return text
        if kind == b"-":
            return ReplyError(text.decode())
        size = int(text)
        if size < 0:
            return None
        if kind == b"*":
            return [one() for _ in range(size)]
        at += size + 2
        return data[at - size - 2:at - 2]

    out = []
    while at < len(data):
        out.append(one())
    return out


class Client:
    """A connection that sends whole pipelines."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def pipeline(self, commands):
        """Sends encoded commands; returns the bytes of the replies."""
        last = b"rlctl-bench-%d" % random.getrandbits(62)
        end = b"$%d\r\n%b\r\n" % (len(last), last)
        self.socket.sendall(commands + encode(["ECHO", last]))
        out = bytearray()
        while not out.endswith(end):
            data = self.socket.recv(1 << 20)
            if not data:
                raise CannotRun("the server has gone")
            out += data
        return bytes(out[:-len(end)])

    def call(self, *arguments):
        """Runs one command; returns its reply."""
        reply = decode(self.pipeline(encode(arguments)))[0]
        if isinstance(reply, ReplyError):
            raise CannotRun(f"{arguments[0]}: {reply}")
        return reply

    def flush(self):
        """Removes all keys."""
        self.call("FLUSHDB")

    def load(self, file):
        """Loads a script; returns its SHA1."""
        return self.call("SCRIPT", "LOAD", Path(file).read_bytes()).decode()

    def usec(self, command="evalsha"):
        """(calls, microseconds) of a command since CONFIG RESETSTAT."""
        for line in self.call("INFO", "commandstats").decode().splitlines():
            if line.startswith(f"cmdstat_{command}:"):
                fields = dict(field.split("=") for field in line.split(":")[1].split(","))
                return int(fields["calls"]), int(fields["usec"])
        return 0, 0

    def timed(self, commands):
        """Runs a pipeline of EVALSHA; returns the replies and the server's microseconds per call."""
        self.call("CONFIG", "RESETSTAT")
        data = self.pipeline(commands)
        calls, usec = self.usec()
        return data, usec / max(calls, 1)


def real_now():
    return time.time_ns() // 1000


def free_port():
    """A port that is free, as is the one for a Cluster's bus, 10,000 above it."""
    while True:
        port = random.randrange(20000, 50000)
        with socket.socket() as probe, socket.socket() as bus:
            try:
                probe.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10000))
                return port
            except OSError:
                continue


@contextlib.contextmanager
def reachable_by_tls(client):
    """Opens a port and a port with TLS; yields the options of rlctl and of redis-cli for each way to the server."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "tests/support/make_certificates", folder], check=True)
        port, tls_port = free_port(), free_port()
        try:
            client.call("CONFIG", "SET", "tls-cert-file", f"{folder}/server.pem",
                        "tls-key-file", f"{folder}/server.key", "tls-ca-cert-file", f"{folder}/ca.pem",
                        "tls-auth-clients", "no", "port", port, "tls-port", tls_port)
        except ReplyError as error:
            raise CannotRun(f"the server has no TLS: {error}") from error
        tcp, tls = ["-h", "127.0.0.1", "-p", str(port)], ["-h", "127.0.0.1", "-p", str(tls_port)]
        trust = ["--tls", "--cacert", f"{folder}/ca.pem"]
        yield {"unix socket": (["-s", client.path], ["-s", client.path]),
               "TCP": (["-H", *tcp[1:]], tcp),
               "TLS": (["-H", *tls[1:], *trust], [*tls, *trust])}


@contextlib.contextmanager
def cluster(masters):
    """Starts a Cluster; yields its URL."""
    with contextlib.ExitStack() as stack:
        ports = [free_port() for _ in range(masters)]
        nodes = [Client(stack.enter_context(private_server(
            "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes"))) for port in ports]
        for number, node in enumerate(nodes):
            slots = range(number * 16384 // masters, (number + 1) * 16384 // masters)
            node.call("CLUSTER", "ADDSLOTS", *slots)
            node.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            node.call("CLUSTER", "MEET", "127.0.0.1", ports[0])
        deadline = time.monotonic() + 30
        while not all(b"cluster_state:ok" in node.call("CLUSTER", "INFO")
                      and len(node.call("CLUSTER", "SLOTS")) == masters for node in nodes):
            if time.monotonic() > deadline:
                raise CannotRun("the Cluster does not form")
            time.sleep(0.05)
        yield "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
