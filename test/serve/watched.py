"""watched.py -- a motley that serves, and a visitor.

    with Watched(motley, 'sim', '--stop-updates', '50') as run:
        run.get('/metrics'); run.state(); run.process.wait()
"""
import json, re, socket, subprocess, time

SECONDS = 60
# Two workers that mostly sleep, for runs that last some seconds: what is looked at is how they are shown.
UNHURRIED = ['--data', 'digits', '--model', 'softmax', '--emulate', '--cluster', '{workers: [{count: 2, speed: 8000/s}]}']


def request(port, bytes_):
    """(code, headers, body); the code is 0 if it was hung up on."""
    answer = b''
    try:
        with socket.create_connection(('127.0.0.1', port), timeout=SECONDS) as line:
            line.sendall(bytes_)
            while more := line.recv(1 << 16):
                answer += more
    except (ConnectionResetError, BrokenPipeError):
        pass
    head, _, body = answer.partition(b'\r\n\r\n')
    lines = head.decode('latin-1').split('\r\n')
    headers = {name.lower(): value for name, _, value in (line.partition(': ') for line in lines[1:])}
    return int(lines[0].split(' ')[1]) if lines[0] else 0, headers, body


class Watched:
    def __init__(self, motley, command, *flags, address='127.0.0.1:0'):
        self.process = subprocess.Popen([motley, command, *flags, '--serve', address], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port, self.said = None, ''
        for line in self.process.stderr:
            self.said += line
            if found := re.search(r'live view: http://\S+:(\d+)/', line):
                self.port = int(found[1])
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stderr.close()

    def raw(self, bytes_):
        return request(self.port, bytes_)

    def get(self, path, method='GET', host=None, body=b''):
        head = f'{method} {path} HTTP/1.1\r\nHost: {host or f"127.0.0.1:{self.port}"}\r\nConnection: close\r\n'
        head += f'Content-Length: {len(body)}\r\n' if body else ''
        return self.raw(head.encode() + b'\r\n' + body)

    def state(self):
        return json.loads(self.get('/state')[2])

    def until(self, fact):
        """Waits for it; returns what it gave."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := fact():
                return found
            time.sleep(0.05)
        raise TimeoutError('it did not come to that')

    def refused(self):
        try:
            socket.create_connection(('127.0.0.1', self.port)).close()
            return False
        except ConnectionRefusedError:
            return True

    def visit_to_the_end(self):
        try:
            while self.process.poll() is None:
                for path in ('/', '/metrics', '/state'):
                    self.get(path)
        except (ConnectionRefusedError, ValueError, IndexError):
            pass

    def memory(self):
        """Bytes that it has in use."""
        with open(f'/proc/{self.process.pid}/status') as file:
            return 1024 * int(re.search(r'VmRSS:\s+(\d+)', file.read())[1])

    def rest(self):
        return self.process.stderr.read()
