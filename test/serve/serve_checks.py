"""serve_checks.py MOTLEY -- the live view of real runs, asked over loopback; see test_serve.sh."""
import filecmp, json, os, re, shutil, signal, socket, subprocess, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from watched import UNHURRIED, Watched, request

motley, failures = sys.argv[1], []
SMALL = ['--data', 'digits', '--model', 'softmax', '--workers', '2']


def check(fact, claim):
    print('ok  ' if fact else 'FAIL', claim)
    if not fact:
        failures.append(claim)


def parse(text):
    """Prometheus' text format, read strictly: {name: (type, [(labels, value)])}."""
    families, family = {}, None
    for line in text.split('\n')[:-1]:
        if line.startswith('# HELP '):
            family = line.split(' ')[2]
            assert family not in families and len(line.split(' ', 3)[3]) > 5, line
        elif line.startswith('# TYPE '):
            _, _, name, kind = line.split(' ')
            assert name == family and kind in ('counter', 'gauge'), line
            assert (kind == 'counter') == name.endswith('_total'), line
            families[name] = (kind, [])
        else:
            match = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)', line)
            assert match and match[1] == family, line
            labels = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)', match[2] or '')
            assert ','.join(f'{k}="{v}"' for k, v in labels) == (match[2] or ''), line
            families[family][1].append((dict(labels), float(match[3])))
    assert text.endswith('\n') and all(samples for _, samples in families.values())
    return families


