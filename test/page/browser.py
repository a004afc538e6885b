"""browser.py -- drives headless Chromium over its debugging pipe, with nothing but Python's own library.

    with Browser() as browser:
        page = browser.open('file:///x/report.html', width=390, dark=True)
        page.value('document.title'); page.problems; page.requests; page.shot('x.png')
"""
import base64, json, os, select, shutil, subprocess, tempfile, time

SECONDS = 60


class Browser:
    def __init__(self):
        name = next((n for n in ('chromium', 'chromium-browser', 'google-chrome') if shutil.which(n)), None)
        if not name:
            raise FileNotFoundError('chromium')
        self.home = tempfile.mkdtemp(prefix='motley-browser-')
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        # It reads commands from 3 and writes answers to 4. As root it refuses its sandbox.
        flags = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run', '--disable-dev-shm-usage',
                 '--disable-background-networking', '--disable-component-update', '--remote-debugging-pipe', '--user-data-dir=' + self.home]
        self.process = subprocess.Popen(['bash', '-c', f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}', name, *flags, 'about:blank'],
                                        pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.heard = 0, b'', []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call('Browser.close')
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.home, ignore_errors=True)

    def message(self, until):
        while b'\0' not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise RuntimeError('chromium gave no answer in time')
            more = os.read(self.source, 1 << 16)
            if not more:
                raise RuntimeError('chromium ended')
            self.rest += more
        text, self.rest = self.rest.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.number += 1
        number = self.number
        order = {'id': number, 'method': method, 'params': params}
        if session:
            order['sessionId'] = session
        os.write(self.to, json.dumps(order).encode() + b'\0')
        until = time.monotonic() + SECONDS
        while True:
            answer = self.message(until)
            if answer.get('id') == number:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer['result']
            self.heard.append(answer)

    def wait_for(self, method, session):
        until = time.monotonic() + SECONDS
        while True:
            for i, event in enumerate(self.heard):
                if event.get('method') == method and event.get('sessionId') == session:
                    return self.heard.pop(i)
            self.heard.append(self.message(until))

    def open(self, url, **how):
        return Page(self, url, **how)


class Page:
    def __init__(self, browser, url, width=1280, height=900, dark=False, scripts=True, touch=False):
        self.browser = browser
        self.target = browser.call('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.call('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.call('Emulation.setFocusEmulationEnabled', enabled=True)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        if touch:
            self.call('Emulation.setTouchEmulationEnabled', enabled=True)
        if not scripts:
            self.call('Emulation.setScriptExecutionDisabled', value=True)
        self.url, self.began = url, time.monotonic()
        self.call('Page.navigate', url=url)
        browser.wait_for('Page.loadEventFired', self.session)
        self.loaded_s = time.monotonic() - self.began

    def close(self):
        self.browser.call('Target.closeTarget', targetId=self.target)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(expression + ': ' + json.dumps(result['exceptionDetails'])[:400])
        return result['result'].get('value')

    def events(self, method):
        return [e['params'] for e in self.browser.heard if e.get('sessionId') == self.session and e.get('method') == method]

    @property
    def problems(self):
        found = [e['exceptionDetails'].get('exception', {}).get('description', e['exceptionDetails']['text']) for e in self.events('Runtime.exceptionThrown')]
        found += [json.dumps(e['args']) for e in self.events('Runtime.consoleAPICalled') if e['type'] in ('error', 'warning', 'assert')]
        return found + [e['entry']['text'] for e in self.events('Log.entryAdded') if e['entry']['level'] in ('error', 'warning')]

    @property
    def requests(self):
        """What was asked of anybody, but for the page itself and data: addresses."""
        asked = [e['request']['url'] for e in self.events('Network.requestWillBeSent')]
        return [url for url in asked if url.split('#')[0] != self.url and not url.startswith('data:')]

    def settle(self):
        self.value('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def key(self, key, code=0):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, windowsVirtualKeyCode=code)

    def shot(self, path, clip=None):
        how = {'format': 'png', 'captureBeyondViewport': clip is not None}
        if clip:
            how['clip'] = dict(zip(('x', 'y', 'width', 'height'), clip), scale=1)
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', **how)['data']))
