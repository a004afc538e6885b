// more.js -- staleness, and what tuning tried.

// ---- Staleness -----------------------------------------------------------------------------------------

function paintBins(host, width, arm, bins) {
  const all = bins.reduce((sum, b) => sum + b[2], 0) || 1,
    height = 170,
    box = { left: 0, right: width - 12, top: 22, bottom: height - 38 };
  const sorted = bins.slice().sort((p, q) => p[0] - q[0]),
    last = sorted[sorted.length - 1],
    end = last[1] + 1;
  // Bins may be wider further out: bars show the share per update of age, so that areas are true.
  const dense = sorted.map(([from, to, n]) => [from, to + 1, n / all / (to + 1 - from), n]);
  const y = scaleOf({
    from: 0,
    to: Math.max(...dense.map(d => d[2])) * 1.05,
    log: false,
    pixels: [box.bottom, box.top],
    kind: 'share',
    count: 4,
  });
  box.left = tickRoom(y.ticks);
  const x = scaleOf({
    from: -0.5,
    to: end - 0.5,
    log: false,
    pixels: [box.left, box.right],
    edge: width,
    kind: 'count',
    count: Math.max(3, Math.floor(width / 70)),
  });
  box.right = x.right;
  x.ticks = x.ticks.filter(([v]) => v >= 0 && Math.abs(v - Math.round(v)) < 1e-9);
  const svg = drawing(width, height, 'Staleness of gradients under ' + armName(arm), {
    class: armClass(arm),
  });
  const uneven = sorted.some(([from, to]) => to > from);
  const inside = frame(svg, box, x, y, 'Updates old', uneven ? 'Gradients, for each update' : 'Gradients');
  for (const [from, to, share, n] of dense) {
    const a = x.at(from - 0.5),
      b = x.at(to - 0.5);
    inside.append(
      draw('rect', {
        x: a,
        y: y.at(share),
        width: Math.max(0.8, b - a - (b - a > 4 ? 1 : 0)),
        height: Math.max(0, box.bottom - y.at(share)),
        class: 'fillbar',
      }),
    );
    inside.append(
      withTip(
        draw('rect', {
          x: a,
          y: box.top,
          width: Math.max(1, b - a),
          height: box.bottom - box.top,
          class: 'hit',
        }),
        () =>
          tipTable((to - from > 1 ? from + ' to ' + (to - 1) : from) + ' updates old', [
            [arm, armName(arm), showCount(n) + ' gradients, ' + showShare(n / all)],
          ]),
      ),
    );
  }
  host.replaceChildren(svg);
}

const STALENESS_MOST = 30;
function startStaleness() {
  const cells = DATA.cells.filter(cell => cell.mean !== null || cell.bins.length);
  if (!cells.length) {
    $('staleness').remove();
    return;
  }
  $('staleness-note').textContent =
    'Updates made between reading a model and using the gradient computed from it, over all runs of an arm.';
  if (cells.length > STALENESS_MOST)
    $('staleness-note').textContent += ' The first ' + STALENESS_MOST + ' of ' + cells.length + ' are drawn.';
  for (const cell of cells.slice(0, STALENESS_MOST)) {
    const chart = make('div', { class: 'chart' }),
      condition = DATA.conditions[cell.c];
    $('staleness-charts').append(
      make(
        'div',
        {},
        make(
          'h4',
          {},
          make('span', { class: 'key ' + armClass(cell.a) }),
          armName(cell.a) + (condition ? ', ' + condition : ''),
        ),
        cell.bins.length ? chart : null,
        make(
          'p',
          { class: 'about' },
          'mean ' +
            (cell.mean === null ? '–' : inWords(cell.mean)) +
            ', at most ' +
            (cell.max === null ? '–' : showCount(cell.max)),
        ),
      ),
    );
    if (cell.bins.length) keepDrawn(chart, width => paintBins(chart, width, cell.a, cell.bins));
  }
}

