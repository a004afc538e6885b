// run.js -- one run: its timeline, where each worker's time went, and the data that each holds.

const KINDS = [
  ['compute', 'computes'],
  ['cancelled', 'computes, cancelled'],
  ['send', 'sends'],
  ['receive', 'receives'],
  ['collective', 'waits in a collective'],
  ['wait', 'waits'],
];
const gantt = { detail: null, spans: [], from: 0, to: 1, again: null };

const nodeName = node =>
  (node.role === 'server' ? 'server' : 'worker ' + node.id) +
  (node.name && node.role !== 'server' ? ' (' + node.name + ')' : '');
// Beside a row of a timeline; on narrow screens without the word "worker".
const rowName = (node, width) =>
  width >= 520
    ? nodeName(node)
    : node.role === 'server'
      ? 'server'
      : node.id + (node.name ? ' ' + node.name : '');
function runName(detail) {
  const run = DATA.runs[detail.run],
    condition = DATA.conditions[run.c];
  return (
    armName(run.a) +
    (condition ? ', ' + condition : '') +
    ', seed ' +
    run.s +
    (run.st === 'ok' ? '' : ', ' + run.st)
  );
}

// From gaps and lengths in ticks to seconds: [kind, from, to].
function spansOf(timeline, node) {
  const spans = [],
    second = (timeline.until - timeline.from) / timeline.ticks;
  for (const kind of ['collective', 'receive', 'send', 'cancelled', 'compute']) {
    const list = node[kind] || [];
    for (let i = 0, at = 0; i + 1 < list.length; i += 2) {
      const from = at + list[i];
      at = from + list[i + 1];
      spans.push([kind, timeline.from + from * second, timeline.from + at * second]);
    }
  }
  return spans;
}

// ---- Timeline ------------------------------------------------------------------------------------------

function ganttTip(node, spans, time) {
  const now = spans.filter(s => s[1] <= time && time <= s[2]);
  const pick = ['compute', 'cancelled', 'send', 'receive', 'collective']
    .map(kind => now.find(s => s[0] === kind))
    .filter(Boolean);
  const rows = pick.map(([kind, from, to]) => [null, KINDS.find(k => k[0] === kind)[1], showTime(to - from)]);
  const last = Math.max(0, ...spans.map(s => s[2]));
  if (!rows.length) rows.push([null, time <= last ? 'waits' : 'not recorded', '']);
  return tipTable(nodeName(node) + ' at ' + showTime(time), rows);
}

function paintRow(inside, x, spans, top, high, view) {
  const last = Math.max(view.from, ...spans.map(s => s[2]));
  if (last > view.from)
    inside.append(
      draw('rect', {
        x: x.at(view.from),
        y: top,
        width: Math.max(0, x.at(Math.min(last, view.to)) - x.at(view.from)),
        height: high,
        class: 'wait',
      }),
    );
  for (const [kind, from, to] of spans) {
    if (to < view.from || from > view.to) continue;
    const thin = kind === 'send' || kind === 'receive',
      half = high / 2;
    const y = kind === 'receive' ? top + half : top,
      tall = thin ? half : high;
    const a = Math.max(x.at(from), x.at(view.from)),
      b = Math.min(x.at(to), x.at(view.to));
    inside.append(
      draw('rect', { x: a.toFixed(2), y, width: Math.max(0.6, b - a).toFixed(2), height: tall, class: kind }),
    );
  }
}

function paintGantt(host, width) {
  const timeline = gantt.detail && gantt.detail.timeline;
  if (!timeline || !timeline.node.length) {
    return host.replaceChildren();
  }
  const names = timeline.node.map(nodeName),
    label = width < 520 ? 84 : Math.min(170, 14 + 7 * Math.max(...names.map(n => n.length)));
  const row = timeline.node.length > 16 ? 18 : 24,
    height = timeline.node.length * row + 48;
  const x = scaleOf({
    from: gantt.from,
    to: gantt.to,
    log: false,
    pixels: [label, width - 10],
    edge: width,
    kind: 'time',
    count: Math.max(3, Math.floor((width - label) / 100)),
  });
  const svg = drawing(width, height, 'What each node did over time; drag to zoom', { tabindex: 0 });
  const bottom = height - 42;
  timeline.node.forEach((node, i) => {
    svg.append(
      shortText(
        { x: label - 8, y: i * row + row / 2 + 4, 'text-anchor': 'end' },
        rowName(node, width),
        label - 8,
      ),
    );
    const inside = draw('g', {});
    paintRow(inside, x, gantt.spans[i], i * row + 2, row - 5, gantt);
    svg.append(inside);
  });
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
  const zone = draw('rect', { x: 0, y: 0, width: 0, height: bottom, class: 'zone' });
  svg.append(zone);
  dragToZoom(svg, x, zone, label, x.right, (px, py, e) => {
    const i = Math.floor(py / row);
    if (px < label || i < 0 || i >= timeline.node.length) return hideTip();
    showTip(ganttTip(timeline.node[i], gantt.spans[i], x.back(px)), e.clientX, e.clientY);
  });
  host.replaceChildren(svg);
}

