// curves.js -- loss, accuracy or gradient norm against time, updates or bytes; seeds as a band.

const AXES = { t: ['Time', 'time'], u: ['Updates', 'count'], b: ['Sent by all nodes', 'bytes'] };
const curve = {
  metric: '',
  chosen: false,
  x: 't',
  logY: false,
  logX: false,
  band: 'quartiles',
  condition: 0,
  hidden: new Set(),
};

const metricsShown = () => DATA.metrics.filter(([name]) => DATA.runs.some(run => run.y && run.y[name]));
const metricTitle = name => (DATA.metrics.find(m => m[0] === name) || ['', ''])[1];
const metricKind = name => (name.endsWith('accuracy') ? 'share' : 'plain');
// On a log scale an accuracy says little, but its distance from 1 says much.
const asError = () => curve.logY && metricKind(curve.metric) === 'share';
const shownTitle = () =>
  asError() ? metricTitle(curve.metric).replace('accuracy', 'error') : metricTitle(curve.metric);

// The points of a run for the chosen axes, without nulls and what a log scale cannot show.
function pointsOf(run) {
  const xs = run[curve.x],
    ys = run.y && run.y[curve.metric],
    points = [];
  for (let i = 0; ys && i < xs.length; i++) {
    if (ys[i] === null || xs[i] === null || (curve.logX && xs[i] <= 0)) continue;
    const y = asError() ? 1 - ys[i] : ys[i];
    if (!curve.logY || y > 0) points.push([xs[i], y]);
  }
  return points;
}

function valueAt(points, x) {
  if (!points.length || x < points[0][0] || x > points[points.length - 1][0]) return null;
  let low = 0,
    high = points.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (points[mid][0] <= x) low = mid;
    else high = mid;
  }
  const [x0, y0] = points[low],
    [x1, y1] = points[high];
  return x1 === x0 || x >= x1 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

// For every place of the grid where at least half of the runs are: [x, low, median, high, runs].
function bandOf(lines, grid) {
  const out = [];
  for (const x of grid) {
    const values = [];
    for (const points of lines) {
      const v = valueAt(points, x);
      if (v !== null) values.push(v);
    }
    if (!values.length || values.length * 2 < lines.length) continue;
    values.sort((p, q) => p - q);
    const [low, high] = curve.band === 'all' ? [0, 1] : [0.25, 0.75];
    out.push([x, quantile(values, low), quantile(values, 0.5), quantile(values, high), values.length]);
  }
  return out;
}

function armsOfCurve() {
  const arms = [];
  DATA.arms.forEach((_, arm) => {
    if (curve.hidden.has(arm)) return;
    const runs = DATA.runs.filter(run => run.a === arm && run.c === curve.condition && run.y);
    const lines = runs.map(pointsOf).filter(points => points.length > 0);
    if (lines.length)
      arms.push({
        arm,
        lines,
        failed: runs
          .filter(run => run.st !== 'ok')
          .map(pointsOf)
          .filter(points => points.length),
      });
  });
  return arms;
}

// The range of the target and of all values after the first steep part, which would take most height and tell
// least.
function rangeBeyondStart(arms, x0, x1) {
  // Few points are all needed. One seed may have few, since it ended early: the median counts.
  const counts = arms.flatMap(({ lines }) => lines.map(points => points.length)).sort((p, q) => p - q);
  if (quantile(counts, 0.5) < 8) return null;
  const ys = arms.flatMap(({ lines }) =>
    lines.flatMap(points =>
      points.filter(([x], i) => x >= x0 + 0.06 * (x1 - x0) || i === points.length - 1).map(([, y]) => y),
    ),
  );
  if (!ys.length) return null;
  ys.sort((p, q) => p - q);
  const goal = DATA.targets[curve.condition],
    goals = goal && goal.kind === curve.metric ? [goal.value] : [];
  return [
    Math.min(ys[Math.floor(0.02 * ys.length)], ...goals),
    Math.max(ys[Math.ceil(0.98 * (ys.length - 1))], ...goals),
  ];
}

