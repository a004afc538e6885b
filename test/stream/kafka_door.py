"""kafka_door.py CERT KEY CA USER PASSWORD PORT... -- the door of a Kafka cluster that has none: TLS, and a user with a password.

librdkafka's mock cluster speaks neither TLS nor SASL. For each of its brokers' PORTs this listens on another: it asks for a certificate
that CA has signed, hears user and password (SASL PLAIN), and passes everything else on. Where brokers say what they can do it adds SASL,
and where they say at which ports they are, it names its own. Prints its ports on one line, and goes on until it is killed. Each refusal
is a line on standard error.
"""
import select
import socket
import ssl
import struct
import sys
import threading

cert, key, ca, user, password, *ports = sys.argv[1:]
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ca)
context.load_cert_chain(cert, key)
context.verify_mode = ssl.CERT_REQUIRED
doors = {}  # from a broker's port to the one in front of it


def frame(connection):
    """The next request or answer without its length, or None at the end."""
    def exactly(n):
        got = b""
        while len(got) < n:
            more = connection.recv(n - len(got))
            if not more:
                return None
            got += more
        return got
    size = exactly(4)
    return exactly(struct.unpack(">i", size)[0]) if size else None


def renamed(answer):
    for port, door in doors.items():
        answer = answer.replace(b"127.0.0.1" + struct.pack(">i", port), b"127.0.0.1" + struct.pack(">i", door))
    return answer


def refuse(why):
    print("refused:", why, file=sys.stderr, flush=True)


def send(connection, body):
    connection.sendall(struct.pack(">i", len(body)) + body)


API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
ADDED = [(SASL_HANDSHAKE, 0, 1), (SASL_AUTHENTICATE, 0, 0)]


def with_sasl(answer, version):
    """What a broker can do, as of that version of the answer, and SASL."""
    number, error = answer[:4], answer[4:6]
    if error != b"\0\0":
        return answer
    if version < 3:
        count, = struct.unpack(">i", answer[6:10])
        return number + error + struct.pack(">i", count + 2) + b"".join(struct.pack(">hhh", *a) for a in ADDED) + answer[10:]
    return number + error + bytes([answer[6] + 2]) + b"".join(struct.pack(">hhhb", *a, 0) for a in ADDED) + answer[7:]


class Visitor:
    def __init__(self, client, broker):
        self.client, self.broker = client, broker
        self.known = False
        self.versions = {}  # of the answers that say what a broker can do, by the number of the request

    def asks(self, request):
        """False: it has to go."""
        (api, version), number = struct.unpack(">hh", request[:4]), request[4:8]
        if api == SASL_HANDSHAKE:
            send(self.client, number + struct.pack(">hih", 0, 1, 5) + b"PLAIN")
        elif api == SASL_AUTHENTICATE:
            self.known = request.endswith(b"\0" + user.encode() + b"\0" + password.encode())
            send(self.client, number + struct.pack(">hhi", 0 if self.known else 58, -1, 0))
            if not self.known:
                refuse("not " + user + " with that password")
        elif api == API_VERSIONS or self.known:
            if api == API_VERSIONS:
                self.versions[number] = version
            send(self.broker, request)
        else:
            refuse("a request of nobody")
            return False
        return True

    def hears(self, answer):
        asked = self.versions.pop(answer[:4], None)
        send(self.client, renamed(answer) if asked is None else with_sasl(answer, asked))
        return True

    def stay(self):
        going = True
        while going:  # one thread for both ways: a TLS connection is one thread's
            ready = [self.client] if self.client.pending() else select.select([self.client, self.broker], [], [])[0]
            for one in ready:
                said = frame(one)
                going = going and said is not None and (self.asks if one is self.client else self.hears)(said)


def serve(plain, port):
    try:
        with context.wrap_socket(plain, server_side=True) as client, socket.create_connection(("127.0.0.1", port)) as broker:
            Visitor(client, broker).stay()
    except OSError as why:
        refuse(why)


def listen(door, port):
    while True:
        plain, _ = door.accept()
        threading.Thread(target=serve, args=(plain, port), daemon=True).start()


for port in map(int, ports):
    door = socket.create_server(("127.0.0.1", 0))
    doors[port] = door.getsockname()[1]
    threading.Thread(target=listen, args=(door, port), daemon=True).start()
print(*doors.values(), flush=True)
threading.Event().wait()