function dragToZoom(svg, x, zone, left, right, hover) {
  let start = null;
  const place = e => {
    const home = svg.getBoundingClientRect();
    return [e.clientX - home.left, e.clientY - home.top];
  };
  svg.addEventListener('pointerdown', e => {
    const [px, py] = place(e);
    hover(px, py, e);
    if (e.pointerType === 'mouse' && px >= left) start = px;
  });
  svg.addEventListener('pointermove', e => {
    const [px, py] = place(e);
    hover(px, py, e);
    if (start === null) return;
    const now = Math.max(left, Math.min(right, px));
    zone.setAttribute('x', Math.min(start, now));
    zone.setAttribute('width', Math.abs(now - start));
  });
  const end = e => {
    if (start === null) return;
    const [px] = place(e),
      now = Math.max(left, Math.min(right, px)),
      from = Math.min(start, now),
      to = Math.max(start, now);
    start = null;
    zone.setAttribute('width', 0);
    if (to - from > 6) look(x.back(from), x.back(to));
  };
  svg.addEventListener('pointerup', end);
  svg.addEventListener('pointerleave', e => {
    end(e);
    hideTip();
  });
  svg.addEventListener('keydown', e => {
    const act = {
      ArrowLeft: () => pan(-0.25),
      ArrowRight: () => pan(0.25),
      '+': () => zoom(0.5),
      '=': () => zoom(0.5),
      '-': () => zoom(2),
    }[e.key];
    if (act) {
      e.preventDefault();
      act();
    }
  });
}

// Shows from..to, kept within what was recorded.
function look(from, to) {
  const timeline = gantt.detail.timeline,
    whole = timeline.until - timeline.from;
  const span = Math.max(whole / 20000, Math.min(whole, to - from));
  gantt.from = Math.max(timeline.from, Math.min(from, timeline.until - span));
  gantt.to = gantt.from + span;
  hideTip();
  gantt.again();
}
const zoom = by => {
  const mid = (gantt.from + gantt.to) / 2,
    half = ((gantt.to - gantt.from) / 2) * by;
  look(mid - half, mid + half);
};
const pan = by => {
  const step = (gantt.to - gantt.from) * by;
  look(gantt.from + step, gantt.to + step);
};

// At first only as much as can be told apart: some jobs of the busiest node.
function firstLook(timeline) {
  const most = Math.max(10, Math.min(30, Math.floor($('gantt-chart').clientWidth / 36)));
  let end = timeline.until;
  gantt.spans.forEach(spans => {
    const jobs = spans.filter(s => s[0] === 'compute').sort((p, q) => p[1] - q[1]);
    if (jobs.length > most) end = Math.min(end, jobs[most - 1][2]);
  });
  gantt.from = timeline.from;
  gantt.to = end;
}

function kindsLegend(host, all) {
  const used = new Set(['wait']);
  all.forEach(spans => spans.forEach(s => used.add(s[0])));
  host.replaceChildren(
    ...KINDS.filter(([kind]) => used.has(kind)).map(([kind, text]) =>
      make(
        'span',
        { class: 'item' },
        draw(
          'svg',
          { width: 16, height: 14, 'aria-hidden': 'true' },
          draw('rect', {
            x: 0,
            y: kind === 'receive' ? 7 : 1,
            width: 16,
            height: kind === 'send' || kind === 'receive' ? 6 : 12,
            class: kind,
          }),
        ),
        text,
      ),
    ),
  );
}

// ---- Where time went, and data ---------------------------------------------------------------------------