// ---- Tuning --------------------------------------------------------------------------------------------

const SCORES = { time_to_target: 'time', time: 'time', test_accuracy: 'share', train_accuracy: 'share' };
const scoreKind = by => SCORES[by] || 'plain';
// A value as experiments write it: 0.1, 1e-3, 2^-4, 20%, 10k.
function readNumber(value) {
  const text = String(value).trim(),
    power = text.match(/^(\d+(?:\.\d+)?)\^(-?\d+)$/),
    scaled = text.match(/^(-?[\d.]+(?:e[-+]?\d+)?)\s*([%kM])$/);
  if (power) return Math.pow(Number(power[1]), Number(power[2]));
  if (scaled) return Number(scaled[1]) * { '%': 0.01, k: 1e3, M: 1e6 }[scaled[2]];
  return text === '' ? NaN : Number(text);
}
const words = key => key.replace(/_/g, ' ');

function paintTuning(host, width, entry) {
  const key = entry.over[0],
    kind = scoreKind(entry.by),
    show = SHOW[kind];
  const points = entry.points
    .map(p => ({ x: readNumber(p.values[key]), score: p.score, p }))
    .filter(p => isFinite(p.x))
    .sort((a, b) => a.x - b.x);
  const good = points.filter(p => p.score && p.score.median !== null && p.score.median !== undefined),
    height = 210;
  const box = { left: 0, right: width - 14, top: 24, bottom: height - 40 };
  const ends = good
    .flatMap(p => [p.score.median, p.score.low, p.score.high])
    .filter(v => v !== null && v !== undefined);
  let low = Math.min(...ends),
    high = Math.max(...ends);
  if (!ends.length) {
    low = 0;
    high = 1;
  }
  const pad = (high - low || Math.abs(high) || 1) * 0.08;
  const y = scaleOf({
    from: low - pad < 0 && low >= 0 ? 0 : low - pad,
    to: kind === 'share' ? Math.min(1, high + pad) : high + pad,
    log: false,
    pixels: [box.bottom, box.top],
    kind,
    count: 5,
  });
  box.left = tickRoom(y.ticks);
  const log = points[0].x > 0 && points[points.length - 1].x / points[0].x > 8,
    few = Math.max(3, Math.floor(width / 75));
  const x = scaleOf({
    from: points[0].x,
    to: points[points.length - 1].x,
    log,
    pixels: [box.left + 12, box.right - 6],
    edge: width,
    kind: 'plain',
    count: few,
  });
  const svg = drawing(width, height, 'Tuning of ' + key + ' for ' + armName(entry.arm), {
    class: armClass(entry.arm),
  });
  const inside = frame(svg, box, x, y, key + (log ? ', log' : ''), words(entry.by));
  inside.append(
    draw('path', {
      class: 'band',
      d:
        good.length > 1
          ? pathOf([
              ...good.map(p => [
                x.at(p.x),
                y.at(p.score.high === null || p.score.high === undefined ? y.to : p.score.high),
              ]),
              ...good
                .slice()
                .reverse()
                .map(p => [
                  x.at(p.x),
                  y.at(p.score.low === null || p.score.low === undefined ? p.score.median : p.score.low),
                ]),
            ]) + 'z'
          : '',
    }),
  );
  inside.append(
    draw('path', {
      class: 'median',
      d: pathOf(good.map(p => [x.at(p.x), y.at(p.score.median)])),
      'stroke-dasharray': armDash(entry.arm),
    }),
  );
  for (const p of points) {
    const fine = good.includes(p),
      at = fine ? y.at(p.score.median) : box.top + 8;
    if (fine)
      svg.append(
        draw('path', {
          d: armMark(entry.arm),
          transform: `translate(${x.at(p.x)},${at}) scale(${p.p.best ? 1.6 : 1})`,
          class: p.p.best ? 'fillmark' : 'mark',
        }),
      );
    else
      svg.append(
        draw('path', {
          d: 'M-4,-4L4,4M-4,4L4,-4',
          transform: `translate(${x.at(p.x)},${at})`,
          class: 'median',
        }),
      );
    svg.append(
      withTip(
        draw('rect', {
          x: x.at(p.x) - 10,
          y: box.top,
          width: 20,
          height: box.bottom - box.top,
          class: 'hit',
        }),
        () =>
          tipTable(key + ' ' + p.p.values[key] + (p.p.best ? ', the best' : ''), [
            [entry.arm, words(entry.by), fine ? show(p.score.median) : 'none'],
            [
              null,
              '95 % interval',
              fine && p.score.low !== null && p.score.low !== undefined
                ? show(p.score.low) +
                  ' – ' +
                  (p.score.high === null || p.score.high === undefined ? 'never' : show(p.score.high))
                : '–',
            ],
            [
              null,
              'runs',
              p.p.runs +
                (p.p.failed ? ', ' + p.p.failed + ' failed' : '') +
                (p.p.budget !== undefined && p.p.budget < 1
                  ? ', dropped at ' + showShare(p.p.budget) + ' of the length'
                  : ''),
            ],
          ]),
      ),
    );
  }
  host.replaceChildren(svg);
}

