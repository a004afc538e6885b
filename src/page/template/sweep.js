// sweep.js -- a figure of every arm against a swept number, with its intervals; controls choose the other
// swept keys.

const sweep = { key: '', figure: '', rest: '', logX: false, logY: false, hidden: new Set() };
const UNITS = { seconds: 'time', bytes: 'bytes', share: 'share', count: 'count' };

const known = v => v !== null && v !== undefined;
// What a condition sets besides the key, as one text.
const restOf = (settings, key) =>
  Object.entries(settings)
    .filter(([k]) => k !== key)
    .map(([k, v]) => k + '=' + v)
    .join(', ');
const sweepNumbers = key =>
  DATA.swept.conditions.map(settings => (key in settings ? readSize(settings[key]) : NaN));

// A number as experiments write it, with a unit or without: 0.1, 2^-4, 20%, 10ms, 1Gbit. All values of a key
// have units of one kind.
function readSize(value) {
  const plain = readNumber(value),
    text = String(value)
      .trim()
      .match(/^([\d.]+(?:e[-+]?\d+)?)\s*(ns|us|µs|ms|s|min|h|kbit|Mbit|Gbit|kB|MB|GB|B)(?:\/s)?$/);
  if (isFinite(plain) || !text) return plain;
  return (
    Number(text[1]) *
    {
      ns: 1e-9,
      us: 1e-6,
      µs: 1e-6,
      ms: 1e-3,
      s: 1,
      min: 60,
      h: 3600,
      kbit: 1e3,
      Mbit: 1e6,
      Gbit: 1e9,
      B: 1,
      kB: 1e3,
      MB: 1e6,
      GB: 1e9,
    }[text[2]]
  );
}

// Swept keys that have several values, all of them numbers.
function sweptKeys() {
  const keys = [...new Set(DATA.swept.conditions.flatMap(Object.keys))];
  return keys.filter(key => {
    const numbers = sweepNumbers(key);
    return numbers.every(isFinite) && new Set(numbers).size > 1;
  });
}

const sweptFigures = () =>
  DATA.swept.figures.filter(([name]) =>
    DATA.swept.cells.some(cell => cell.f[name] && known(cell.f[name][0])),
  );
const restOptions = () => [...new Set(DATA.swept.conditions.map(settings => restOf(settings, sweep.key)))];

// For each arm its points in order: { x, c, median, low, high }; where the median is not known there is a
// gap.
function sweepArms() {
  const numbers = sweepNumbers(sweep.key),
    arms = [];
  DATA.arms.forEach((_, arm) => {
    if (sweep.hidden.has(arm)) return;
    const points = [];
    for (const cell of DATA.swept.cells) {
      if (cell.a !== arm || restOf(DATA.swept.conditions[cell.c], sweep.key) !== sweep.rest) continue;
      const [median, low, high] = cell.f[sweep.figure] || [null, null, null];
      points.push({ x: numbers[cell.c], c: cell.c, median, low, high });
    }
    points.sort((p, q) => p.x - q.x);
    if (points.some(p => known(p.median))) arms.push({ arm, points });
  });
  return arms;
}

function sweepTip(arms, at, show) {
  const here = arms.flatMap(({ arm, points }) => points.filter(p => p.x === at).map(p => [arm, p])),
    value = here.length ? DATA.swept.conditions[here[0][1].c][sweep.key] : at;
  here.sort(([, p], [, q]) =>
    known(p.median) && known(q.median) ? q.median - p.median : known(p.median) ? 1 : -1,
  );
  return tipTable(
    sweep.key + ' ' + value,
    here.map(([arm, p]) => [
      arm,
      armName(arm),
      known(p.median)
        ? show(p.median) +
          (known(p.low) && (p.low !== p.median || p.high !== p.median)
            ? '  [' + show(p.low) + ', ' + (known(p.high) ? show(p.high) : 'never') + ']'
            : '')
        : 'none',
    ]),
  );
}

function paintSweepArm(inside, x, y, { arm, points }) {
  const g = draw('g', { class: armClass(arm) }),
    end = p => y.at(known(p.high) ? Math.min(p.high, y.to) : y.to);
  let run = [];
  const flush = () => {
    if (run.length > 1)
      g.append(
        draw('path', {
          d: pathOf(run.map(p => [x.at(p.x), y.at(p.median)])),
          class: 'median',
          'stroke-dasharray': armDash(arm),
        }),
      );
    run = [];
  };
  for (const p of points) {
    if (!known(p.median)) {
      flush();
      continue;
    }
    run.push(p);
    if (known(p.low) && (p.low !== p.median || p.high !== p.median))
      g.append(
        draw('path', {
          class: 'interval',
          d: `M${x.at(p.x) - 3},${y.at(p.low)}h6M${x.at(p.x)},${y.at(p.low)}V${end(p)}m-3,0h6`,
        }),
      );
  }
  flush();
  for (const p of points)
    if (known(p.median))
      g.append(
        draw('path', {
          d: armMark(arm),
          transform: `translate(${x.at(p.x).toFixed(1)},${y.at(p.median).toFixed(1)})`,
          class: 'mark',
        }),
      );
  inside.append(g);
}

// The swept values themselves are the ticks, as many as there is room for.
function sweepTicks(x, places, room) {
  const ticks = [];
  let last = -Infinity;
  for (const [v, text] of places) {
    const wide = Math.max(24, text.length * 7 + 8);
    if (x.at(v) - last < (wide + room) / 2) continue;
    ticks.push([v, text]);
    last = x.at(v);
    room = wide;
  }
  return ticks;
}

