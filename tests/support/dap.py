"""A client of the Debug Adapter Protocol, for tests of `rlctl debug --dap`.

    with Client("-u", "private:") as client:
        client.launch("loop.lua", keys=["k"], breakpoints=[3])
        assert client.stopped()["reason"] == "breakpoint"

Nothing waits for ever: a message that does not come within two minutes fails the test.
"""

import json
import os
import selectors
import socket
import subprocess
import time

PATIENCE = 120


class Client:
    def __init__(self, *options, after=()):
        self.process = subprocess.Popen(["rlctl", *options, "debug", "--dap", *after], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.input, self.output_fd = self.process.stdin, self.process.stdout.fileno()
        self.begin()

    @classmethod
    def connect(cls, path, process):
        """The client at the socket of a `rlctl debug --dap=PATH`, as soon as it listens."""
        client = cls.__new__(cls)
        deadline = time.monotonic() + PATIENCE
        connection = socket.socket(socket.AF_UNIX)
        while connection.connect_ex(path) != 0:
            assert time.monotonic() < deadline and process.poll() is None, "nobody listens"
            time.sleep(0.01)
        client.process, client.connection = process, connection
        client.input, client.output_fd = connection.makefile("wb", buffering=0), connection.fileno()
        client.begin()
        return client

    def vanish(self):
        """Closes the connection of connect()."""
        self.connection.shutdown(socket.SHUT_RDWR)

    def begin(self):
        self.seq = 0
        self.bytes = b""
        self.events = []  # that came while something else was awaited
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0] is None and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self.process.kill()
        self.process.wait()

    def write(self, data):
        self.input.write(data)

    def send(self, command, **arguments):
        """Sends a request, and returns its number."""
        self.seq += 1
        body = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self.seq

    def receive(self):
        """The next message; None at the end."""
        deadline = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self.output_fd, selectors.EVENT_READ)
            while True:
                head, separator, rest = self.bytes.partition(b"\r\n\r\n")
                if separator:
                    length = int(head.removeprefix(b"Content-Length: "))
                    if len(rest) >= length:
                        self.bytes = rest[length:]
                        return json.loads(rest[:length])
                assert selector.select(deadline - time.monotonic()), "no message came"
                data = os.read(self.output_fd, 1 << 16)
                if not data:
                    return None
                self.bytes += data

    def until(self, wanted):
        """Receives messages until `wanted` accepts one, which it returns; events before that are kept."""
        while True:
            message = self.receive()
            assert message is not None, "rlctl ended"
            if message.get("event") == "output":
                self.output += message["body"]["output"]
            if wanted(message):
                return message
            self.events.append(message)

    def answer(self, number):
        return self.until(lambda m: m["type"] == "response" and m["request_seq"] == number)

    def ask(self, command, **arguments):
        """The body of the answer to a request that succeeds."""
        answer = self.answer(self.send(command, **arguments))
        assert answer["success"] and answer["command"] == command, answer
        return answer.get("body")

    def refused(self, command, **arguments):
        """The message of the answer to a request that fails."""
        answer = self.answer(self.send(command, **arguments))
        assert not answer["success"] and answer["command"] == command, answer
        return answer["message"]

    def event(self, name):
        for i, message in enumerate(self.events):
            if message.get("event") == name:
                return self.events.pop(i)["body"]
        return self.until(lambda m: m.get("event") == name)["body"]

    def stopped(self):
        return self.event("stopped")

    def initialize(self):
        return self.ask("initialize", adapterID="rlctl")

    def launch(self, program, breakpoints=None, **arguments):
        """Starts a script with breakpoints at these lines, or as setBreakpoints wants them; returns its answer."""
        self.initialize()
        self.ask("launch", program=program, **arguments)
        self.event("initialized")
        answer = self.breakpoints(program, breakpoints) if breakpoints is not None else None
        self.ask("configurationDone")
        return answer

    def breakpoints(self, program, lines):
        wanted = [{"line": line} if isinstance(line, int) else line for line in lines]
        return self.ask("setBreakpoints", source={"path": os.path.abspath(program)}, breakpoints=wanted)["breakpoints"]

    def frames(self):
        return self.ask("stackTrace", threadId=1)["stackFrames"]

    def line(self):
        return self.frames()[0]["line"]

    def variables(self, reference):
        return {one["name"]: one for one in self.ask("variables", variablesReference=reference)["variables"]}

    def scope(self, name, frame=1):
        scopes = {one["name"]: one for one in self.ask("scopes", frameId=frame)["scopes"]}
        return {name: one["value"] for name, one in self.variables(scopes[name]["variablesReference"]).items()}

    def move(self, command):
        """Moves the script; the line at which it stops."""
        self.ask(command, threadId=1)
        self.stopped()
        return self.line()

    def value(self, expression, context="repl"):
        return self.ask("evaluate", expression=expression, context=context, frameId=1)["result"]

    def ended(self):
        """Waits until the script has ended; its exit code."""
        code = self.event("exited")["exitCode"]
        self.event("terminated")
        return code

    def disconnect(self):
        """Ends rlctl; its status."""
        self.ask("disconnect")
        return self.process.wait(PATIENCE)