def paths_and_refusals():
    with Watched(motley, 'train', *UNHURRIED, '--method', 'async', '--stop-time', '20s', '--evaluate-every', '100ms') as run:
        run.until(lambda: run.state()['moment'] > 4)
        code, head, body = run.get('/')
        check(code == 200 and head['content-type'] == 'text/html; charset=utf-8' and b'<title>' in body, 'the page is there')
        check("connect-src 'self'" in body.decode() and head['content-security-policy'] == "frame-ancestors 'none'", 'with its policy')
        check(head['cache-control'] == 'no-store' and head['x-content-type-options'] == 'nosniff', 'and nobody keeps it')
        code, head, first = run.get('/metrics')
        check(head['content-type'].startswith('text/plain; version=0.0.4'), 'metrics say which format they have')
        one = parse(first.decode())
        run.until(lambda: run.state()['moment'] > 12)
        two = parse(run.get('/metrics')[2].decode())
        check(all(two[n][1][0][1] >= one[n][1][0][1] for n in one if one[n][0] == 'counter'), 'counters only grow')
        check(two['motley_updates_total'][1][0][1] > one['motley_updates_total'][1][0][1], 'updates do')
        check(0 <= two['motley_test_accuracy'][1][0][1] <= 1 and two['motley_running'][1][0][1] == 1, 'accuracy is a share')
        busy = two['motley_worker_busy_seconds_total'][1]
        check([labels['worker'] for labels, _ in busy] == ['0', '1'], 'each worker has its time')
        check(all(0 < s <= two['motley_clock_seconds'][1][0][1] for _, s in busy), 'which is within the run\'s')
        check(two['motley_info'][1][0][0]['method'] == 'async', 'it says what runs')
        check(run.get('/healthz')[2] == b'ok\n', 'it is in good health')
        code, head, body = run.get('/metrics', method='HEAD')
        check(code == 200 and body == b'' and int(head['content-length']) > 500, 'HEAD has the head alone')
        for path in ('/x', '/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//', '/metrics/', '/<script>alert(1)</script>'):
            code, _, body = run.get(path)
            check(code == 404 and b'script' not in body and b'passwd' not in body, f'{path} is not found, and not repeated')
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'):
            code, head, _ = run.get('/', method=method, body=b'x' * 10)
            check(code == 405 and head['allow'] == 'GET, HEAD', f'{method} is refused')
        check(run.get('/', host='rebound.example:80')[0] == 403, 'a name of somebody else\'s is refused')
        check(run.get('/', host='localhost:9')[0] == 200, 'a tunnel\'s end is not')
        check(run.raw(b'GET / HTTP/1.1\r\n\r\n')[0] in (400, 403), 'a request without a host is refused')
        check(run.raw(b'nonsense\r\n\r\n')[0] in (0, 400), 'nonsense is refused')
        check(run.raw(b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + b'x' * 100000 + b'\r\n\r\n')[0] in (0, 400, 413, 431), 'long headers are refused')
        check(run.raw(b'GET /' + b'x' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n')[0] in (0, 400, 414, 431), 'and long addresses')
        check(run.state()['state'] == 'running', 'and the run goes on')
        began = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        check(run.process.wait(20) == 130 and time.monotonic() - began < 5, 'Ctrl-C ends it at once')
        check(run.refused(), 'and the port is closed')


def slow_visitors():
    with Watched(motley, 'train', *UNHURRIED, '--method', 'async', '--stop-time', '6s', '--evaluate-every', '100ms') as run:
        began = time.monotonic()
        slow = [socket.socket() for _ in range(100)]
        for visitor in slow: # those for whom there is no room wait to be let in
            visitor.setblocking(False)
            visitor.connect_ex(('127.0.0.1', run.port))
        asking = set()
        while len(asking) < 33 and time.monotonic() < began + 4:
            for visitor in set(slow) - asking:
                try:
                    visitor.send(b'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
                    asking.add(visitor)
                except OSError:
                    time.sleep(0.001)
        check(len(asking) >= 33, f'{len(asking)} visitors have begun to ask, more than it talks to at once')
        memory = run.memory()
        code = run.process.wait(30)
        took = time.monotonic() - began
        check(code == 0 and took < 12, f'a hundred visitors who never finish their request do not hold a run of 6 s up: {took:.1f} s')
        sanitized = os.environ.get('MOTLEY_BUILD', '').endswith(('asan', 'tsan')) # which takes memory of its own
        check(sanitized or memory < 400e6, f'nor do they fill its memory: {memory / 1e6:.0f} MB')
        for visitor in slow:
            visitor.close()


def same(command, kept, *flags):
    """Runs it without and with --serve, visited all the time; whether what it leaves has the same bytes."""
    for name in ('without', 'with'):
        shutil.rmtree('out', ignore_errors=True)
        shutil.rmtree('store', ignore_errors=True)
        if name == 'without':
            subprocess.run([motley, command, *flags, '--out', 'out', '--quiet'], check=True, stdout=subprocess.DEVNULL)
        else:
            with Watched(motley, command, *flags, '--out', 'out', '--quiet') as run:
                run.visit_to_the_end()
                assert run.process.wait(60) == 0
        shutil.rmtree(name, ignore_errors=True)
        os.rename('out', name)
    differ = [f for f in kept if not filecmp.cmp(f'without/{f}', f'with/{f}', shallow=False)]
    check(differ == [], f'{command} leaves the same bytes with and without: {differ}')
    return 'with'


def the_same_results():
    run = ['--data', 'digits', '--workers', '4', '--stop-updates', '300', '--evaluate-every', '10 updates']
    for command, method in (('sim', 'async'), ('train', 'allreduce')):
        folder = same(command, ['model.safetensors', 'experiment.yaml'] + (['metrics.jsonl'] if command == 'sim' else []), *run, '--method', method)
        one, two = (json.load(open(f'{f}/summary.json')) for f in ('without', 'with'))
        check(one['model_hash'] == two['model_hash'], f'{command}: the same model')
    study = ['--data', 'digits', '--model', 'softmax', '--stop-updates', '100', '--evaluate-every', '5 updates', '--methods', 'allreduce,async', '--seeds', '6']
    same('compare', ['study.json', 'table.txt', 'report.html'], *study)


def ends():
    with Watched(motley, 'sim', *SMALL, '--stop-updates', '50', '--out', 'kept', '--serve-after', '1h') as run:
        run.until(lambda: run.state()['state'] == 'ended')
        check(run.state()['words'].endswith('/kept.'), 'a run that has ended says where its results are')
        check(parse(run.get('/metrics')[2].decode())['motley_running'][1][0][1] == 0, 'and to Prometheus that it has')
        check(b'"u":[' in run.get('/')[2], 'and shows its curves')
        run.process.send_signal(signal.SIGINT)
        check(run.process.wait(10) == 0, 'Ctrl-C ends the view, and the run had succeeded')
    with Watched(motley, 'compare', '--data', 'digits', '--model', 'softmax', '--stop-updates', '200', '--methods', 'allreduce,async', '--seeds', '6',
                 '--out', 'study', '--serve-after', '1h') as run:
        run.until(lambda: run.state()['state'] == 'ended')
        page, runs = run.get('/')[2].decode(), parse(run.get('/metrics')[2].decode())['motley_study_runs'][1]
        check('async' in page and 'runs that ended' not in page and '<h2>So far' not in page and page.count('"a":') == 12, 'a study shows its arms and their curves')
        check([v for labels, v in runs if labels['state'] == 'ended'] == [12.0] and runs[0][0]['step'] == 'comparing', 'and counts its runs')
        run.process.send_signal(signal.SIGTERM)
        check(run.process.wait(10) == 0, 'and ends when told to')
    plan = ['plan', '--data', 'digits', '--model', 'softmax', '--workers', '4', '--stop-updates', '200', '--budget', '10min', '--out', 'plan', '--quiet']
    with Watched(motley, *plan) as run:
        run.until(lambda: 'screening' in run.state()['words'] or 'tuning' in run.state()['words'])
        check('they are not compared' in run.until(lambda: (p := run.get('/')[2].decode()) and '<table>' in p and p), 'a plan shows what it tries')
        code = run.process.wait(500)
    check(code == 0, 'and comes to its end')


def a_slow_visitor_sees_the_end():
    for attempt in range(3):  # a machine that holds up the visitor for five more seconds gets another chance
        with Watched(motley, 'train', *UNHURRIED, '--stop-time', '5s', '--evaluate-every', '1s') as run:
            try:
                while not (seen := run.state()['state'] == 'ended'):
                    time.sleep(4.5)
                check(run.get('/')[0] == 200 and run.process.wait(30) == 0, 'when it has seen the page, motley goes')
            except ConnectionRefusedError:
                pass
            if seen:
                break
    check(seen, 'a visitor who looks every 4.5 s sees the end')


def mistakes():
    def fails(code, words, *flags):
        done = subprocess.run([motley, 'sim', '--stop-updates', '1', *flags], capture_output=True, text=True, timeout=60)
        check(done.returncode == code and words in done.stderr, f'{" ".join(flags)}: {done.returncode} {done.stderr.strip()}')
    fails(2, '--serve-anyone allows that', '--serve', '0.0.0.0:0')
    fails(2, 'expected an address and a port', '--serve', 'nowhere')
    fails(2, 'expected --serve ADDRESS', '--serve-anyone')
    fails(2, 'expected --serve ADDRESS', '--serve-after', '1s')
    fails(2, 'expected a time', '--serve', '127.0.0.1:0', '--serve-after', 'long')
    with socket.create_server(('127.0.0.1', 0)) as taken:
        fails(1, 'Address already in use', '--serve', f'127.0.0.1:{taken.getsockname()[1]}')
    with Watched(motley, 'sim', *SMALL, '--stop-updates', '5', '--serve-after', '1h', '--serve-anyone', address='0.0.0.0:0') as run:
        check(run.get('/healthz', host='node7.example')[0] == 200, 'whoever may look may call it by any name')
        run.process.send_signal(signal.SIGINT)


def ranks():
    if not shutil.which('mpirun'):
        return
    with Watched(motley, 'train', '--ranks', '2', *SMALL, '--method', 'async', '--stop-time', '4s', '--evaluate-every', '100ms', '--quiet') as run:
        if run.port is None:
            return check('built without MPI' in run.said, 'over MPI: ' + run.said)
        run.until(lambda: run.state()['moment'] > 3)
        check(parse(run.get('/metrics')[2].decode())['motley_info'][1][0][0]['driver'] == 'mpi', 'over MPI rank 0 serves')
        check(run.process.wait(60) == 0 and run.rest().count('live view') == 0, 'and no other rank')


for part in (paths_and_refusals, slow_visitors, the_same_results, ends, a_slow_visitor_sees_the_end, mistakes, ranks):
    part()
sys.exit(1 if failures else 0)