function paintSweep(host, width) {
  const arms = sweepArms(),
    entry = DATA.swept.figures.find(([name]) => name === sweep.figure),
    kind = UNITS[entry[2]] || 'plain',
    show = SHOW[kind];
  if (!arms.length) {
    host.replaceChildren(
      make(
        'p',
        { class: 'about' },
        sweep.hidden.size ? 'All arms are switched off.' : 'No arm has this figure here.',
      ),
    );
    return;
  }
  const points = arms.flatMap(one => one.points),
    seen = points.filter(p => known(p.median)),
    height = width < 520 ? 300 : 380;
  const ends = seen.flatMap(p => [p.median, p.low, p.high]).filter(v => known(v) && (!sweep.logY || v > 0));
  const low = Math.min(...ends),
    high = Math.max(...ends),
    pad = (high - low || Math.abs(high) || 1) * 0.06;
  const from = sweep.logY ? low / 1.1 : low >= 0 && low < 0.5 * high ? 0 : low - pad,
    to = sweep.logY ? high * 1.1 : kind === 'share' ? Math.min(1, high + pad) : high + pad;
  const box = { left: 0, right: width - 18, top: 22, bottom: height - 40 };
  const y = scaleOf({ from, to, log: sweep.logY, pixels: [box.bottom, box.top], kind, count: 7 });
  box.left = tickRoom(y.ticks);
  const xs = [...new Set(points.map(p => p.x))].sort((p, q) => p - q);
  const places = xs.map(v => [v, String(DATA.swept.conditions[points.find(p => p.x === v).c][sweep.key])]),
    right = endWithin(width, box.left + 12, box.right - 8, [[1, places[places.length - 1][1]]]);
  const x = scaleOf({
    from: xs[0],
    to: xs[xs.length - 1],
    log: sweep.logX && xs[0] > 0,
    pixels: [box.left + 12, right],
    kind: 'plain',
    count: 5,
  });
  x.ticks = sweepTicks(x, places, 0);
  const svg = drawing(
    width,
    height,
    entry[1] + ' against ' + sweep.key + '; arrow keys go from value to value',
    { tabindex: 0 },
  );
  const inside = frame(svg, box, x, y, sweep.key + (x.log ? ', log' : ''), entry[1]);
  for (const one of arms) paintSweepArm(inside, x, y, one);
  const cursor = cursorOf(svg, box);
  let place = -1;
  const point = (i, clientY) => {
    place = Math.max(0, Math.min(xs.length - 1, i));
    const at = x.at(xs[place]),
      home = svg.getBoundingClientRect();
    cursor.setAttribute('x1', at);
    cursor.setAttribute('x2', at);
    showTip(
      sweepTip(arms, xs[place], show),
      home.left + at,
      clientY === undefined ? home.top + box.top + 40 : clientY,
    );
  };
  const follow = e => {
    const px = e.clientX - svg.getBoundingClientRect().left;
    point(
      xs.reduce((best, v, i) => (Math.abs(x.at(v) - px) < Math.abs(x.at(xs[best]) - px) ? i : best), 0),
      e.clientY,
    );
  };
  const leave = () => {
    cursor.setAttribute('x1', -9);
    cursor.setAttribute('x2', -9);
    hideTip();
  };
  svg.addEventListener('pointermove', follow);
  svg.addEventListener('pointerdown', follow);
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    point(place < 0 ? (step > 0 ? 0 : xs.length - 1) : place + step);
  });
  host.replaceChildren(svg);
}

function startSweep() {
  const keys = DATA.swept ? sweptKeys() : [],
    figures = DATA.swept ? sweptFigures() : [],
    host = $('sweep-chart');
  if (!keys.length || !figures.length) {
    $('sweep').remove();
    return;
  }
  const wide = key => {
    // values that grow by factors want a log axis
    const xs = sweepNumbers(key).sort((p, q) => p - q);
    return xs[0] > 0 && xs[xs.length - 1] / xs[0] > 8;
  };
  sweep.key = keys[0];
  sweep.figure = (figures.find(([name]) => name === DATA.swept.by) || figures[0])[0];
  sweep.rest = restOptions()[0];
  sweep.logX = wide(sweep.key);
  const again = keepDrawn(host, width => paintSweep(host, width));
  const controls = () => {
    const rests = restOptions();
    $('sweep-controls').replaceChildren(
      ...[
        figures.length > 1
          ? chooser('Show', figures, sweep.figure, v => {
              sweep.figure = v;
              again();
            })
          : null,
        keys.length > 1
          ? chooser(
              'against',
              keys.map(key => [key, key]),
              sweep.key,
              v => {
                sweep.key = v;
                sweep.rest = restOptions()[0];
                sweep.logX = wide(v);
                controls();
                again();
              },
            )
          : null,
        rests.length > 1
          ? chooser(
              'with',
              rests.map(text => [text, text]),
              sweep.rest,
              v => {
                sweep.rest = v;
                again();
              },
            )
          : null,
        ticker('log scale', sweep.logY, v => {
          sweep.logY = v;
          again();
        }),
        ticker('log axis below', sweep.logX, v => {
          sweep.logX = v;
          again();
        }),
      ].filter(Boolean),
    );
  };
  controls();
  armButtons($('sweep-legend'), sweep.hidden, again);
  const notes =
    DATA.runs.length > DATA.cells.length ? ['Marks are medians over seeds, bars their 95 % intervals.'] : [];
  if (DATA.targets.some(Boolean) && DATA.cells.some(cell => 2 * cell.reached <= cell.runs))
    notes.push('Times have no mark where half of the runs or more missed the target.');
  $('sweep-note').textContent = notes.join(' ');
}
