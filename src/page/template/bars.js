// bars.js -- time to target: a bar per arm, its interval, a dot per seed, and how many runs never got there.

// The bar, and below it the interval and a dot for each run, so that its number can stand at its end.
function paintBar(x, arm, cell, top, high, left, mid) {
  const tt = cell.tt || {},
    g = draw('g', { class: armClass(arm) }),
    under = top + high + 7;
  const median = tt.median === undefined ? null : tt.median;
  if (median !== null) {
    g.append(
      draw('rect', {
        x: left,
        y: top,
        width: Math.max(1, x.at(median) - left),
        height: high,
        rx: 2,
        class: 'fillbar',
      }),
    );
    if (tt.low !== null && cell.runs > 1) {
      const to = tt.high === null ? x.at(x.to) : x.at(tt.high),
        from = x.at(tt.low);
      g.append(
        draw('path', {
          class: 'whisker',
          d:
            `M${from},${under}H${to}M${from},${under - 4}v8` +
            (tt.high === null
              ? `M${to - 5},${under - 4}L${to},${under}L${to - 5},${under + 4}`
              : `M${to},${under - 4}v8`),
        }),
      );
    }
  } else if (tt.beyond !== null && tt.beyond !== undefined) {
    g.append(
      draw('rect', {
        x: left,
        y: top,
        width: Math.max(1, x.at(tt.beyond) - left),
        height: high,
        rx: 2,
        class: 'openbar',
      }),
    );
  }
  for (const run of DATA.runs)
    if (run.a === arm && run.c === cell.c && run.tt !== null && cell.runs > 1)
      g.append(draw('circle', { cx: x.at(run.tt), cy: under, r: 2.6, class: 'dot' }));
  return g;
}

// "7.75 s", and how many runs never got there.
function barText(cell) {
  const tt = cell.tt || {},
    never = cell.runs - cell.reached,
    known = tt.median !== null && tt.median !== undefined;
  const text = known
    ? showTime(tt.median)
    : tt.beyond !== null && tt.beyond !== undefined
      ? '> ' + showTime(tt.beyond)
      : 'never';
  return [text, never > 0 ? ' · ' + '✕ ' + never + ' of ' + cell.runs + ' never' : '', known];
}

function paintBarText(attrs, cell) {
  const [text, lost, known] = barText(cell);
  return draw(
    'text',
    { ...attrs, class: known ? '' : 'badtext' },
    text,
    lost ? draw('tspan', { class: 'badtext' }, lost) : null,
  );
}

// Where a bar ends.
function barEnd(x, cell, left) {
  const tt = cell.tt || {},
    end = tt.median !== null && tt.median !== undefined ? tt.median : tt.beyond;
  return end === null || end === undefined ? left : Math.max(left, x.at(end));
}

function barTip(arm, cell) {
  const tt = cell.tt || {},
    rows = [];
  if (tt.median !== null && tt.median !== undefined) rows.push([null, 'median', showTime(tt.median)]);
  if (tt.low !== null && tt.low !== undefined)
    rows.push([
      null,
      '95 % interval',
      showTime(tt.low) + ' – ' + (tt.high === null ? 'never' : showTime(tt.high)),
    ]);
  if (tt.least !== null && tt.least !== undefined)
    rows.push([
      null,
      'least and most',
      showTime(tt.least) + ' – ' + (tt.most === null ? 'never' : showTime(tt.most)),
    ]);
  rows.push([null, 'reached it', cell.reached + ' of ' + cell.runs + ' runs']);
  return tipTable(armName(arm) + (DATA.conditions[cell.c] ? ', ' + DATA.conditions[cell.c] : ''), rows);
}

// How long the axis can be so that the text at the end of each bar fits before the edge.
function axisRoom(cells, most, left, edge) {
  const rooms = cells.map(cell => {
    const tt = cell.tt || {},
      end = tt.median !== null && tt.median !== undefined ? tt.median : tt.beyond,
      text = barText(cell).slice(0, 2).join('');
    return end > 0 ? ((edge - left - 12 - textWide(text)) * most) / end : Infinity;
  });
  return Math.max(60, Math.min(edge - left - 10, ...rooms));
}

const CONDITIONS_MOST = 60; // more bars would be no picture

