"""code_checks.py FOLDER -- looks at the pages of coded runs in Chromium. With MOTLEY_SHOTS=DIR it leaves pictures there."""
from page_common import address, box, check, look_at, pages, run, tip

WIDE, NARROW = 1280, 360


def looks(browser):
    for name in pages():
        look_at(browser, name, ((WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True)), lambda page: ['run', 'settings'] + (['code'] if name != 'plain' else []))
    print('ok   every page: no error, no request, all sections, no overflow at 360 and 1280, both themes')


def opened(browser, name):
    page = browser.open(address(name), width=WIDE)
    page.settle()
    return page


def cells(page, kind):
    return page.value(f"document.querySelectorAll('#code-chart .{kind}').length")


def text(page, what):
    return page.value(f"document.getElementById('{what}').innerText")


def matrices(browser):
    page = opened(browser, 'frc')
    check(cells(page, 'heat') == 36 and cells(page, 'badheat') == 0, f'frc: twelve roles of three parts, none negative: {cells(page, "heat")}')
    check(cells(page, 'compute') == 12 and cells(page, 'whisker') == 12, 'frc: for each part what was used and what was foreseen')
    shares = page.value('[gantt.detail.code.used, gantt.detail.code.foreseen]')
    check(max(abs(seen - want) for seen, want in zip(shares[1], [0.488] * 6 + [1] * 6)) < 1e-3, f'frc: foreseen as the paper has it: {shares[1]}')
    check(all(abs(used - seen) < 0.25 for used, seen in zip(*shares)), f'frc: used about as often: {shares[0]}')
    check('exact with any 2 missing' in text(page, 'code-note') and 'Try --method-shuffle random' in text(page, 'code-words'), f'frc: in words: {text(page, "code-words")}')
    x, y, width, height = box(page, '#code-chart .heat')
    page.mouse('mouseMoved', x + width / 2, y + height / 2)
    page.settle()
    check(tip(page) and 'role 0, part 0' in tip(page), f'frc: a cell says what it is: {tip(page)}')
    page.close()
    page = opened(browser, 'crc')
    check(cells(page, 'heat') + cells(page, 'badheat') == 48 and cells(page, 'badheat') > 0, f'crc: four parts a role, some negative: {cells(page, "badheat")}')
    check(cells(page, 'whisker') == 0 and 'red' in text(page, 'code-note'), 'crc: rounds last until they are exact, so no share was foreseen')
    page.close()
    page = opened(browser, 'large')
    size = page.value('[gantt.detail.code.matrix.length, gantt.detail.code.matrix[0].length]')
    check(size == [100, 100] and 'Neighbours' in text(page, 'code-note'), f'large: 150 roles are drawn as 100: {size}')
    page.close()
    page = opened(browser, 'plain')
    check(page.value("document.getElementById('code').hidden"), 'a run without a code shows none')
    page.close()
    print('ok   matrices, shares, words, tips')


run((looks, matrices))
