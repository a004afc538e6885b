"""partition_checks.py FOLDER -- looks at FOLDER/*.html, pages of partitions, in Chromium; with MOTLEY_SHOTS=DIR it leaves pictures."""
import os
from page_common import address, box, check, finger_shows, look_at, pages, run, seen_without_scripts, shots, switch_makes_dark, tip

ALL = ((1280, False), (1280, True), (390, False), (360, True), (320, False))


def looks(browser):
    for name in pages():
        look_at(browser, name, ALL if name in ('good', 'bad') else ((1280, True), (360, False)), lambda page: ['distance', 'counts', 'workers', 'figures', 'use', 'repeat'])
    print('ok   every page: no error, no request, all sections, no overflow at 320, 360, 390 and 1280, both themes')


def figures(browser):
    """What is drawn is what partition.json says."""
    page = browser.open(address('bad'))
    page.settle()
    texts = lambda chart: page.value(f"[...document.querySelectorAll('#{chart} svg text[pointer-events]')].map(t => t.textContent)")
    drawn, counted = texts('distance-chart'), texts('counts-chart')
    data = page.value('DATA')
    check(drawn == [f'{r:.2f}' for w in data['workers'] for r in w['ratio']], f'every ratio is in its cell: {drawn[:4]}')
    check(counted == [str(n) for w in data['workers'] for n in w['count']], f'and every count: {counted[:4]}')
    red = page.value("document.querySelectorAll('#distance-chart .badheat').length")
    above = sum(r > 1 for w in data['workers'] for r in w['ratio'])
    check(red == above > 0, f'{red} cells are marked, {above} are above 1')
    check(f'{above} of 40 blocks' in page.value("document.querySelector('.answer').innerText"), 'and the answer counts them')
    page.close()
    page = browser.open(address('good'))
    page.settle()
    check(page.value("document.querySelectorAll('#distance-chart .badheat').length") == 0, 'of herding none is')
    check('Every worker’s rows represent their class better than random rows would' in page.value("document.querySelector('.answer').innerText"), 'and the answer says so')
    page.close()
    page = browser.open(address('many'))
    page.settle()
    drawn = page.value("DATA.workers.length")
    check(drawn == 120 and '120 of 150 workers' in page.value("document.getElementById('distance-note').innerText"), f'of many workers some are drawn, and it is said: {drawn}')
    worst = page.value("Math.max(...DATA.workers.flatMap(w => w.ratio))")
    check(f'{worst:.2f} at worst' in page.value("document.querySelector('.answer').innerText"), 'the worst among them')
    page.close()
    print('ok   what is drawn is what was measured')


def use(browser):
    page = browser.open(address('bad'))
    page.settle()
    x, y, width, height = box(page, '#distance-chart svg')
    page.mouse('mouseMoved', x + 150, y + 34)
    page.settle()
    check(tip(page) and 'worker 0, class 0' in tip(page) and 'ratio' in tip(page), f'figures under the pointer: {tip(page)}')
    if shots:
        page.shot(os.path.join(shots, 'partition-pointer.png'))
    page.mouse('mouseMoved', 2, 2)
    page.settle()
    check(tip(page) is None, 'they go with the pointer')
    first = lambda: page.value("document.querySelector('#distance-chart svg text[text-anchor=end]:not(.tick)').textContent")
    before = first()
    page.value("(() => { const s = document.querySelector('#distance-controls select'); s.value = 'worst'; s.dispatchEvent(new Event('change')) })()")
    page.settle()
    worst = page.value("DATA.workers.map(w => [Math.max(...w.ratio), w.id]).sort((a, b) => b[0] - a[0])[0][1]")
    check(before == 'worker 0' and first() == f'worker {worst}', f'the worst worker comes first when asked: {before}, {first()}')
    switch_makes_dark(page)
    page = browser.open(address('bad'), width=390, height=800, touch=True)
    page.settle()
    x, y, width, height = box(page, '#distance-chart svg')
    finger_shows(page, x + 120, y + 34, 'a finger shows the figures, within the window')
    print('ok   pointer, touch, the order of workers, the switch of themes')


def without_scripts(browser):
    seen, words = seen_without_scripts(browser, 'bad')
    check('represent their class worse' in seen and 'Workers' in seen and 'facility location' in seen and 'Do it again' in seen and 'need JavaScript' in seen, 'without scripts the answer, the table, the figures and the command are there')
    check('Rows per class' not in seen and 'Rows per class' in words, 'and nothing that would stay empty')
    print('ok   without scripts')


def on_paper(browser):
    page = browser.open(address('bad'), dark=True)
    page.settle()
    check(len(page.call('Page.printToPDF', printBackground=True)['data']) > 20000, 'it prints')
    page.call('Emulation.setEmulatedMedia', media='print', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    check(page.value('getComputedStyle(document.body).backgroundColor') == 'rgb(255, 255, 255)', 'in black on white')
    page.close()
    print('ok   on paper')


def wicked(browser):
    page = browser.open(address('wicked'))
    page.settle()
    check(page.value('document.images.length') == 0 and page.value('document.scripts.length') == 2 and page.value('window.hurt') is None, 'names that are HTML do nothing')
    check(page.value('DATA.classes[0]') == '</script><img src=x onerror=window.hurt=1>', f"a class is called what it is called: {page.value('DATA.classes')}")
    check('<img src=x' in page.value("document.querySelector('h1').innerText"), 'and a file')
    page.close()
    print('ok   wicked names')


run((looks, figures, use, without_scripts, on_paper, wicked))
