// timelines.js -- a run of every arm, one below another on one time axis, the winner first.

const lines = { condition: 0, from: 0, to: 1, until: 1, list: [], again: null };
const LINES_MOST = 6,
  LINE_NODES = 16;

// The first run of each arm that left a timeline, in the order of the answer.
function timelinesOf(condition) {
  const list = [];
  for (const arm of DATA.order[condition] || []) {
    const detail = DATA.details.find(
      d =>
        DATA.runs[d.run].a === arm &&
        DATA.runs[d.run].c === condition &&
        d.timeline &&
        d.timeline.node.length,
    );
    if (detail) list.push({ arm, detail, nodes: detail.timeline.node.slice(0, LINE_NODES) });
  }
  return list;
}

function lineWindow() {
  lines.until = Math.min(...lines.list.map(one => one.detail.timeline.until));
  lines.from = 0;
  lines.to = lines.until;
  const most = Math.max(10, Math.min(30, Math.floor($('timelines-chart').clientWidth / 36)));
  for (const { spans } of lines.list)
    for (const each of spans) {
      const jobs = each.filter(s => s[0] === 'compute').sort((p, q) => p[1] - q[1]);
      if (jobs.length > most) lines.to = Math.min(lines.to, jobs[most - 1][2]);
    }
}

// "7.75 s to the target, computing 83.0 % of the time": of the run that is drawn. What workers did until a
// target that the run was not made for is not known.
function lineFacts({ detail }) {
  const run = DATA.runs[detail.run],
    workers = detail.workers || [],
    sum = k => workers.reduce((all, w) => all + (w.time[k] || 0), 0);
  const all = sum(0) + sum(1) + sum(2),
    facts = [];
  if (run.tt !== null) facts.push(showTime(run.tt) + ' to the target');
  else if (detail.time) facts.push(showTime(detail.time) + ' in all');
  if (all > 0 && !run.re) facts.push('computing ' + showShare(sum(0) / all) + ' of the time');
  return facts.join(', ');
}

function paintTimelines(host, width) {
  const label =
      width < 520
        ? 64
        : Math.min(
            150,
            14 + 7 * Math.max(...lines.list.flatMap(one => one.nodes.map(n => nodeName(n).length))),
          ),
    row = 15,
    head = 26;
  const height = lines.list.reduce((all, one) => all + head + one.nodes.length * row + 8, 0) + 40,
    bottom = height - 40;
  const x = scaleOf({
    from: lines.from,
    to: lines.to,
    log: false,
    pixels: [label, width - 10],
    edge: width,
    kind: 'time',
    count: Math.max(3, Math.floor((width - label) / 100)),
  });
  const svg = drawing(width, height, 'What each node did over time, arm by arm, on one axis');
  for (const [v] of x.ticks)
    svg.append(draw('line', { x1: x.at(v), x2: x.at(v), y1: 0, y2: bottom, class: 'gridline' }));
  let top = 0;
  for (const one of lines.list) {
    const facts = lineFacts(one),
      name = armName(one.arm),
      room = width - 22;
    const title = draw(
      'text',
      { x: 18, y: top + 17 },
      draw(
        'tspan',
        { 'font-weight': 600 },
        name.length * 7.5 > room ? name.slice(0, Math.floor(room / 7.5) - 1) + '…' : name,
      ),
    );
    if ((name.length + facts.length + 2) * 7 < room)
      title.append(draw('tspan', { class: 'soft', dx: 10 }, facts));
    svg.append(
      draw('rect', { x: 2, y: top + 7, width: 10, height: 10, rx: 2, class: 'fillbar ' + armClass(one.arm) }),
      title,
    );
    top += head;
    one.nodes.forEach((node, i) => {
      svg.append(
        shortText(
          { x: label - 8, y: top + row / 2 + 4, 'text-anchor': 'end', class: 'tick' },
          rowName(node, width),
          label - 8,
        ),
      );
      const inside = draw('g', {});
      paintRow(inside, x, one.spans[i], top + 1, row - 3, lines);
      svg.append(withTip(inside, () => tipTable(name, [[null, nodeName(node), '']])));
      top += row;
    });
    top += 8;
  }
  for (const [v, text] of x.ticks) {
    svg.append(draw('line', { x1: x.at(v), x2: x.at(v), y1: bottom, y2: bottom + 4, class: 'axis' }));
    svg.append(draw('text', { x: x.at(v), y: bottom + 17, 'text-anchor': 'middle', class: 'tick' }, text));
  }
  svg.append(draw('line', { x1: label, x2: x.right, y1: bottom, y2: bottom, class: 'axis' }));
  svg.append(
    draw(
      'text',
      { x: x.right, y: bottom + 34, 'text-anchor': 'end', class: 'soft' },
      'Time (' + x.unit.name + ')',
    ),
  );
  host.replaceChildren(svg);
}

