// code.js -- the code of a run: its matrix, with a row per role and a column per part, and how often each
// part was used.

// A character of the matrix: [how much colour, 0 to 1, and whether it is negative].
function shadeOf(c) {
  if (c >= '1' && c <= '9') return [Number(c) / 9, false];
  if (c >= 'a' && c <= 'i') return [(c.charCodeAt(0) - 96) / 9, true];
  return [0, false];
}

// The numbers that a row or column stands for: '3', or '6 to 8' where the picture is coarser than the matrix.
function spanOf(i, shown, all) {
  const from = Math.ceil((i * all) / shown),
    to = Math.ceil(((i + 1) * all) / shown) - 1;
  return to > from ? from + ' to ' + to : String(from);
}

function describeCode(code) {
  $('code').hidden = !code;
  if (!code) return;
  const rows = code.matrix.length,
    columns = code.matrix[0].length,
    text = [];
  const promise = code.stragglers
    ? 'exact with any ' + showCount(code.stragglers) + ' missing'
    : code.approximate
      ? 'approximate if anyone is missing'
      : 'exact if all answer';
  text.push(
    code.name +
      ': ' +
      showCount(code.roles) +
      ' roles, ' +
      showCount(code.parts) +
      ' parts, ' +
      showPlain(code.load) +
      ' for each role; ' +
      promise +
      '.',
  );
  text.push(
    'Rows are roles, columns are parts; the stronger a cell’s colour, the larger the coefficient' +
      (code.matrix.some(row => /[a-i]/.test(row)) ? '; negative ones are red.' : '.'),
  );
  if (rows < code.roles || columns < code.parts)
    text.push('Neighbours are drawn together: a cell is their mean.');
  if (code.used)
    text.push(
      'Below it, the share of the updates that each part is in' +
        (code.foreseen ? '; the line across a bar is what was predicted.' : '.'),
    );
  $('code-note').textContent = text.join(' ');
  $('code-words').replaceChildren(
    ...(code.words ? ['Predicted before the run: ', ...withCommands(code.words)] : []),
  );
}

function paintMatrix(svg, code, at) {
  svg.append(draw('rect', { x: at.label, y: at.top, width: at.wide, height: at.tall, class: 'wait' }));
  code.matrix.forEach((line, y) =>
    [...line].forEach((c, x) => {
      const [shade, negative] = shadeOf(c);
      if (!shade) return;
      svg.append(
        withTip(
          draw('rect', {
            x: (at.label + x * at.cell).toFixed(2),
            y: (at.top + y * at.row).toFixed(2),
            width: at.cell.toFixed(2),
            height: at.row.toFixed(2),
            class: (negative ? 'badheat' : 'heat') + (at.cell > 5 && at.row > 5 ? ' cell' : ''),
            'fill-opacity': (0.12 + 0.88 * shade).toFixed(2),
          }),
          () =>
            tipTable(
              'role ' +
                spanOf(y, code.matrix.length, code.roles) +
                ', part ' +
                spanOf(x, line.length, code.parts),
              [[null, 'coefficient, about', showPlain((negative ? -1 : 1) * shade * code.largest)]],
            ),
        ),
      );
    }),
  );
}

// What was used as bars from 0 to 100 %, what was predicted as lines across them.
function paintUse(svg, code, at) {
  const base = at.use + at.high;
  for (const share of [0, 0.5, 1]) {
    const y = base - share * at.high;
    svg.append(draw('line', { x1: at.label, x2: at.label + at.wide, y1: y, y2: y, class: 'gridline' }));
    svg.append(
      draw('text', { x: at.label - 8, y: y + 4, 'text-anchor': 'end', class: 'tick' }, 100 * share + ' %'),
    );
  }
  code.used.forEach((share, x) => {
    const left = at.label + x * at.cell,
      tall = Math.max(0, share) * at.high,
      gap = at.cell > 6 ? 1 : 0,
      seen = code.foreseen && code.foreseen[x];
    svg.append(
      draw('rect', {
        x: left + gap,
        y: base - tall,
        width: at.cell - 2 * gap,
        height: tall,
        class: 'compute',
      }),
    );
    if (code.foreseen)
      svg.append(
        draw('line', {
          x1: left,
          x2: left + at.cell,
          y1: base - seen * at.high,
          y2: base - seen * at.high,
          class: 'whisker',
        }),
      );
    const rows = [[null, 'in updates', showShare(share)]];
    if (code.foreseen) rows.push([null, 'predicted', showShare(seen)]);
    svg.append(
      withTip(draw('rect', { x: left, y: at.use, width: at.cell, height: at.high, class: 'hit' }), () =>
        tipTable('part ' + spanOf(x, code.used.length, code.parts), rows),
      ),
    );
  });
}

function paintCode(host, width, code) {
  if (!code) return host.replaceChildren();
  const rows = code.matrix.length,
    columns = code.matrix[0].length,
    label = 52,
    top = 22;
  const cell = Math.min(26, (width - label - 14) / columns),
    row = Math.min(cell, 22, Math.max(4, 480 / rows));
  const at = {
    label,
    top,
    cell,
    row,
    wide: cell * columns,
    tall: row * rows,
    use: top + row * rows + 22,
    high: 72,
  };
  const height = code.used ? at.use + at.high + 10 : at.use - 14;
  const svg = drawing(width, height, 'The matrix of the code, and how often each part was used');
  const each = (size, room) => Math.max(1, Math.ceil(room / size));
  for (let x = 0; x < columns; x += each(cell, 30))
    svg.append(
      draw(
        'text',
        { x: label + (x + 0.5) * cell, y: 14, 'text-anchor': 'middle', class: 'tick' },
        String(Math.ceil((x * code.parts) / columns)),
      ),
    );
  for (let y = 0; y < rows; y += each(row, 16))
    svg.append(
      draw(
        'text',
        { x: label - 8, y: top + (y + 0.5) * row + 4, 'text-anchor': 'end', class: 'tick' },
        String(Math.ceil((y * code.roles) / rows)),
      ),
    );
  paintMatrix(svg, code, at);
  if (code.used) paintUse(svg, code, at);
  host.replaceChildren(svg);
}
