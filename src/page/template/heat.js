// heat.js -- a table as colours: a row per worker, a column per class. Where there are no classes, a bar for
// each row.

// A cell: its text, how much colour (0 to 1), which (a class of the style sheet), and its tip.
const countCell = (n, most, tip) => ({
  text: n >= 1e5 ? Math.round(n / 1000) + 'k' : String(n),
  shade: n ? 0.08 + (0.92 * n) / most : 0,
  kind: 'heat',
  tip,
});

// More than an equal share in the colour of heat, less in the other; strongest at twice the share, or at none
// of it.
function shareCell(n, equal, tip) {
  const off = equal > 0 ? (n - equal) / equal : n > 0 ? 1 : 0;
  return {
    text: n >= 1e5 ? Math.round(n / 1000) + 'k' : String(n),
    shade: Math.min(1, Math.abs(off)),
    kind: off < 0 ? 'badheat' : 'heat',
    tip,
  };
}

// what: { label, corner and total (above the names and the last column), columns: [names], rows: [{ name,
// total, bar, cells }] }
function paintHeat(host, width, what) {
  const columns = what.columns.length,
    rows = what.rows,
    label = width < 520 ? 84 : 130,
    sum = 64,
    row = rows.length > 24 ? 18 : 26;
  const cell = columns
    ? Math.max(columns > 20 ? 14 : 30, Math.min(64, (width - label - sum) / columns))
    : Math.max(60, width - label - sum);
  const inner = columns ? cell * columns : cell,
    wide = Math.ceil(label + inner + sum),
    height = rows.length * row + 26,
    end = label + inner + sum - 4;
  const svg = draw('svg', { width: Math.max(wide, width), height, role: 'img', 'aria-label': what.label });
  const few = columns > 40 || cell < 20;
  for (let c = 0; c < columns; c++)
    if (!few || c % 5 === 0)
      svg.append(
        shortText(
          { x: label + (c + 0.5) * cell, y: 14, 'text-anchor': 'middle', class: 'tick' },
          what.columns[c],
          few ? 5 * cell : cell,
        ),
      );
  svg.append(draw('text', { x: end, y: 14, 'text-anchor': 'end', class: 'tick' }, what.total));
  svg.append(draw('text', { x: label - 8, y: 14, 'text-anchor': 'end', class: 'tick' }, what.corner));
  rows.forEach((each, i) => {
    const y = 20 + i * row;
    svg.append(shortText({ x: label - 8, y: y + row / 2 + 4, 'text-anchor': 'end' }, each.name, label - 8));
    svg.append(draw('text', { x: end, y: y + row / 2 + 4, 'text-anchor': 'end', class: 'soft' }, each.total));
    if (!columns)
      svg.append(
        draw('rect', {
          x: label,
          y: y + 3,
          width: Math.max(1, each.bar * inner),
          height: row - 6,
          class: 'compute',
        }),
      );
    each.cells.forEach((one, c) => {
      const x = label + c * cell;
      svg.append(draw('rect', { x, y, width: cell, height: row, class: 'wait cell' }));
      svg.append(
        withTip(
          draw('rect', {
            x,
            y,
            width: cell,
            height: row,
            class: one.kind + ' cell',
            'fill-opacity': one.shade.toFixed(3),
          }),
          one.tip,
        ),
      );
      if (cell >= 30 && row >= 18)
        svg.append(
          draw(
            'text',
            {
              x: x + 0.5 * cell,
              y: y + row / 2 + 4,
              'text-anchor': 'middle',
              class: one.shade > 0.72 ? 'onheat' : '',
              'pointer-events': 'none',
            },
            one.text,
          ),
        );
    });
  });
  host.replaceChildren(svg);
}