// What the axes must cover. A run that diverges must not squash the others: the highest start sets the limit.
function rangeOf(arms) {
  let x0 = Infinity,
    x1 = -Infinity,
    y0 = Infinity,
    y1 = -Infinity,
    start = 0;
  for (const { lines } of arms) {
    const last = [];
    for (const points of lines) {
      start = Math.max(start, Math.abs(points[0][1]));
      x0 = Math.min(x0, points[0][0]);
      last.push(points[points.length - 1][0]);
      for (const [, y] of points) {
        y0 = Math.min(y0, y);
        y1 = Math.max(y1, y);
      }
    }
    // A median ends where half of its runs have ended; a straggler beyond that would only add empty space.
    last.sort((p, q) => q - p);
    x1 = Math.max(x1, curve.band === 'seeds' ? last[0] : last[Math.ceil(last.length / 2) - 1]);
  }
  const clear = curve.logX || curve.logY ? null : rangeBeyondStart(arms, x0, x1);
  curve.cut = false;
  if (clear && y1 - y0 > 2 * (clear[1] - clear[0])) {
    [y0, y1] = clear;
    curve.cut = true;
  }
  const top = metricKind(curve.metric) === 'share' ? 1 : curve.logY ? start * 100 : start * 2;
  if (start > 0 && y1 > top) y1 = top;
  if (!curve.logX) x0 = Math.min(0, x0);
  if (y1 <= y0) y1 = y0 + (Math.abs(y0) || 1) * 0.1;
  if (!curve.logY) {
    if (y0 > 0 && y0 < 0.2 * y1) y0 = 0;
    const pad = (y1 - y0) * 0.04;
    y1 = metricKind(curve.metric) === 'share' ? Math.min(1, y1 + pad) : y1 + pad;
    if (y0 !== 0) y0 -= pad;
  }
  if (x1 <= x0) x1 = x0 + 1;
  return { x0, x1, y0, y1 };
}

function gridOf(x0, x1) {
  const n = 240,
    grid = [];
  for (let i = 0; i <= n; i++)
    grid.push(curve.logX ? x0 * Math.pow(x1 / x0, i / n) : x0 + ((x1 - x0) * i) / n);
  return grid;
}

function paintArm(inside, x, y, { arm, lines, failed, band }) {
  const g = draw('g', { class: armClass(arm) });
  const single = lines.length === 1;
  if (curve.band === 'seeds' && !single)
    for (const points of lines)
      g.append(draw('path', { d: pathOf(points.map(p => [x.at(p[0]), y.at(p[1])])), class: 'seed' }));
  else if (!single && band.length > 1)
    g.append(
      draw('path', {
        class: 'band',
        d:
          pathOf([
            ...band.map(b => [x.at(b[0]), y.at(b[3])]),
            ...band
              .slice()
              .reverse()
              .map(b => [x.at(b[0]), y.at(b[1])]),
          ]) + 'z',
      }),
    );
  const middle = single
    ? lines[0].map(p => [x.at(p[0]), y.at(p[1]), 1])
    : band.map(b => [x.at(b[0]), y.at(b[2]), b[4]]);
  const whole = single ? middle : middle.filter(p => p[2] === lines.length),
    rest = single ? [] : middle.slice(Math.max(0, whole.length - 1));
  g.append(draw('path', { d: pathOf(whole), class: 'median', 'stroke-dasharray': armDash(arm) }));
  if (rest.length > 1)
    g.append(draw('path', { d: pathOf(rest), class: 'median tail', 'stroke-dasharray': armDash(arm) }));
  // Marks at about equal distances, not at the same places for every arm.
  let next = 40 + 17 * (arm % 8) + (middle.length ? middle[0][0] : 0);
  for (const [px, py] of middle) {
    if (px < next) continue;
    g.append(
      draw('path', {
        d: armMark(arm),
        transform: `translate(${px.toFixed(1)},${py.toFixed(1)})`,
        class: 'mark',
      }),
    );
    next = px + 140;
  }
  for (const points of failed) {
    const [px, py] = points[points.length - 1];
    g.append(
      draw('path', {
        d: 'M-4,-4L4,4M-4,4L4,-4',
        transform: `translate(${x.at(px).toFixed(1)},${Math.max(y.at(py), y.at(y.to) + 6).toFixed(1)})`,
        class: 'median',
      }),
    );
  }
  inside.append(g);
}

