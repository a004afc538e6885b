"""page_checks.py FOLDER -- looks at FOLDER/*.html in Chromium as people do: wide and narrow, light and dark, with the pointer, by
touch, by keyboard, on paper and without scripts. With MOTLEY_SHOTS=DIR it leaves pictures there."""
import os
from page_common import address, box as box_on, check, finger_shows, look_at, pages, run, seen_without_scripts, shots, sound, switch_makes_dark, tip as tip_on

SECTIONS = ['table', 'curves', 'run', 'settings', 'repeat']


def sections(page):
    """Those that have something to show; the others must not be there."""
    more = {'tuning': 'DATA.tuning.length', 'target': 'DATA.targets.some(Boolean)', 'staleness': 'DATA.cells.some(c => c.mean !== null)',
            'timelines': 'DATA.arms.length > 1 && DATA.details.length > 1'}
    there = [name for name, shown in more.items() if page.value(shown)]
    for name in more.keys() - set(there):
        check(page.value(f"document.getElementById('{name}')") is None, f'a page without {name} has no section for it')
    return SECTIONS + there


def looks(browser):
    for name in pages():
        look_at(browser, name, ((1280, False), (1280, True), (390, False), (360, True), (320, False)) if name == 'study' else ((1280, True), (360, False)), sections)
    print('ok   every page: no error, no request, all sections, no overflow at 320, 360, 390 and 1280, both themes')