// Several keys at once: a table, the best first.
function tuningTable(entry) {
  const kind = scoreKind(entry.by),
    show = SHOW[kind],
    sign = kind === 'share' ? -1 : 1;
  const rank = p =>
    p.score && p.score.median !== null && p.score.median !== undefined ? sign * p.score.median : Infinity;
  const body = make('tbody');
  for (const p of entry.points
    .slice()
    .sort((a, b) => (b.best ? 1 : 0) - (a.best ? 1 : 0) || rank(a) - rank(b))
    .slice(0, 40))
    body.append(
      make(
        'tr',
        {},
        ...entry.over.map(key => make('td', {}, String(p.values[key]))),
        make(
          'td',
          { class: 'num' },
          rank(p) === Infinity ? 'none' : show(p.score.median),
          p.best ? make('small', {}, 'the best') : null,
        ),
      ),
    );
  return make(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Tuning' },
    make(
      'table',
      {},
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          ...entry.over.map(key => make('th', { scope: 'col' }, key)),
          make('th', { scope: 'col', class: 'num' }, words(entry.by)),
        ),
      ),
      body,
    ),
  );
}

function startTuning() {
  const list = DATA.tuning || [];
  if (!list.length) {
    $('tuning').remove();
    return;
  }
  const seeds = list[0].seeds ? list[0].seeds.length || list[0].seeds : 0;
  $('tuning-note').textContent =
    'What was tried before comparing' +
    (seeds ? ', with ' + seeds + ' seed' + (seeds === 1 ? '' : 's') + ' on which no arm is judged' : '') +
    (list[0].halving ? ', by successive halving' : '') +
    '. The filled mark is the best; a cross had no score.';
  for (const entry of list) {
    const chart = make('div', { class: 'chart' }),
      condition = DATA.conditions[entry.condition];
    const numeric =
      entry.over.length === 1 &&
      entry.points.length > 1 &&
      entry.points.every(p => isFinite(readNumber(p.values[entry.over[0]])));
    const edge =
      entry.edge && entry.edge.length
        ? 'The best ' +
          entry.edge.join(', ') +
          ' is at the end of what was tried: a wider range may do better.'
        : '';
    $('tuning-charts').append(
      make(
        'div',
        {},
        make(
          'h4',
          {},
          make('span', { class: 'key ' + armClass(entry.arm) }),
          armName(entry.arm) + (condition ? ', ' + condition : ''),
        ),
        numeric ? chart : tuningTable(entry),
        edge ? make('p', { class: 'about bad' }, edge) : null,
      ),
    );
    if (numeric) keepDrawn(chart, width => paintTuning(chart, width, entry));
  }
}
