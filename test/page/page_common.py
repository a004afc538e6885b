"""page_common.py -- what every page of motley's is held to, whatever it shows."""
import os, re, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

folder = os.path.abspath(sys.argv[1])
shots = os.environ.get('MOTLEY_SHOTS')
failures = []


def check(fact, claim):
    if not fact:
        print('FAIL', claim)
        failures.append(claim)


def address(name):
    return 'file://' + os.path.join(folder, name + '.html')


def pages():
    return sorted(f[:-5] for f in os.listdir(folder) if f.endswith('.html'))


def sound(page, name, sections):
    """What holds however it is looked at."""
    page.settle()
    check(page.problems == [], f'{name}: no error on the console: {page.problems[:3]}')
    check(page.requests == [], f'{name}: nothing is asked of a network: {page.requests[:3]}')
    check(page.value('document.documentElement.dataset.drawn') == 'yes', f'{name}: the scripts ran to their end')
    wide = page.value('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')
    check(wide[0] <= wide[1], f'{name}: the page is {wide[0]} wide in a window of {wide[1]}')
    for section in sections:
        size = page.value(f"(() => {{ const s = document.getElementById('{section}'); return s ? [s.offsetHeight, s.innerText.trim().length] : null }})()")
        check(size and size[0] > 60 and size[1] > 20, f'{name}: section {section} is there and not empty: {size}')
    unnamed = page.value("[...document.querySelectorAll('select, input, button')].filter(c => !(c.labels && c.labels.length) && !c.textContent.trim() && !c.ariaLabel).length")
    check(unnamed == 0, f'{name}: {unnamed} controls without a name')
    unreachable = page.value("[...document.querySelectorAll('select, input, button, summary, .scroll, #curve-chart svg')].filter(c => c.tabIndex < 0).length")
    check(unreachable == 0, f'{name}: {unreachable} things that the keyboard does not reach')
    broken = page.value("[...document.querySelectorAll('svg *')].filter(n => [...n.attributes].some(a => /NaN|undefined|Infinity/.test(a.value))).length")
    check(broken == 0, f'{name}: {broken} shapes with numbers that are none')
    # A picture ends at its element's edge, so a text beyond it loses its end.
    cut = page.value("""[...document.querySelectorAll('.chart svg')].flatMap(svg => { const s = svg.getBoundingClientRect(); return [...svg.querySelectorAll('text')].filter(text => {
        const t = text.getBoundingClientRect(); return t.width > 0 && (t.left < s.left - 1.5 || t.right > s.right + 0.5) }).map(text => svg.parentNode.id + ': ' + text.textContent) })""")
    check(cut == [], f'{name}: texts of pictures that are cut off: {cut[:3]}')


def look_at(browser, name, views, sections):
    """Wide and narrow, light and dark; sections: a function of the page."""
    for width, dark in views:
        page = browser.open(address(name), width=width, dark=dark, touch=width < 600)
        label = f"{name}-{width}-{'dark' if dark else 'light'}"
        sound(page, label, sections(page))
        back = [int(v) for v in re.findall(r'\d+', page.value('getComputedStyle(document.body).backgroundColor'))]
        check((sum(back[:3]) < 200) == dark, f'{label}: the background fits the theme: {back}')
        if shots:
            page.shot(os.path.join(shots, label + '.png'), (0, 0, width, page.value('document.documentElement.scrollHeight')))
        page.close()


def seen_without_scripts(browser, name):
    """The words that are rendered, and all that are in the page."""
    page = browser.open(address(name), scripts=False)
    text = page.call('DOMSnapshot.captureSnapshot', computedStyles=['display'])
    page.close()
    return ' '.join(text['strings'][i] for i in text['documents'][0]['layout']['text'] if i >= 0), ' '.join(text['strings'])


# The box under the pointer, or None; and where an element is, brought into view.
def tip(page):
    return page.value("document.getElementById('tip').hidden ? null : document.getElementById('tip').innerText")


def box(page, what):
    return page.value(f"(() => {{ const e = document.querySelector('{what}'); e.scrollIntoView({{ block: 'center' }}); const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height] }})()")


def finger_shows(page, x, y, claim):
    """A finger on a chart shows its values, within a window of 390; closes the page."""
    page.call('Input.dispatchTouchEvent', type='touchStart', touchPoints=[{'x': x, 'y': y}])
    page.settle()
    shown = page.value("(() => { const t = document.getElementById('tip'), r = t.getBoundingClientRect(); return [t.hidden, r.left, r.right] })()")
    check(not shown[0] and shown[1] >= 0 and shown[2] <= 390, f'{claim}: {shown}')
    page.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    page.close()


def switch_makes_dark(page):
    """The switch of themes beats a light system; closes the page."""
    page.value("(() => { const t = document.getElementById('theme'); t.value = 'dark'; t.dispatchEvent(new Event('change')) })()")
    check(page.value('getComputedStyle(document.body).backgroundColor') == 'rgb(20, 23, 27)', 'the switch makes it dark under a light system')
    page.value('localStorage.clear()')
    page.close()


def run(parts):
    with Browser() as browser:
        for part in parts:
            part(browser)
    sys.exit(1 if failures else 0)