def use(browser):
    page = browser.open(address('study'))
    page.settle()
    box, tip = lambda what: box_on(page, what), lambda: tip_on(page)
    x, y, width, height = box('#curve-chart svg')
    page.mouse('mouseMoved', x + width * 0.1, y + height / 2)
    page.settle()
    arms = page.value('DATA.arms')
    check(tip() and all(arm in tip() for arm in arms[:1]) and 'Time' in tip(), f'values under the pointer: {tip()}')
    if shots:
        page.shot(os.path.join(shots, 'pointer.png'))
    page.mouse('mouseMoved', 2, 2)
    page.settle()
    check(tip() is None, 'they go with the pointer')
    # The chart has the table's digits, and its numbers stand at the ends of the bars.
    bars = page.value("[...document.querySelectorAll('#target-chart text')].map(t => t.firstChild ? t.firstChild.data : '').filter(t => / m?s$/.test(t))")
    table = page.value("document.querySelector('#table table').innerText")
    check(len(bars) == len(arms) and all(b.replace('> ', '') in table for b in bars), f'bars and table show the same digits: {bars}')
    ends = page.value("[...document.querySelectorAll('#target-chart .fillbar')].map(b => b.getBBox().x + b.getBBox().width)")
    starts = page.value("[...document.querySelectorAll('#target-chart text')].filter(t => t.firstChild && / m?s$/.test(t.firstChild.data)).map(t => t.getBBox().x)")
    check(len(ends) == len(starts) and all(0 < s - e < 14 for s, e in zip(starts, ends)), f'a number stands at the end of its bar: {ends} {starts}')
    crossed = page.value("[document.querySelectorAll('#curve-chart .crossing').length, DATA.cells.filter(c => c.tt && c.tt.median !== null).length]")
    check(crossed[0] == crossed[1] > 0, f'each arm that reaches the target is marked where it crosses it: {crossed}')
    # Two that cross it together, at the end of the axis: both show, and nothing cuts them in half.
    discs = page.value("""(() => { const cells = DATA.cells.filter(c => c.c === 0 && c.tt), kept = cells.map(c => c.tt.median), host = document.getElementById('curve-chart');
        const end = Math.max(...DATA.runs.filter(r => r.c === 0 && r.t).map(r => r.t[r.t.length - 1]));
        curve.band = 'seeds'; cells.forEach(c => { c.tt.median = end }); paintCurves(host, host.clientWidth);
        const found = [...host.querySelectorAll('.crossing circle')].map(c => [Number(c.getAttribute('r')), c.closest('[clip-path]') === null]);
        cells.forEach((c, i) => { c.tt.median = kept[i] }); curve.band = 'quartiles'; paintCurves(host, host.clientWidth);
        return found })()""")
    sizes = [size for size, _ in discs]
    check(len(sizes) == len(arms) and len(set(sizes)) == len(sizes) and sizes == sorted(sizes, reverse=True), f'arms that cross the target together are rings around each other: {discs}')
    check(all(whole for _, whole in discs), f'a crossing at the end of the axis is a whole disc: {discs}')
    # One seed that ended early must not undo the cut of the steep part.
    ranges = page.value("""(() => { const line = n => Array.from({ length: n }, (_, i) => [i / (n - 1), i ? 0.94 + 0.01 * i / n : 0.1]);
        const of = (...counts) => rangeBeyondStart([{ lines: counts.map(line) }], 0, 1);
        return [of(40, 40, 40, 40, 3), of(3, 3, 3, 40)] })()""")
    check(ranges[0] and ranges[0][0] > 0.9, f'a curve whose other seeds have many points is cut: {ranges}')
    check(ranges[1] is None, f'curves of few points are drawn whole: {ranges}')
    goal = page.value("""(() => { const kept = DATA.targets[0]; DATA.targets[0] = { kind: curve.metric, value: 0.99 };
        const range = rangeBeyondStart([{ lines: [Array.from({ length: 200 }, (_, i) => [i / 199, i ? 0.94 : 0.1])] }], 0, 1); DATA.targets[0] = kept; return range })()""")
    check(goal[1] == 0.99, f'the target is within the axis, even above all curves: {goal}')
    # Timelines: all arms, the best first, on one axis; how much of the runs they show.
    shown = page.value("[lines.list.map(one => one.arm), DATA.order[0], document.querySelectorAll('#timelines-chart svg').length]")
    check(shown[0] == shown[1] and shown[2] == 1, f'a timeline for each arm, in the order of the answer: {shown}')
    best = page.value("DATA.cells.filter(c => c.tt && c.tt.median !== null).sort((p, q) => p.tt.median - q.tt.median)[0].a")
    check(shown[0][0] == best, f'the winner comes first: {shown[0]} {best}')
    check(page.value("document.getElementById('timelines-note').textContent").startswith('The first '), 'it says how much of the runs is shown')
    words = page.value("""(() => { const kept = lines.to, note = document.getElementById('timelines-note'); lines.to = Math.max(...lines.list.map(one => one.detail.time));
        describeTimelines(); const words = note.textContent; lines.to = kept; describeTimelines(); return words })()""")
    check(words.startswith('The whole of runs that last '), f'and when all of them is: {words}')
    # Long texts at the ends of the longest bars, and a last label right at the end of an axis, are within the picture.
    fits = page.value("""(() => { const cell = DATA.cells.find(c => c.c === 0), kept = { ...cell }, bars = document.getElementById('target-chart'), rows = document.getElementById('timelines-chart'), to = lines.to;
        const out = host => [...host.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > host.getBoundingClientRect().right + 0.5).map(t => t.textContent);
        Object.assign(cell, { tt: { ...cell.tt, median: null, low: null, high: null, beyond: 100 }, runs: 10, reached: 0 });
        paintTarget(bars, bars.clientWidth);
        const found = [bars.textContent.includes('10 of 10 never'), out(bars)];
        Object.assign(cell, kept); paintTarget(bars, bars.clientWidth);
        for (const end of [0.2, 1000]) { lines.to = end; paintTimelines(rows, rows.clientWidth); found.push(out(rows)); }
        lines.to = to; paintTimelines(rows, rows.clientWidth);
        return found })()""")
    check(fits == [True, [], [], []], f'no text at the end of a bar or an axis is cut off: {fits}')
    facts = page.value("""(() => { const one = lines.list[0], run = DATA.runs[one.detail.run], before = lineFacts(one); run.re = true; const after = lineFacts(one); delete run.re; return [before, after] })()""")
    check('computing' in facts[0] and 'to the target' in facts[1] and 'computing' not in facts[1], f'of a run that went on past the target it does not claim how busy the workers were: {facts}')
    advice = page.value("""(() => { const detail = DATA.details.find(d => d.timeline), was = detail.timeline.cut, place = DATA.details.slice().sort((p, q) => p.run - q.run).indexOf(detail), note = document.getElementById('gantt-note');
        const choose = () => { const s = document.querySelector('#run-controls select'); s.value = place; s.dispatchEvent(new Event('change')); return note.textContent };
        detail.timeline.cut = true; const without = choose(); detail.trace = true; const traced = choose(); delete detail.trace; detail.timeline.cut = was; choose();
        return [without, traced] })()""")
    check('With trace: true a run also writes trace.json' in advice[0], f'what has the rest of a cut timeline: {advice}')
    check('With trace' not in advice[1] and 'trace.json' in advice[1], f'who has traced the run is not told to: {advice}')
    lost = page.value("""(() => { const th = document.querySelector('#table tbody th'), style = getComputedStyle(th); return [getComputedStyle(th.closest('table')).borderCollapse, style.position] })()""")
    check(lost == ['separate', 'sticky'], f'a first column that stays in place keeps its own lines: {lost}')
    before = page.value('lines.to')
    page.value("[...document.querySelectorAll('#timelines-controls button')].find(b => b.textContent === '+').click()")
    check(page.value('lines.to') < 0.6 * before, 'and looks closer')
    # Each metric against each axis, on each scale, with each band: nothing breaks, and the picture changes.
    seen = page.value("""(() => {
        const [metric, axis] = document.querySelectorAll('#curve-controls select'), seen = new Set(), boxes = document.querySelectorAll('#curve-controls input');
        const set = (control, value) => { control.value = value; control.dispatchEvent(new Event('change')); };
        for (const m of [...metric.options].map(o => o.value)) for (const a of ['t', 'u', 'b']) for (const log of [0, 1, 2, 3]) {
            set(metric, m); set(axis, a);
            boxes.forEach((b, i) => { b.checked = Boolean(log >> i & 1); b.dispatchEvent(new Event('change')); });
            const shapes = document.querySelector('#curve-chart svg').innerHTML.replace(/clip\\d+/g, '');
            if (/NaN|undefined|Infinity/.test(shapes)) return m + ' ' + a + ' ' + log;
            seen.add(shapes);
        }
        return [seen.size, metric.options.length * 12];
    })()""")
    check(isinstance(seen, list) and seen[0] == seen[1], f'every choice of curves draws its own picture: {seen}')
    x, y, width, height = box('#gantt-chart svg')
    before = page.value('[gantt.from, gantt.to]')
    page.mouse('mousePressed', x + width * 0.5, y + 10, button='left', clickCount=1)
    page.mouse('mouseMoved', x + width * 0.7, y + 10, button='left')
    page.mouse('mouseReleased', x + width * 0.7, y + 10, button='left', clickCount=1)
    page.settle()
    after = page.value('[gantt.from, gantt.to]')
    check(after[1] - after[0] < 0.4 * (before[1] - before[0]), f'dragging across the timeline looks closer: {before} {after}')
    page.value("document.querySelector('#gantt-controls button:last-of-type').click()")
    check(page.value('gantt.to - gantt.from >= (gantt.detail.timeline.until - gantt.detail.timeline.from) * 0.999'), 'and a button shows the whole again')
    shares = page.value("""gantt.detail.timeline.node.map((node, i) => { const t = gantt.detail.timeline, s = gantt.spans[i].filter(s => s[0] === 'compute');
        return s.reduce((sum, [, a, b]) => sum + b - a, 0) / (t.until - t.from) })""")
    check(max(shares) <= 1.05 and max(shares) > 0.3, f'a node computes for no longer than the timeline lasts: {shares}')
    page.value("(() => { const s = document.querySelector('#run-controls select'); s.value = s.options.length - 1; s.dispatchEvent(new Event('change')) })()")
    sound(page, 'another run', sections(page))
    # By keyboard; the pointer is elsewhere.
    page.mouse('mouseMoved', 2, 2)
    page.value("document.querySelector('#curve-chart svg').focus()")
    page.key('ArrowRight', 39)
    page.settle()
    check(tip() is not None, 'arrow keys move along the curves')
    # The switch beats the system, and stays.
    switch_makes_dark(page)
    print('ok   pointer, drag, keyboard, every curve, another run, the switch of themes')


