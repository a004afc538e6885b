'use strict';
// basics.js -- elements, numbers as people read them, and the box under the pointer.
// Text from the study reaches the page only as text nodes and attributes, never as HTML.

const DATA = JSON.parse(document.getElementById('data').textContent);
const SVG = 'http://www.w3.org/2000/svg';
const $ = id => document.getElementById(id);

function fill(node, attrs, kids) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const kid of kids) if (kid !== null && kid !== undefined) node.append(kid);
  return node;
}
const make = (tag, attrs, ...kids) => fill(document.createElement(tag), attrs, kids);
const draw = (tag, attrs, ...kids) => fill(document.createElementNS(SVG, tag), attrs, kids);
const drawing = (width, height, label, more = {}) =>
  draw('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    ...more,
  });

// ---- Arms: a colour, a dash and a mark each, so that no one needs the colour ------------------------

const DASHES = ['', '7 3', '2 3', '10 3 2 3', '14 4', '5 2 1 2', '1 4', '12 3 3 3 3 3'];
const MARKS = [
  'M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z',
  'M-3.2,-3.2h6.4v6.4h-6.4z',
  'M0,-4.2L4,3H-4z',
  'M0,-4.6L4,0L0,4.6L-4,0z',
  'M0,4.2L4,-3H-4z',
  'M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z',
  'M-2,-4h4l2.6,4l-2.6,4h-4l-2.6,-4z',
  'M-4,-2h8v4h-8z',
];
const armClass = arm => 'k' + (arm % 8);
const armDash = arm => DASHES[(arm + Math.floor(arm / 8)) % 8];
const armMark = arm => MARKS[(arm + Math.floor(arm / 8)) % 8];
const armName = arm => DATA.arms[arm] || '';

function swatch(arm) {
  return draw(
    'svg',
    { width: 34, height: 12, class: armClass(arm), 'aria-hidden': 'true' },
    draw('line', { x1: 1, x2: 33, y1: 6, y2: 6, class: 'median', 'stroke-dasharray': armDash(arm) }),
    draw('path', { d: armMark(arm), transform: 'translate(17,6)', class: 'mark' }),
  );
}

// ---- Numbers -----------------------------------------------------------------------------------------

// As in the tables, which the program writes: the same figure has the same digits everywhere.
const TIMES = [
  ['h', 3600],
  ['min', 60],
  ['s', 1],
  ['ms', 1e-3],
  ['us', 1e-6],
  ['ns', 1e-9],
];
const SIZES = [
  ['PB', 1e15],
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
  ['B', 1],
];

const three = v =>
  v === 0 ? '0' : Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 9.995 ? v.toFixed(1) : v.toFixed(2);
function showTime(s) {
  if (s === 0) return '0 s';
  const unit = TIMES.find(([, size]) => s >= size * (size > 1 ? 2 : 0.9995)) || TIMES[TIMES.length - 1];
  return three(s / unit[1]) + ' ' + unit[0];
}
function showSize(bytes) {
  const unit = SIZES.find(([, size]) => bytes >= size * 0.9995) || SIZES[SIZES.length - 1];
  return (unit[1] === 1 ? Math.round(bytes) : three(bytes / unit[1])) + ' ' + unit[0];
}
const showCount = n => Math.round(n).toLocaleString('en-US');
const showShare = v => (v === 0 ? '0' : (100 * v).toFixed(v > 0 && v < 0.0995 ? 2 : 1)) + ' %';
function showPlain(v) {
  const size = Math.abs(v);
  if (v === 0) return '0';
  if (size < 1e-3 || size >= 1e5) return v.toExponential(2).replace(/e([-+])(\d)$/, 'e$10$2');
  return size >= 999.95 ? v.toFixed(0) : v.toPrecision(4);
}
// In a sentence, without zeros at the end.
const inWords = v =>
  showPlain(v)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
const SHOW = { time: showTime, bytes: showSize, count: showCount, share: showShare, plain: showPlain };

// A unit for a whole axis: what its numbers are divided by, and its name.
function axisUnit(kind, most) {
  if (kind === 'share') return { by: 0.01, name: '%' };
  if (kind === 'plain') return { by: 1, name: '' };
  if (kind === 'count') {
    if (most >= 2e6) return { by: 1e6, name: 'millions' };
    return { by: 1, name: '' };
  }
  const units = kind === 'time' ? TIMES : SIZES;
  const [name, by] =
    units.find(([, size]) => most >= size * (kind === 'time' && size > 1 ? 2 : 1)) || units[units.length - 1];
  return { by, name };
}

// ---- The box under the pointer -----------------------------------------------------------------------

const tip = $('tip');
function showTip(content, x, y) {
  // x, y: in the window
  tip.replaceChildren(content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect(),
    wide = document.documentElement.clientWidth;
  let left = x + 16;
  if (left + box.width > wide - 6) left = x - 16 - box.width;
  left = Math.max(6, Math.min(left, wide - box.width - 6));
  let top = y - box.height - 12;
  if (top < 4) top = y + 18;
  tip.style.left = left + window.scrollX + 'px';
  tip.style.top = top + window.scrollY + 'px';
}
function hideTip() {
  tip.hidden = true;
}

// A head and rows of [arm or null, name, value].
function tipTable(head, rows) {
  const body = make('tbody');
  for (const [arm, name, value] of rows)
    body.append(
      make(
        'tr',
        {},
        make('td', {}, arm === null ? null : make('span', { class: 'key ' + armClass(arm) }), name),
        make('td', { class: 'num' }, value),
      ),
    );
  return make('div', {}, make('div', { class: 'head' }, head), make('table', {}, body));
}

// An element whose tip shows under the pointer and on touch.
function withTip(node, content) {
  node.addEventListener('pointermove', e => showTip(content(), e.clientX, e.clientY));
  node.addEventListener('pointerdown', e => showTip(content(), e.clientX, e.clientY));
  node.addEventListener('pointerleave', hideTip);
  return node;
}

// ---- Controls ----------------------------------------------------------------------------------------

function chooser(label, options, value, change) {
  // options: [[value, text], ...]
  const select = make('select', { onchange: e => change(e.target.value) });
  for (const [key, text] of options)
    select.append(make('option', { value: key, selected: String(key) === String(value) }, text));
  return make('label', {}, label, select);
}
function ticker(label, value, change) {
  const box = make('input', { type: 'checkbox', onchange: e => change(e.target.checked) });
  box.checked = value;
  return make('label', {}, box, label);
}
// A legend whose entries show and hide their arms.
function armButtons(host, hidden, again) {
  DATA.arms.forEach((name, arm) => {
    const button = make(
      'button',
      { type: 'button', 'aria-pressed': String(!hidden.has(arm)), title: 'show or hide' },
      swatch(arm),
      name,
    );
    button.addEventListener('click', () => {
      if (hidden.has(arm)) hidden.delete(arm);
      else hidden.add(arm);
      button.setAttribute('aria-pressed', String(!hidden.has(arm)));
      again();
    });
    host.append(button);
  });
}
const conditionOptions = () => DATA.conditions.map((name, i) => [i, name || 'condition ' + (i + 1)]);

// Draws now, and again whenever the element's width changes. Returns what draws again when the data changes.
const drawn = new Set();
function keepDrawn(host, paint) {
  let width = 0;
  const again = () => {
    const now = Math.floor(host.clientWidth);
    if (now < 40 || now === width) return;
    width = now;
    paint(now);
  };
  again();
  new ResizeObserver(() => requestAnimationFrame(again)).observe(host);
  const afresh = () => {
    width = 0;
    again();
  };
  drawn.add(afresh);
  return afresh;
}
