// traffic.js -- who sends to whom: a row per sender, a column per receiver; among many nodes, neighbours are
// drawn together.

// The rows and columns: [first node, last node, whether servers].
function trafficBlocks(detail) {
  const { together, servers } = detail.traffic,
    workers = detail.workers_of_run,
    blocks = [];
  for (let i = 0; i < workers; i += together) blocks.push([i, Math.min(i + together, workers) - 1, false]);
  for (let i = 0; i < servers; i += together)
    blocks.push([workers + i, workers + Math.min(i + together, servers) - 1, true]);
  return blocks;
}
function blockName(detail, [first, last, server]) {
  const { servers } = detail.traffic,
    base = server ? detail.workers_of_run : 0,
    kind = server ? 'server' : 'worker';
  if (server && servers === 1) return kind;
  return first === last ? kind + ' ' + (first - base) : kind + 's ' + (first - base) + '–' + (last - base);
}

function describeTraffic(detail) {
  const traffic = detail.traffic,
    text = [];
  $('traffic').hidden = !traffic || !traffic.sent.length;
  if ($('traffic').hidden) return;
  const blocks = trafficBlocks(detail),
    nodes = detail.workers_of_run + traffic.servers;
  const bytes = traffic.sent.reduce((p, pair) => p + pair[2], 0),
    messages = traffic.sent.reduce((p, pair) => p + pair[3], 0);
  const most = traffic.sent.reduce((p, q) => (q[2] > p[2] ? q : p)),
    nameOf = node =>
      blockName(
        detail,
        blocks.find(b => b[0] <= node && node <= b[1]),
      );
  text.push('Rows are senders, columns are receivers; the stronger a cell’s colour, the more bytes.');
  if (traffic.together > 1)
    text.push(
      'The run had ' +
        showCount(nodes) +
        ' nodes: each row and column stands for up to ' +
        showCount(traffic.together) +
        ' neighbours together.',
    );
  text.push(
    'In all ' +
      showSize(bytes) +
      ' in ' +
      showCount(messages) +
      ' messages, most from ' +
      nameOf(most[0]) +
      ' to ' +
      nameOf(most[1]) +
      ' (' +
      showSize(most[2]) +
      ').',
  );
  if (traffic.together === 1)
    text.push(showCount(traffic.sent.length) + ' of ' + showCount(nodes * (nodes - 1)) + ' pairs were used.');
  $('traffic-note').textContent = text.join(' ');
}

function trafficTip(detail, blocks, row, column, pair) {
  const head = 'from ' + blockName(detail, blocks[row]) + ' to ' + blockName(detail, blocks[column]);
  return tipTable(
    head,
    pair
      ? [
          [null, 'bytes', showSize(pair[2])],
          [null, 'messages', showCount(pair[3])],
        ]
      : [[null, 'nothing', '']],
  );
}