function paintShares(host, width) {
  const detail = gantt.detail,
    workers = detail.workers || [];
  if (!workers.length) {
    return host.replaceChildren();
  }
  const label = width < 520 ? 84 : Math.min(170, 14 + 7 * Math.max(...workers.map(w => nodeName(w).length)));
  const row = workers.length > 20 ? 16 : 24,
    height = workers.length * row + 4,
    right = width - 58;
  const svg = drawing(width, height, 'Shares of each worker’s time');
  workers.forEach((worker, i) => {
    const all = worker.time.reduce((p, q) => p + (q || 0), 0) || 1;
    let at = label;
    svg.append(
      shortText(
        { x: label - 8, y: i * row + row / 2 + 4, 'text-anchor': 'end' },
        width < 520 ? worker.id + (worker.name ? ' ' + worker.name : '') : nodeName(worker),
        label - 8,
      ),
    );
    ['compute', 'send', 'wait'].forEach((kind, k) => {
      const wide = ((worker.time[k] || 0) / all) * (right - label);
      svg.append(draw('rect', { x: at, y: i * row + 3, width: wide, height: row - 6, class: kind }));
      at += wide;
    });
    svg.append(
      draw(
        'text',
        { x: right + 8, y: i * row + row / 2 + 4, class: 'soft' },
        showShare((worker.time[0] || 0) / all),
      ),
    );
    svg.append(
      withTip(draw('rect', { x: 0, y: i * row, width, height: row, class: 'hit' }), () =>
        tipTable(nodeName(worker), [
          [null, 'computed', showTime(worker.time[0] || 0) + ', ' + showShare((worker.time[0] || 0) / all)],
          [
            null,
            'sent and received',
            showTime(worker.time[1] || 0) + ', ' + showShare((worker.time[1] || 0) / all),
          ],
          [null, 'waited', showTime(worker.time[2] || 0) + ', ' + showShare((worker.time[2] || 0) / all)],
          [null, 'jobs', showCount(worker.jobs || 0)],
          [null, 'of which used', showCount(worker.updates || 0)],
        ]),
      ),
    );
  });
  host.replaceChildren(svg);
}

// Colour says how far a count is from an equal share: what the worker would hold if its rows were like all
// rows.
function paintData(host, width) {
  const detail = gantt.detail,
    workers = detail.workers || [],
    classes = workers.length && workers[0].classes ? workers[0].classes.length : 0,
    note = $('data-note'),
    words = [];
  const most = Math.max(1, ...workers.map(w => w.rows || 0)),
    names = detail.class_names || [],
    className = c => names[c] || String(c);
  const held = Array.from({ length: classes }, (_, c) =>
      workers.reduce((sum, w) => sum + (w.classes || [])[c], 0),
    ),
    all = held.reduce((p, q) => p + q, 0) || 1;
  note.textContent = '';
  $('data-by-class').hidden = !workers.length || workers[0].rows === null || workers[0].rows === undefined;
  if ($('data-by-class').hidden) return host.replaceChildren();
  paintHeat(host, width, {
    label: 'Rows of each class that each worker holds',
    corner: classes ? 'class' : '',
    total: 'rows',
    columns: held.map((_, c) => className(c)),
    rows: workers.map(worker => ({
      name: width < 520 ? worker.id + (worker.name ? ' ' + worker.name : '') : nodeName(worker),
      total: showCount(worker.rows),
      bar: worker.rows / most,
      cells: classes
        ? worker.classes.map((n, c) =>
            shareCell(n, (worker.rows * held[c]) / all, () =>
              tipTable(nodeName(worker), [
                [null, className(c), showCount(n) + ' rows'],
                [null, 'of its ' + showCount(worker.rows), showShare(worker.rows ? n / worker.rows : 0)],
                [null, 'an equal share', showCount((worker.rows * held[c]) / all) + ' rows'],
              ]),
            ),
          )
        : [],
    })),
  });
  if (classes) words.push('Blue: more of the class than an equal share, red: less; pale: about equal.');
  const left = detail.workers_of_run - workers.length;
  if (left > 0)
    words.push(workers.length + ' of ' + showCount(detail.workers_of_run) + ' workers, evenly chosen.');
  else if (!classes)
    words.push(
      'The labels are numbers to predict, or the classes are too many to list: only rows are counted.',
    );
  note.textContent = words.join(' ');
}

// Commands and settings are in backquotes.
const withCommands = text => text.split('`').map((part, n) => (n % 2 ? make('code', {}, part) : part));