function paintGoal(inside, x, y, box) {
  const goal = DATA.targets[curve.condition];
  const value = goal && (asError() ? 1 - goal.value : goal.value);
  if (!goal || goal.kind !== curve.metric || value < y.from || value > y.to) return;
  const at = y.at(value);
  inside.append(draw('line', { x1: box.left, x2: box.right, y1: at, y2: at, class: 'goal' }));
  // On the left, where no curve is near it yet; below the line where there is no room above.
  inside.append(
    draw('text', { x: box.left + 4, y: at - 5 < box.top + 9 ? at + 13 : at - 5, class: 'soft' }, 'target'),
  );
}

// Where the arms cross the target: the medians that the table has. They may be at the end of the axis, so
// nothing cuts them off; of several at one place each shows as a ring around the next.
function paintCrossings(svg, x, y, box, arms) {
  const goal = DATA.targets[curve.condition],
    value = goal && (asError() ? 1 - goal.value : goal.value);
  if (!goal || goal.kind !== curve.metric || value < y.from || value > y.to) return;
  const crossings = [];
  for (const { arm } of arms) {
    const cell = (DATA.cells || []).find(one => one.a === arm && one.c === curve.condition) || {};
    const at = curve.x === 't' ? cell.tt && cell.tt.median : curve.x === 'u' ? cell.ut : cell.bt;
    if (at === null || at === undefined || at < x.from || at > x.to * 1.0001) continue;
    crossings.push({ arm, px: x.at(at) });
  }
  crossings.forEach(({ arm, px }, i) => {
    const over = crossings.slice(i + 1).filter(other => Math.abs(other.px - px) < 4).length,
      g = draw('g', { class: 'crossing ' + armClass(arm) });
    g.append(
      draw('line', {
        x1: px,
        x2: px,
        y1: y.at(value),
        y2: box.bottom,
        class: 'interval',
        'stroke-dasharray': '3 3',
      }),
    );
    g.append(draw('circle', { cx: px, cy: y.at(value), r: 4.5 + 3 * over, class: 'fillmark' }));
    svg.append(g);
  });
}

function curveTip(arms, x) {
  const [xName, xKind] = AXES[curve.x],
    show = SHOW[metricKind(curve.metric)],
    rows = [];
  for (const { arm, lines, band } of arms) {
    if (lines.length === 1) {
      const v = valueAt(lines[0], x);
      if (v !== null) rows.push([v, [arm, armName(arm), show(v)]]);
      continue;
    }
    let best = null;
    for (const b of band) if (!best || Math.abs(b[0] - x) < Math.abs(best[0] - x)) best = b;
    const reach = band.length > 1 ? (Math.abs(band[band.length - 1][0] - band[0][0]) / band.length) * 1.5 : 0;
    if (best && Math.abs(best[0] - x) <= reach)
      rows.push([
        best[2],
        [
          arm,
          armName(arm),
          show(best[2]) +
            '  (' +
            show(best[1]) +
            ' – ' +
            show(best[3]) +
            (best[4] < lines.length ? '; ' + best[4] + ' of ' + lines.length + ' runs' : '') +
            ')',
        ],
      ]);
  }
  rows.sort((p, q) => (metricKind(curve.metric) === 'share' && !asError() ? q[0] - p[0] : p[0] - q[0]));
  return tipTable(
    xName + ' ' + SHOW[xKind](x),
    rows.length ? rows.map(r => r[1]) : [[null, 'no run here', '']],
  );
}