def touch(browser):
    page = browser.open(address('study'), width=390, height=800, touch=True)
    page.settle()
    x, y, width, height = box_on(page, '#curve-chart svg')
    finger_shows(page, x + width * 0.4, y + height / 2, 'a finger shows the values, within the window')
    print('ok   touch')


def without_scripts(browser):
    seen, words = seen_without_scripts(browser, 'study')
    check('Results' in seen and 'async' in seen and 'Do it again' in seen and 'need JavaScript' in seen, 'without scripts the answer, the tables and the command are there')
    check('One run' not in seen and 'One run' in words, 'and nothing that would stay empty')
    print('ok   without scripts')


def on_paper(browser):
    page = browser.open(address('study'), dark=True)
    page.settle()
    pdf = page.call('Page.printToPDF', printBackground=True)['data']
    check(len(pdf) > 20000, f'it prints: {len(pdf)} bytes')
    page.call('Emulation.setEmulatedMedia', media='print', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    check(page.value('getComputedStyle(document.body).backgroundColor') == 'rgb(255, 255, 255)', 'in black on white')
    check(page.value("getComputedStyle(document.getElementById('curve-controls')).display") == 'none', 'without the switches')
    page.close()
    print('ok   on paper')


def wicked(browser):
    page = browser.open(address('wicked'))
    page.settle()
    check(page.value('document.images.length') == 0 and page.value('document.scripts.length') == 2, 'a name that is HTML stays a name')
    check(page.value('document.title').startswith('<img src=x'), 'and a title too')
    check(page.value("document.querySelector('#table tbody tr:nth-child(2) th').innerText.trim()") == page.value('DATA.arms[1]') == '</script><img src=x onerror="window.hurt=1">', 'it is shown as it is')
    check(page.value('window.hurt') is None, 'and does nothing')
    page.close()
    print('ok   wicked names')


# ---- Colours: told apart by eyes of every kind, and seen against their background ---------------------------------

def linear(colour):
    return [((v / 255 + 0.055) / 1.055) ** 2.4 if v > 10.3 else v / 255 / 12.92 for v in (int(colour[i:i + 2], 16) for i in (1, 3, 5))]


# Full dichromacy in linear RGB, after Machado, Oliveira and Fernandes 2009.
EYES = {
    'all cones': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    'no red cones': [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    'no green cones': [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    'no blue cones': [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def oklab(rgb):
    r, g, b = (max(0, v) for v in rgb)
    l, m, s = (v ** (1 / 3) for v in (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
                                      0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b))
    return (0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s)


def colours(browser):
    for dark in (False, True):
        page = browser.open(address('study'), dark=dark)
        value = lambda name: page.value(f"getComputedStyle(document.documentElement).getPropertyValue('{name}').trim()")
        luminance = lambda colour: sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(colour)))
        contrast = lambda a, b: (max(luminance(a), luminance(b)) + 0.05) / (min(luminance(a), luminance(b)) + 0.05)
        back, arms = value('--back'), [value(f'--arm{i}') for i in range(8)]
        for name, least in [('--text', 7), ('--soft', 4.5), ('--bad', 4.5), ('--good', 4.5), ('--accent', 4.5)] + [(f'--arm{i}', 3) for i in range(8)]:
            check(contrast(value(name), back) >= least, f"{'dark' if dark else 'light'}: {name} has a contrast of {contrast(value(name), back):.2f}, expected {least}")
        for eye, matrix in EYES.items():
            seen = [oklab([sum(w * v for w, v in zip(row, linear(colour))) for row in matrix]) for colour in arms]
            for count, least in ((4, 0.12), (8, 0.07)):
                near = min((sum((p - q) ** 2 for p, q in zip(seen[i], seen[k])) ** 0.5, i, k) for i in range(count) for k in range(i))
                check(near[0] >= least, f"{'dark' if dark else 'light'}, {eye}: arms {near[2]} and {near[1]} of {count} are {near[0]:.3f} apart, expected {least}")
        page.close()
    print('ok   colours: contrast, and eight arms told apart with any two kinds of cones')


run((looks, use, touch, without_scripts, on_paper, wicked, colours))