function paintTraffic(host, width, detail) {
  if (!detail.traffic || !detail.traffic.sent.length) return host.replaceChildren();
  const blocks = trafficBlocks(detail),
    n = blocks.length,
    label = width < 520 ? 64 : 130,
    top = 40;
  const cell = Math.max(3, Math.min(40, (width - label - 14) / n, 560 / n)),
    side = cell * n,
    height = top + side + 6;
  const at = node => blocks.findIndex(b => b[0] <= node && node <= b[1]);
  const pairs = new Map(detail.traffic.sent.map(pair => [at(pair[0]) * n + at(pair[1]), pair])),
    most = Math.max(1, ...detail.traffic.sent.map(pair => pair[2]));
  const svg = drawing(
    width,
    height,
    'Bytes from each sender, by row, to each receiver, by column; arrow keys go from one to the next',
    { tabindex: 0 },
  );
  svg.append(
    draw('text', { x: label, y: 12, class: 'soft' }, 'to'),
    draw('text', { x: label - 8, y: 12, 'text-anchor': 'end', class: 'soft' }, 'from'),
  );
  const short = ([first, , server]) =>
      server ? (detail.traffic.servers === 1 ? 'S' : 'S' + (first - detail.workers_of_run)) : String(first),
    each = room => Math.max(1, Math.ceil(room / cell));
  blocks.forEach((block, i) => {
    const server = block[2];
    if (i % each(26) === 0 || server)
      svg.append(
        draw(
          'text',
          { x: label + (i + 0.5) * cell, y: top - 6, 'text-anchor': 'middle', class: 'tick' },
          short(block),
        ),
      );
    if (i % each(15) === 0 || server)
      svg.append(
        shortText(
          { x: label - 8, y: top + (i + 0.5) * cell + 4, 'text-anchor': 'end', class: 'tick' },
          width < 520 ? short(block) : blockName(detail, block),
          label - 8,
        ),
      );
  });
  svg.append(draw('rect', { x: label, y: top, width: side, height: side, class: 'wait' }));
  for (const [key, pair] of pairs)
    svg.append(
      draw('rect', {
        x: (label + (key % n) * cell).toFixed(2),
        y: (top + Math.floor(key / n) * cell).toFixed(2),
        width: cell.toFixed(2),
        height: cell.toFixed(2),
        class: 'heat' + (cell > 6 ? ' cell' : ''),
        'fill-opacity': (0.1 + (0.9 * pair[2]) / most).toFixed(3),
      }),
    );
  const chosen = draw('rect', { width: cell, height: cell, class: 'chosen', visibility: 'hidden' });
  svg.append(chosen);
  let row = 0,
    column = 0;
  const show = (px, py) => {
    chosen.setAttribute('x', label + column * cell);
    chosen.setAttribute('y', top + row * cell);
    chosen.setAttribute('visibility', 'visible');
    showTip(trafficTip(detail, blocks, row, column, pairs.get(row * n + column)), px, py);
  };
  const leave = () => {
    chosen.setAttribute('visibility', 'hidden');
    hideTip();
  };
  const follow = e => {
    const home = svg.getBoundingClientRect(),
      c = Math.floor((e.clientX - home.left - label) / cell),
      r = Math.floor((e.clientY - home.top - top) / cell);
    if (c < 0 || r < 0 || c >= n || r >= n) return leave();
    [row, column] = [r, c];
    show(e.clientX, e.clientY);
  };
  svg.addEventListener('pointermove', follow);
  svg.addEventListener('pointerdown', follow);
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
    if (!step) return;
    e.preventDefault();
    row = Math.max(0, Math.min(n - 1, row + step[0]));
    column = Math.max(0, Math.min(n - 1, column + step[1]));
    const home = svg.getBoundingClientRect();
    show(home.left + label + (column + 1) * cell, home.top + top + row * cell);
  });
  host.replaceChildren(svg);
}

// ---- The topology: workers on a circle, a line where two of them exchange models ------------------------

const TOPOLOGY_MOST = 32;
function paintTopology(host, width, detail) {
  const traffic = detail.traffic,
    n = detail.workers_of_run;
  if (!detail.mixed || !traffic || traffic.together > 1 || n < 3 || n > TOPOLOGY_MOST)
    return host.replaceChildren();
  const side = Math.min(width, 340),
    mid = side / 2,
    radius = mid - 40,
    place = i => [
      mid + radius * Math.sin((2 * Math.PI * i) / n),
      mid - radius * Math.cos((2 * Math.PI * i) / n),
    ];
  const pairs = new Map();
  for (const [from, to, bytes] of traffic.sent)
    if (from < n && to < n)
      pairs.set(
        Math.min(from, to) * n + Math.max(from, to),
        (pairs.get(Math.min(from, to) * n + Math.max(from, to)) || 0) + bytes,
      );
  const most = Math.max(1, ...pairs.values());
  const svg = drawing(side, side, 'Which workers exchange models: a line joins two that do');
  for (const [key, bytes] of pairs) {
    const [ax, ay] = place(Math.floor(key / n)),
      [bx, by] = place(key % n);
    svg.append(
      withTip(
        draw('line', {
          x1: ax,
          y1: ay,
          x2: bx,
          y2: by,
          class: 'edge',
          'stroke-width': (1 + (2 * bytes) / most).toFixed(1),
        }),
        () =>
          tipTable('workers ' + Math.floor(key / n) + ' and ' + (key % n), [
            [null, 'both ways', showSize(bytes)],
          ]),
      ),
    );
  }
  for (let i = 0; i < n; i++) {
    const [px, py] = place(i),
      worker = (detail.workers || []).find(w => w.id === i) || { id: i, name: '' };
    svg.append(
      withTip(draw('circle', { cx: px, cy: py, r: n > 20 ? 8 : 12, class: 'compute' }), () =>
        tipTable(nodeName(worker), []),
      ),
    );
    svg.append(
      draw(
        'text',
        { x: px, y: py + 4, 'text-anchor': 'middle', class: 'onheat', 'pointer-events': 'none' },
        String(i),
      ),
    );
  }
  host.replaceChildren(svg);
}