function paintTarget(host, width) {
  const narrow = width < 560,
    cells = DATA.cells.filter(cell => cell.c < CONDITIONS_MOST),
    conditions = DATA.conditions.slice(0, CONDITIONS_MOST);
  const ends = cells.flatMap(cell => [
    cell.tt && cell.tt.high,
    cell.tt && cell.tt.median,
    cell.tt && cell.tt.beyond,
  ]);
  for (const run of DATA.runs) ends.push(run.tt);
  const most = Math.max(0, ...ends.filter(v => v !== null && v !== undefined && isFinite(v)));
  const label = narrow ? 0 : Math.min(220, 20 + 7.5 * Math.max(6, ...DATA.arms.map(name => name.length)));
  const rowHigh = narrow ? 54 : 42,
    groups = conditions.length,
    room = narrow ? width - 10 - label : axisRoom(cells, most || 1, label, width);
  const height = groups * DATA.arms.length * rowHigh + (groups > 1 ? groups * 30 : 4) + 42;
  const svg = drawing(width, height, 'Time to target, a bar for each arm');
  const x = scaleOf({
    from: 0,
    to: most || 1,
    log: false,
    pixels: [label, label + room],
    edge: width,
    kind: 'time',
    count: Math.max(3, Math.floor(room / 90)),
  });
  const bottom = height - 38;
  for (const [v, text] of x.ticks) {
    svg.append(draw('line', { x1: x.at(v), x2: x.at(v), y1: 4, y2: bottom, class: 'gridline' }));
    svg.append(
      draw(
        'text',
        { x: x.at(v), y: bottom + 16, 'text-anchor': v === 0 && narrow ? 'start' : 'middle', class: 'tick' },
        text,
      ),
    );
  }
  svg.append(draw('text', { x: label, y: bottom + 33, class: 'soft' }, 'Time (' + x.unit.name + ')'));
  let top = 4;
  conditions.forEach((name, c) => {
    if (groups > 1) {
      svg.append(shortText({ x: 0, y: top + 19, 'font-weight': 600 }, name, width));
      top += 28;
    }
    DATA.arms.forEach((armText, arm) => {
      const cell = cells.find(one => one.a === arm && one.c === c);
      if (cell) {
        const barTop = narrow ? top + 20 : top + 6,
          high = 18,
          mid = barTop + high / 2;
        svg.append(
          narrow
            ? shortText(
                { x: 0, y: top + 14 },
                armText,
                width - 20 - 7 * barText(cell).slice(0, 2).join('').length,
              )
            : shortText({ x: label - 10, y: mid + 4, 'text-anchor': 'end' }, armText, label - 10),
        );
        svg.append(paintBar(x, arm, cell, barTop, high, label, mid));
        svg.append(
          narrow
            ? paintBarText({ x: width - 4, y: top + 14, 'text-anchor': 'end' }, cell)
            : paintBarText({ x: barEnd(x, cell, label) + 8, y: mid + 4 }, cell),
        );
        svg.append(
          withTip(draw('rect', { x: 0, y: top, width, height: rowHigh, class: 'hit' }), () =>
            barTip(arm, cell),
          ),
        );
      }
      top += rowHigh;
    });
    if (groups > 1) top += 2;
  });
  host.replaceChildren(svg);
}

function startTarget() {
  const goal = DATA.targets.find(Boolean);
  if (!goal) {
    $('target').remove();
    return;
  }
  const kind = goal.kind.endsWith('accuracy') ? 'share' : 'plain';
  const same = DATA.targets.every(each => each && each.kind === goal.kind && each.value === goal.value);
  $('target-note').textContent =
    (same
      ? 'Until ' +
        metricTitle(goal.kind).toLowerCase() +
        ' is ' +
        (kind === 'share' ? 'at least ' : 'at most ') +
        SHOW[kind](goal.value)
      : 'Until the target of each condition') +
    (DATA.runs.length > DATA.cells.length
      ? '. Bars are medians, whiskers 95 % intervals of the median, dots single runs.'
      : '.') +
    (DATA.conditions.length > CONDITIONS_MOST
      ? ' The first ' +
        CONDITIONS_MOST +
        ' of ' +
        DATA.conditions.length +
        ' conditions are drawn; the table has all.'
      : '');
  keepDrawn($('target-chart'), width => paintTarget($('target-chart'), width));
}
