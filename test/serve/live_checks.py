"""live_checks.py FOLDER MOTLEY -- pages that grow, in Chromium; see test_live_page.sh."""
import os, sys, time
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'), os.path.dirname(os.path.abspath(__file__))]
from page_common import check, folder, run, shots, sound
from watched import Watched

motley = sys.argv[2]
SECTIONS = ['table', 'curves', 'settings']
points = "DATA.runs.map(r => r.u ? r.u.length : 0).reduce((a, b) => a + b, 0)"
drawn_length = "(document.querySelector('#curve-chart path.median') || { getAttribute: () => '' }).getAttribute('d').length"


def wait(page, fact, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := page.value(fact):
            return value
        time.sleep(0.1)
    return None


def shot(page, name, width):
    if shots:
        page.shot(os.path.join(shots, name + '.png'), (0, 0, width, page.value('document.documentElement.scrollHeight')))


def visit(browser, motley_run, **how):
    page = browser.open(f'http://127.0.0.1:{motley_run.port}/', **how)
    page.root = f'http://127.0.0.1:{motley_run.port}/'
    return page


def sound_but_for_its_own(page, name):
    """As any page; what it asks of its own motley is no request."""
    asked = [url for url in page.requests if not url.startswith(page.root)]
    check(asked == [], f'{name}: nothing is asked of anybody else: {asked[:3]}')
    page.browser.heard[:] = [e for e in page.browser.heard if e.get('method') != 'Network.requestWillBeSent']
    page.call('Network.disable')
    page.browser.heard[:] = [e for e in page.browser.heard if e.get('method') != 'Network.requestWillBeSent']
    sound(page, name, SECTIONS)


def a_run(browser):
    flags = ['--data', 'digits', '--model', 'softmax', '--workers', '2', '--method', 'async', '--evaluate-every', '200ms', '--out', folder + '/run']
    with Watched(motley, 'train', *flags, '--stop-time', '9s', '--serve-after', '1h') as motley_run:
        page = visit(browser, motley_run)
        check(wait(page, f'{points} >= 3'), 'points arrive without anybody\'s doing')
        before, length = page.value(points), page.value(drawn_length)
        page.value("(() => { const s = document.querySelector('#curve-controls select'); s.value = 'train_loss'; s.dispatchEvent(new Event('change')) })()")
        page.value("window.scrollTo(0, 120); document.querySelector('#curves').dataset.same = 'yes'; document.querySelector('#curve-controls select').dataset.same = 'yes'")
        check(wait(page, f'{points} >= {before + 5}'), 'the curve grows')
        check(page.value(drawn_length) > length, 'and is drawn longer')
        check(page.value("document.querySelector('#curve-controls select').dataset.same === 'yes' && curve.metric === 'train_loss'"), 'what was chosen stays chosen')
        check(page.value('window.scrollY') == 120, 'nothing jumps')
        check('goes on' in page.value("document.getElementById('live').textContent"), 'it says that the run goes on')
        sound_but_for_its_own(page, 'run-live')
        shot(page, 'run-live', 1280)
        check(wait(page, "document.documentElement.dataset.live === 'ended'"), 'it says that the run has ended')
        words = page.value("document.getElementById('live').textContent")
        check('The run has ended' in words and 'What it left is in' in words, f'in words: {words}')
        page.close()
        page = visit(browser, motley_run, width=390, dark=True, touch=True)
        sound_but_for_its_own(page, 'run-ended-narrow')
        shot(page, 'run-ended-narrow', 390)
        page.close()


def a_run_that_is_killed(browser):
    with Watched(motley, 'train', '--data', 'digits', '--model', 'softmax', '--workers', '2', '--stop-time', '60s', '--evaluate-every', '200ms') as motley_run:
        page = visit(browser, motley_run)
        check(wait(page, f'{points} >= 2'), 'a run goes on')
        motley_run.process.kill()
        check(wait(page, "document.documentElement.dataset.live === 'gone'"), 'a run that is gone is said to be gone')
        check('No answer since' in page.value("document.getElementById('live').textContent"), 'in words')
        page.close()


# A run that ends while somebody looks waits until they know, for 1.5 s: a browser that gets no core for as long looks once more.
def the_end_is_seen(browser):
    live = 'document.documentElement.dataset.live'
    for _ in range(5):
        with Watched(motley, 'train', '--data', 'digits', '--model', 'softmax', '--workers', '2', '--stop-time', '4s', '--evaluate-every', '200ms') as motley_run:
            page = visit(browser, motley_run)
            wait(page, f"{live} === 'ended' || {live} === 'gone'")
            seen = page.value(live) == 'ended'
            check(motley_run.process.wait(10) == 0, 'and then motley goes')
            page.close()
        if seen:
            break
    check(seen, 'whoever looks sees the end')


def a_study(browser):
    with open(folder + '/study.yaml', 'w') as file:
        file.write('data: digits\nmodel: softmax\nbatch: 16\nworkers: 4\nevaluate: {every: 20 updates}\nstop: {updates: 3000}\n'
                   'compare:\n  - allreduce\n  - {label: \'</script><img src=x onerror="window.hurt=1">\', method: {name: server, k: 3}}\n  - async\n')
    with Watched(motley, 'compare', folder + '/study.yaml', '--seeds', '8', '--jobs', '1', '--out', folder + '/study', '--serve-after', '1h') as motley_run:
        page = visit(browser, motley_run)
        check(wait(page, 'DATA.runs && DATA.runs.length >= 2'), 'runs of a study arrive')
        seen = page.value('DATA.runs.length')
        shot(page, 'study-live', 1280)
        # on a fast machine all 24 may be there before the picture is taken
        check(wait(page, f'DATA.runs.length > {seen} || DATA.runs.length === 24'), 'and more of them')
        check(wait(page, "document.documentElement.dataset.live === 'ended'", 120), 'until the study has ended')
        check(page.value('DATA.runs.length') == 24, 'with all runs')
        check(page.value('window.hurt === undefined') and page.value("document.querySelector('#table').innerText.includes('<img src=x')"), 'names are text')
        sound_but_for_its_own(page, 'study-ended')
        shot(page, 'study-ended', 1280)
        page.close()


run([a_run, a_run_that_is_killed, the_end_is_seen, a_study])
