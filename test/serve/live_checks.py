"""live_checks.py FOLDER MOTLEY -- pages that grow, in Chromium; see test_live_page.sh."""
import os, sys, time
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'), os.path.dirname(os.path.abspath(__file__))]
from page_common import check, folder, run, shots, sound
from watched import UNHURRIED, Watched

motley = sys.argv[2]
SECTIONS = ['table', 'curves', 'settings']
points = "DATA.runs.map(r => r.u ? r.u.length : 0).reduce((a, b) => a + b, 0)"
drawn_length = "(document.querySelector('#curve-chart path.median') || { getAttribute: () => '' }).getAttribute('d').length"
choose = "(() => { const s = document.querySelector('#curve-controls select'); s.value = 'train_loss'; s.dispatchEvent(new Event('change')) })()"
chosen = "curve.metric === 'train_loss' && document.querySelector('#curve-controls select').value === 'train_loss'"


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
    for seconds in 9, 30, 90:  # the looks below are for a run that goes on: a browser that gets no core needs a longer one
        if watch_a_run(browser, seconds, patient=seconds < 90):
            return


def watch_a_run(browser, seconds, patient):
    flags = [*UNHURRIED, '--method', 'async', '--evaluate-every', '200ms', '--out', f'{folder}/run-{seconds}']
    with Watched(motley, 'train', *flags, '--stop-time', f'{seconds}s', '--serve-after', '1h') as motley_run:
        page = visit(browser, motley_run)
        found = [(wait(page, f'{points} >= 3'), 'points arrive without anybody\'s doing')]
        before, length = page.value(points), page.value(drawn_length)
        page.value(choose)
        page.value('window.scrollTo(0, 120)')
        found += [(wait(page, f'{points} >= {before + 5}', seconds), 'the curve grows'),
                  (page.value(drawn_length) > length, 'and is drawn longer'),
                  (page.value(chosen), 'what was chosen stays chosen')]
        page.value("curve.hidden.add(0); drawAgain('another shape', DATA.arms)")  # as if there were more to choose from now
        found += [(page.value(chosen + " && curve.hidden.has(0) && document.querySelector('#curve-legend [aria-pressed=false]') !== null"),
                   'also when the controls are made again')]
        page.value("document.querySelector('#curve-legend button').click()")
        found += [(page.value('window.scrollY') == 120, 'nothing jumps'),
                  ('goes on' in page.value("document.getElementById('live').textContent"), 'it says that the run goes on')]
        if patient and page.value("document.documentElement.dataset.live === 'ended'"):
            page.close()
            return False
        for good, claim in found:
            check(good, claim)
        sound_but_for_its_own(page, 'run-live')
        shot(page, 'run-live', 1280)
        check(wait(page, "document.documentElement.dataset.live === 'ended'", 60 + seconds), 'it says that the run has ended')
        words = page.value("document.getElementById('live').textContent")
        check('The run has ended' in words and 'What it left is in' in words, f'in words: {words}')
        page.close()
        page = visit(browser, motley_run, width=390, dark=True, touch=True)
        sound_but_for_its_own(page, 'run-ended-narrow')
        shot(page, 'run-ended-narrow', 390)
        page.close()
        return True


def a_run_that_is_killed(browser):
    with Watched(motley, 'train', *UNHURRIED, '--stop-time', '60s', '--evaluate-every', '200ms') as motley_run:
        page = visit(browser, motley_run)
        check(wait(page, f'{points} >= 2'), 'a run goes on')
        motley_run.process.kill()
        check(wait(page, "document.documentElement.dataset.live === 'gone'"), 'a run that is gone is said to be gone')
        check('No answer since' in page.value("document.getElementById('live').textContent"), 'in words')
        page.close()


# A run that ends while somebody looks waits until they know, for some seconds. A browser that gets no core for as long
# watches a longer run.
def the_end_is_seen(browser):
    live = 'document.documentElement.dataset.live'
    for seconds in 4, 8, 16, 32, 64:
        with Watched(motley, 'train', *UNHURRIED, '--stop-time', f'{seconds}s', '--evaluate-every', '200ms') as motley_run:
            page = visit(browser, motley_run)
            wait(page, f"{live} === 'ended' || {live} === 'gone'", 60 + seconds)
            seen = page.value(live) == 'ended'
            check(motley_run.process.wait(60) == 0, 'and then motley goes')
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