function startRun() {
  const details = DATA.details.slice().sort((p, q) => p.run - q.run);
  if (!details.length) {
    $('run').remove();
    return;
  }
  let redraw = [];
  const choose = i => {
    const detail = (gantt.detail = details[i]),
      timeline = detail.timeline;
    gantt.spans = timeline ? timeline.node.map(node => spansOf(timeline, node)) : [];
    $('run-verdict').replaceChildren(
      ...withCommands(detail.verdict),
      DATA.runs[detail.run].re ? ' (This run was made for another target; this covers all of it.)' : '',
    );
    const parts = [];
    if (detail.parts) parts.push('Before the first update ' + detail.parts + '.');
    if (detail.samples)
      parts.push(
        'Workers computed ' +
          showCount(detail.samples[1]) +
          ' samples; ' +
          showCount(detail.samples[0]) +
          ' went into updates, each counted once.',
      );
    $('run-parts').textContent = parts.join(' ');
    describeCode(detail.code);
    describeMixed(detail);
    describeTraffic(detail);
    const notes = [];
    $('gantt').hidden = !timeline || !timeline.node.length;
    $('shares').hidden = !(detail.workers || []).length;
    if (timeline) {
      firstLook(timeline);
      kindsLegend($('gantt-legend'), gantt.spans);
      if (gantt.to < 0.999 * (detail.time || timeline.until))
        notes.push(
          'At first it shows ' +
            showTime(gantt.to - gantt.from) +
            ' of the run’s ' +
            showTime(detail.time || timeline.until) +
            '.',
        );
      if (timeline.cut)
        notes.push(
          'Recorded until ' +
            showTime(timeline.until) +
            ': a timeline holds a run’s first 2,000 spans. ' +
            (detail.trace
              ? 'Its folder’s trace.json, for Perfetto, has more.'
              : 'With trace: true a run also writes trace.json, for Perfetto, which has more.'),
        );
      if (timeline.nodes > timeline.node.length)
        notes.push(timeline.node.length + ' of ' + showCount(timeline.nodes) + ' nodes, evenly chosen.');
      if (detail.driver === 'mpi') notes.push('Over MPI only what rank 0 saw.');
    }
    $('gantt-note').textContent = notes.join(' ');
    redraw.forEach(again => again());
  };
  gantt.detail = details[0];
  choose(0);
  gantt.again = keepDrawn($('gantt-chart'), width => paintGantt($('gantt-chart'), width));
  redraw = [
    gantt.again,
    keepDrawn($('share-chart'), width => paintShares($('share-chart'), width)),
    keepDrawn($('data-chart'), width => paintData($('data-chart'), width)),
    keepDrawn($('mixed-chart'), width => paintMixed($('mixed-chart'), width, gantt.detail)),
    keepDrawn($('traffic-chart'), width => paintTraffic($('traffic-chart'), width, gantt.detail)),
    keepDrawn($('topology-chart'), width => paintTopology($('topology-chart'), width, gantt.detail)),
    keepDrawn($('code-chart'), width => paintCode($('code-chart'), width, gantt.detail.code)),
  ];
  if (details.length > 1)
    $('run-controls').append(
      chooser(
        'Run',
        details.map((detail, i) => [i, runName(detail)]),
        0,
        v => choose(Number(v)),
      ),
    );
  if (DATA.details_left_out)
    $('run-controls').append(
      make(
        'span',
        { class: 'soft' },
        showCount(DATA.details_left_out) + ' more runs are left out here to keep the file small.',
      ),
    );
  const button = (text, label, act) =>
    make(
      'button',
      { type: 'button', 'aria-label': label, title: label, onclick: () => gantt.detail.timeline && act() },
      text,
    );
  $('gantt-controls').append(
    button('+', 'look closer', () => zoom(0.5)),
    button('−', 'see more', () => zoom(2)),
    button('◀', 'earlier', () => pan(-0.5)),
    button('▶', 'later', () => pan(0.5)),
    button('whole', 'all that was recorded', () =>
      look(gantt.detail.timeline.from, gantt.detail.timeline.until),
    ),
    make('span', { class: 'soft mouse' }, 'or drag across it'),
  );
  $('share-legend').append(
    ...[
      ['compute', 'computing'],
      ['send', 'a message in flight'],
      ['wait', 'waiting'],
    ].map(([kind, text]) =>
      make(
        'span',
        { class: 'item' },
        draw(
          'svg',
          { width: 16, height: 14, 'aria-hidden': 'true' },
          draw('rect', { x: 0, y: 1, width: 16, height: 12, class: kind }),
        ),
        text,
      ),
    ),
  );
}
