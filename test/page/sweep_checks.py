"""sweep_checks.py FOLDER -- looks at the pages of studies that sweep a number. With MOTLEY_SHOTS=DIR it leaves pictures there."""
from page_common import address, box, check, finger_shows, look_at, pages, run, tip

WIDE, NARROW = 1280, 360
SWEPT = ('wide', 'two')


def opened(browser, name, **how):
    page = browser.open(address(name), **how)
    page.settle()
    return page


def count(page, what):
    return page.value(f"document.querySelectorAll('{what}').length")


def looks(browser):
    for name in pages():
        sections = ['settings'] + (['sweep'] if name in SWEPT else [])
        look_at(browser, name, ((WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True)), lambda page, sections=sections: sections)
    for name in pages():
        page = opened(browser, name)
        check((count(page, '#sweep') == 1) == (name in SWEPT), f'{name}: a section of its own only where a number was swept')
        page.close()
    print('ok   every page: no error, no request, all sections, no overflow at 360 and 1280, both themes')


def drawn(browser):
    page = opened(browser, 'wide')
    check(count(page, '#sweep-chart path.median') == 3 and count(page, '#sweep-chart path.mark') == 15, f'wide: a line for each arm, a mark for each value: {count(page, "#sweep-chart path.mark")}')
    ticks = page.value("[...document.querySelectorAll('#sweep-chart text.tick[text-anchor=middle]')].map(t => t.textContent)")
    check(ticks == ['2', '4', '8', '16', '32'], f'wide: the swept values below: {ticks}')
    places = page.value("[...document.querySelectorAll('#sweep-chart text.tick[text-anchor=middle]')].map(t => Number(t.getAttribute('x')))")
    steps = [b - a for a, b in zip(places, places[1:])]
    check(max(steps) - min(steps) < 1, f'wide: factors of two are equally far apart: {steps}')
    check(page.value('sweep.figure') == page.value('DATA.swept.by'), 'wide: the figure that judges is drawn first')
    page.value("(() => { const s = document.querySelector('#sweep-controls select'); s.value = 'time'; s.dispatchEvent(new Event('change')) })()")
    page.settle()
    check(count(page, '#sweep-chart path.interval') > 5, f'wide: four seeds have intervals: {count(page, "#sweep-chart path.interval")}')
    # What is drawn is what the document says: the last mark of the first arm, read back from the picture.
    far = page.value("""(() => { const g = document.querySelector('#sweep-chart g.k0'), marks = [...g.querySelectorAll('.mark')], at = Number(marks[4].getAttribute('transform').match(/,([\\d.]+)/)[1]);
        const ticks = [...document.querySelectorAll('#sweep-chart text.tick[text-anchor=end]')].map(t => [Number(t.textContent), Number(t.getAttribute('y')) - 4]), [a, b] = [ticks[0], ticks[ticks.length - 1]];
        return [a[0] + (at - a[1]) / (b[1] - a[1]) * (b[0] - a[0]), DATA.swept.cells.find(c => c.a === 0 && c.c === 4).f.time[0] / axisUnit('time', Math.max(...DATA.swept.cells.map(c => c.f.time[2]))).by] })()""")
    check(abs(far[0] - far[1]) < 0.02 * far[1], f'wide: the mark stands where its median is: {far}')
    box(page, '#sweep-chart svg')
    page.value("document.querySelector('#sweep-chart svg').focus()")
    page.key('ArrowRight', 39)
    page.key('ArrowRight', 39)
    page.settle()
    check(tip(page) and 'cluster.workers.all.count 4' in tip(page) and 'allreduce' in tip(page) and '[' in tip(page), f'wide: arrow keys tell median and interval: {tip(page)}')
    page.value("document.querySelector('#sweep-legend button').click()")
    page.settle()
    check(count(page, '#sweep-chart path.median') == 2, 'wide: an arm can be switched off')
    page.close()
    page = opened(browser, 'wide', width=390, touch=True)
    x, y, width, height = box(page, '#sweep-chart svg')
    finger_shows(page, x + width - 30, y + height / 2, 'wide: a finger shows the values')
    print('ok   lines, marks, intervals, ticks, keys, legend, touch')


def chosen(browser):
    page = opened(browser, 'two')
    check(page.value('sweep.key') == 'batch', f'two: the first swept number is below: {page.value("sweep.key")}')
    labels = page.value("[...document.querySelectorAll('#sweep-controls label')].map(l => l.firstChild.textContent)")
    check('against' in labels and 'with' in labels, f'two: the key and the rest can be chosen: {labels}')
    choose = "(() => {{ const s = [...document.querySelectorAll('#sweep-controls label')].find(l => l.firstChild.textContent === '{}').querySelector('select'); s.value = '{}'; s.dispatchEvent(new Event('change')) }})()"
    page.value(choose.format('against', 'cluster.network.latency'))
    page.settle()
    ticks = page.value("[...document.querySelectorAll('#sweep-chart text.tick[text-anchor=middle]')].map(t => t.textContent)")
    check(ticks == ['100us', '1ms', '10ms'] and page.value('sweep.logX'), f'two: values with units in order, on a log axis: {ticks}')
    check(page.value('sweep.rest') == 'batch=8', f'two: with the first of the rest: {page.value("sweep.rest")}')
    page.value(choose.format('with', 'batch=16'))
    page.settle()
    check(page.value('sweepArms()[0].points.every(p => DATA.swept.conditions[p.c].batch == 16)'), 'two: only points with what was chosen')
    page.close()
    print('ok   two swept keys, values with units')


run((looks, drawn, chosen))