function paintCurves(host, width) {
  const arms = armsOfCurve(),
    height = width < 520 ? 300 : 400,
    [xName, xKind] = AXES[curve.x];
  if (!arms.length) {
    host.replaceChildren(
      make(
        'p',
        { class: 'about' },
        curve.hidden.size ? 'All arms are switched off.' : 'No run under this condition has such a curve.',
      ),
    );
    return;
  }
  const { x0, x1, y0, y1 } = rangeOf(arms),
    kind = metricKind(curve.metric),
    box = { left: 0, right: width - 14, top: 22, bottom: height - 40 };
  const y = scaleOf({ from: y0, to: y1, log: curve.logY, pixels: [box.bottom, box.top], kind, count: 7 });
  box.left = tickRoom(y.ticks);
  const x = scaleOf({
    from: x0,
    to: x1,
    log: curve.logX,
    pixels: [box.left, box.right],
    edge: width,
    kind: xKind,
    count: Math.max(3, Math.floor(width / 90)),
  });
  box.right = x.right;
  const svg = drawing(
    width,
    height,
    shownTitle() + ' against ' + xName.toLowerCase() + '; arrow keys move along it',
    { tabindex: 0 },
  );
  const inside = frame(svg, box, x, y, xName, shownTitle()),
    grid = gridOf(x0, x1);
  paintGoal(inside, x, y, box);
  for (const one of arms) {
    one.band = one.lines.length > 1 ? bandOf(one.lines, grid) : [];
    paintArm(inside, x, y, one);
  }
  paintCrossings(svg, x, y, box, arms);
  $('curve-cut').textContent = curve.cut ? 'The axis leaves out the first steep part.' : '';
  const cursor = cursorOf(svg, box);
  let at = null;
  const point = (px, clientY) => {
    at = Math.max(box.left, Math.min(box.right, px));
    cursor.setAttribute('x1', at);
    cursor.setAttribute('x2', at);
    const home = svg.getBoundingClientRect();
    showTip(
      curveTip(arms, x.back(at)),
      home.left + at,
      clientY === undefined ? home.top + box.top + 40 : clientY,
    );
  };
  const leave = () => {
    cursor.setAttribute('x1', -9);
    cursor.setAttribute('x2', -9);
    hideTip();
  };
  svg.addEventListener('pointermove', e => point(e.clientX - svg.getBoundingClientRect().left, e.clientY));
  svg.addEventListener('pointerdown', e => point(e.clientX - svg.getBoundingClientRect().left, e.clientY));
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    point((at === null ? (box.left + box.right) / 2 : at) + (step * (box.right - box.left)) / 60);
  });
  host.replaceChildren(svg);
}

function startCurves() {
  const shown = metricsShown(),
    host = $('curve-chart');
  $('curves').hidden = !shown.length; // a page that grows may have some later
  if (!shown.length) return;
  const wanted = DATA.targets[0] && shown.find(([name]) => name === DATA.targets[0].kind);
  // A page that grows starts again when there is more to choose from, and keeps what was chosen.
  if (!curve.chosen || !shown.some(([name]) => name === curve.metric)) curve.metric = (wanted || shown[0])[0];
  if (curve.condition >= DATA.conditions.length) curve.condition = 0;
  const again = keepDrawn(host, width => paintCurves(host, width));
  const set = (key, value) => {
    curve[key] = value;
    again();
  };
  const logY = ticker('log scale', curve.logY, v => set('logY', v));
  const many = DATA.runs.length > DATA.arms.length * DATA.conditions.length;
  $('curve-controls').append(
    ...[
      chooser('Show', shown, curve.metric, v => {
        curve.metric = v;
        curve.chosen = true;
        set('logY', logY.firstChild.checked);
      }),
      chooser(
        'against',
        Object.entries(AXES).map(([key, [name]]) => [key, name.toLowerCase()]),
        curve.x,
        v => set('x', v),
      ),
      DATA.conditions.length > 1
        ? chooser('under', conditionOptions(), curve.condition, v => set('condition', Number(v)))
        : null,
      many
        ? chooser(
            'seeds as',
            [
              ['quartiles', 'median and quartiles'],
              ['all', 'median, least to most'],
              ['seeds', 'median and each seed'],
            ],
            curve.band,
            v => set('band', v),
          )
        : null,
      logY,
      ticker('log axis below', curve.logX, v => set('logX', v)),
    ].filter(Boolean),
  );
  armButtons($('curve-legend'), curve.hidden, again);
  const notes = [];
  if (many)
    notes.push('Lines are medians over seeds, faint once some runs have ended, and stop once half have.');
  if ((DATA.cells || []).some(cell => cell.tt && cell.tt.median !== null))
    notes.push(
      'A disc on the dotted line is where an arm crosses the target' + (many ? ' in the median.' : '.'),
    );
  if (DATA.runs.some(run => run.st !== 'ok' && run.y)) notes.push('Crosses mark where runs failed.');
  if (DATA.thinned || DATA.skipped)
    notes.push(
      'This is a large study: ' +
        (DATA.skipped ? 'some of its runs and ' : '') +
        'some points are left out here. motley report --csv has them all.',
    );
  $('curve-note').textContent = notes.join(' ');
}
