"""mixed_checks.py FOLDER -- looks at the pages of decentralised runs in Chromium. With MOTLEY_SHOTS=DIR it leaves pictures there."""
from page_common import address, box, check, look_at, pages, run, tip

WIDE, NARROW = 1280, 360
MIXED = ('ring', 'push', 'drifting', 'damaged')


def looks(browser):
    for name in pages():
        sections = ['run', 'settings'] + (['mixed'] if name in MIXED else []) + ([] if name == 'alone' else ['traffic'])
        look_at(browser, name, ((WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True)), lambda page, sections=sections: sections)
    print('ok   every page: no error, no request, all sections, no overflow at 360 and 1280, both themes')


def opened(browser, name, width=WIDE):
    page = browser.open(address(name), width=width)
    page.settle()
    return page


def count(page, what):
    return page.value(f"document.querySelectorAll('{what}').length")


def text(page, what):
    return page.value(f"document.getElementById('{what}').innerText")


def hidden(page, what):
    return page.value(f"document.getElementById('{what}').hidden")


def apart(browser):
    page = opened(browser, 'ring')
    check(count(page, '#mixed-chart path.median') == 1 and count(page, '#mixed-legend .item') == 1, 'ring: one line, consensus')
    check('mean squared distance' in text(page, 'mixed-note') and 'push-sum' not in text(page, 'mixed-note'), f'ring: in words: {text(page, "mixed-note")}')
    last = page.value('DATA.runs[0].y.consensus.slice(-1)[0]')
    box(page, '#mixed-chart svg')
    page.value("document.querySelector('#mixed-chart svg').focus()")
    page.key('ArrowRight', 39)
    page.settle()
    seen = tip(page)
    check(seen and page.value(f'showPlain({last})') in seen, f'ring: arrow keys tell the last evaluation, {last}: {seen}')
    page.close()
    page = opened(browser, 'drifting')
    check(count(page, '#mixed-chart path.median') == 2, 'drifting: consensus and drift')
    said = text(page, 'mixed-note')
    check('1.25 %' in said and '0.75 times' in said and '1.5 rounds' in said and 'at most 4' in said and '3 segments were' in said, f'drifting: in words: {said}')
    page.close()
    page = opened(browser, 'push')
    check('add up to 1 times' in text(page, 'mixed-note'), f'push: its mass: {text(page, "mixed-note")}')
    page.close()
    for name in ('many', 'alone'):
        page = opened(browser, name)
        check(hidden(page, 'mixed'), f'{name}: one model has no distance')
        page.close()
    print('ok   distances over time, drift, mass, words, tips')


def senders(browser):
    page = opened(browser, 'ring')
    check(count(page, '#traffic-chart .heat') == 16 and '16 of 56 pairs' in text(page, 'traffic-note'), f'ring: two receivers each: {count(page, "#traffic-chart .heat")}')
    check(count(page, '#topology-chart line.edge') == 8 and count(page, '#topology-chart circle') == 8, f'ring: eight workers, each joined to two: {count(page, "#topology-chart line.edge")}')
    x, y, width, height = box(page, '#traffic-chart .heat')
    page.mouse('mouseMoved', x + width / 2, y + height / 2)
    page.settle()
    check(tip(page) and 'from worker 0 to worker 1' in tip(page) and 'messages' in tip(page), f'ring: a cell says what it is: {tip(page)}')
    page.mouse('mouseMoved', x - width / 2, y + height / 2)
    page.settle()
    check(tip(page) and 'nothing' in tip(page), f'ring: a pair without messages says so: {tip(page)}')
    page.value("document.querySelector('#traffic-chart svg').focus()")
    for _ in range(2):
        page.key('ArrowRight', 39)
    page.key('ArrowDown', 40)
    page.settle()
    check(tip(page) and 'from worker 1 to worker 2' in tip(page), f'ring: arrow keys go from cell to cell: {tip(page)}')
    page.close()
    page = opened(browser, 'many')
    said = text(page, 'traffic-note')
    check('201 nodes' in said and 'up to 4 neighbours' in said and 'pairs' not in said, f'many: says that nodes are drawn together: {said}')
    check(page.value('trafficBlocks(gantt.detail).length') == 51, 'many: fifty rows of workers and one of the server')
    x, y, width, height = box(page, '#traffic-chart .heat')
    page.mouse('mouseMoved', x + width / 2, y + height / 2)
    page.settle()
    check(tip(page) and 'from workers 0–3 to server' in tip(page), f'many: a cell names all it stands for: {tip(page)}')
    page.close()
    page = opened(browser, 'alone')
    check(hidden(page, 'traffic'), 'alone: nothing was sent, nothing is drawn')
    page.close()
    page = opened(browser, 'damaged')
    check(count(page, '#traffic-chart .heat') == 1, f'damaged: only the pair that can be: {count(page, "#traffic-chart .heat")}')
    page.close()
    print('ok   senders and receivers, few and many, pointer and keys')


run((looks, apart, senders))