function describeTimelines() {
  const runs = lines.list.map(one => DATA.runs[one.detail.run]),
    lasts = lines.list.map(one => one.detail.time || one.detail.timeline.until);
  const least = Math.min(...lasts),
    most = Math.max(...lasts),
    seeds = [...new Set(runs.map(run => run.s))],
    text = [];
  const part =
    lines.from > 0
      ? 'From ' + showTime(lines.from) + ' to ' + showTime(lines.to) + ' of'
      : lines.to < 0.999 * most
        ? 'The first ' + showTime(lines.to) + ' of'
        : 'The whole of';
  text.push(
    part +
      ' runs that last ' +
      (showTime(least) === showTime(most) ? showTime(least) : showTime(least) + ' to ' + showTime(most)) +
      (seeds.length === 1 ? ' (seed ' + seeds[0] + ').' : '.'),
  );
  if (lines.until < least * 0.999)
    text.push('Recorded until ' + showTime(lines.until) + ': a timeline holds a run’s first 2,000 spans.');
  if (lines.list.some(one => one.detail.timeline.nodes > one.nodes.length))
    text.push('Of a run with more than ' + LINE_NODES + ' nodes, only some are drawn.');
  if (DATA.arms.length > lines.list.length)
    text.push(lines.list.length + ' of ' + DATA.arms.length + ' arms are drawn.');
  $('timelines-note').textContent = text.join(' ');
}

function lookAlong(from, to) {
  const span = Math.max(lines.until / 20000, Math.min(lines.until, to - from));
  lines.from = Math.max(0, Math.min(from, lines.until - span));
  lines.to = lines.from + span;
  describeTimelines();
  lines.again();
}

function startTimelines() {
  const fits = c => timelinesOf(c).length > 1,
    host = $('timelines-chart');
  const conditions = DATA.conditions.map((_, c) => c).filter(fits);
  if (!conditions.length) {
    $('timelines').remove();
    return;
  }
  const choose = c => {
    lines.condition = c;
    lines.list = timelinesOf(c).slice(0, LINES_MOST);
    for (const one of lines.list) one.spans = one.nodes.map(node => spansOf(one.detail.timeline, node));
    lineWindow();
    kindsLegend(
      $('timelines-legend'),
      lines.list.flatMap(one => one.spans),
    );
    describeTimelines();
  };
  choose(conditions[0]);
  lines.again = keepDrawn(host, width => paintTimelines(host, width));
  const zoom = by => {
    const mid = (lines.from + lines.to) / 2,
      half = ((lines.to - lines.from) / 2) * by;
    lookAlong(lines.from === 0 ? 0 : mid - half, lines.from === 0 ? 2 * half : mid + half);
  };
  const pan = by =>
    lookAlong(lines.from + (lines.to - lines.from) * by, lines.to + (lines.to - lines.from) * by);
  const button = (text, label, act) =>
    make('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  $('timelines-controls').append(
    ...[
      conditions.length > 1
        ? chooser(
            'Under',
            conditions.map(c => [c, DATA.conditions[c]]),
            conditions[0],
            v => {
              choose(Number(v));
              lines.again();
            },
          )
        : null,
      button('+', 'look closer', () => zoom(0.5)),
      button('−', 'see more', () => zoom(2)),
      button('◀', 'earlier', () => pan(-0.5)),
      button('▶', 'later', () => pan(0.5)),
      button('whole', 'all that was recorded of every arm', () => lookAlong(0, lines.until)),
    ].filter(Boolean),
  );
}
