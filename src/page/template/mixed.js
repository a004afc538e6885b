// mixed.js -- workers with models of their own: how far apart these are, and whether mixing keeps their mean.

const MIXED = [
  ['consensus', 'consensus distance: the models’ mean squared distance from their mean'],
  ['drift', 'drift: how far mixing has moved that mean, as a share of its norm'],
];

// What a log scale can show: [[time, value], ...]
function mixedLine(run, name) {
  const ys = (run.y && run.y[name]) || [];
  return ys.map((y, i) => [run.t[i], y]).filter(([t, y]) => t !== null && y !== null && y > 0);
}
const mixedLines = detail =>
  MIXED.map(([name, text], arm) => ({
    name,
    text,
    arm,
    points: mixedLine(DATA.runs[detail.run], name),
  })).filter(line => line.points.length);

function describeMixed(detail) {
  const mixed = detail.mixed,
    text = [];
  $('mixed').hidden = !mixed;
  if (!mixed) return;
  text.push(
    'At the end the workers’ models had a mean squared distance of ' +
      inWords(mixed.consensus || 0) +
      ' from their mean, which is the model that is evaluated.',
  );
  if (mixed.drift !== null)
    text.push('Mixing alone moved that mean by ' + inWords(100 * mixed.drift) + ' % of its norm.');
  if (mixed.mass !== null)
    text.push(
      'The push-sum weights of all workers add up to ' + inWords(mixed.mass) + ' times their number.',
    );
  if (mixed.behind[0] !== null)
    text.push(
      'What a worker mixed in was ' +
        inWords(mixed.behind[0]) +
        ' rounds away from its own on average, at most ' +
        inWords(mixed.behind[1]) +
        '.',
    );
  if (mixed.dropped)
    text.push(
      'Of what arrived, ' +
        showCount(mixed.dropped) +
        (mixed.dropped === 1 ? ' segment was' : ' segments were') +
        ' outside the window and dropped.',
    );
  $('mixed-note').textContent = text.join(' ');
  $('mixed-legend').replaceChildren(
    ...mixedLines(detail).map(line => make('span', { class: 'item' }, swatch(line.arm), line.text)),
  );
}

function paintMixed(host, width, detail) {
  const lines = mixedLines(detail),
    height = width < 520 ? 220 : 260;
  if (!detail.mixed || !lines.length) {
    host.replaceChildren(
      make(
        'p',
        { class: 'about' },
        'The models were equal whenever they were evaluated, so there is nothing to draw.',
      ),
    );
    return;
  }
  const xs = lines.flatMap(line => line.points.map(p => p[0])),
    ys = lines.flatMap(line => line.points.map(p => p[1]));
  const y0 = Math.min(...ys),
    y1 = Math.max(...ys),
    x1 = Math.max(...xs);
  const y = scaleOf({
    from: y0 / 1.3,
    to: y1 * 1.3,
    log: true,
    pixels: [height - 44, 24],
    kind: 'plain',
    count: 6,
  });
  const box = { left: tickRoom(y.ticks), right: width - 10, top: 24, bottom: height - 44 };
  const x = scaleOf({
    from: 0,
    to: x1 > 0 ? x1 : 1,
    log: false,
    pixels: [box.left, box.right - 6],
    edge: width,
    kind: 'time',
    count: Math.max(3, Math.floor((box.right - box.left) / 100)),
  });
  const svg = drawing(width, height, 'Consensus distance over time, on a log scale', { tabindex: 0 });
  const inside = frame(
    svg,
    box,
    x,
    y,
    'Time',
    lines.length > 1 ? 'Consensus distance, drift' : metricTitle(lines[0].name),
  );
  for (const { arm, points } of lines) {
    const g = draw(
      'g',
      { class: armClass(arm) },
      draw('path', {
        d: pathOf(points.map(p => [x.at(p[0]), y.at(p[1])])),
        class: 'median',
        'stroke-dasharray': armDash(arm),
      }),
    );
    if (points.length < 60)
      for (const p of points)
        g.append(
          draw('path', {
            d: armMark(arm),
            transform: `translate(${x.at(p[0]).toFixed(1)},${y.at(p[1]).toFixed(1)})`,
            class: 'mark',
          }),
        );
    inside.append(g);
  }
  // The evaluation nearest to the pointer, or the one that the arrow keys choose.
  const times = [...new Set(xs)].sort((p, q) => p - q),
    cursor = draw('line', { y1: box.top, y2: box.bottom, class: 'cursor', visibility: 'hidden' });
  let at = times.length - 1;
  const show = (px, py) => {
    cursor.setAttribute('x1', x.at(times[at]));
    cursor.setAttribute('x2', x.at(times[at]));
    cursor.setAttribute('visibility', 'visible');
    showTip(
      tipTable(
        'at ' + showTime(times[at]),
        lines
          .map(line => [
            line.arm,
            metricTitle(line.name),
            (line.points.find(p => p[0] === times[at]) || [0, null])[1],
          ])
          .filter(r => r[2] !== null)
          .map(r => [r[0], r[1], showPlain(r[2])]),
      ),
      px,
      py,
    );
  };
  const follow = e => {
    const time = x.back(e.clientX - svg.getBoundingClientRect().left);
    at = times.reduce((best, t, i) => (Math.abs(t - time) < Math.abs(times[best] - time) ? i : best), 0);
    show(e.clientX, e.clientY);
  };
  const leave = () => {
    cursor.setAttribute('visibility', 'hidden');
    hideTip();
  };
  svg.append(cursor);
  svg.addEventListener('pointermove', follow);
  svg.addEventListener('pointerdown', follow);
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    at = Math.max(0, Math.min(times.length - 1, at + step));
    const home = svg.getBoundingClientRect();
    show(home.left + x.at(times[at]), home.top + box.top + 40);
  });
  host.replaceChildren(svg);
}
