// chart.js -- scales, ticks and axes.

function niceStep(span, count) {
  const rough = span / Math.max(1, count),
    power = Math.pow(10, Math.floor(Math.log10(rough))),
    lead = rough / power;
  return (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1) * power;
}

function linearTicks(from, to, count) {
  const step = niceStep(to - from, count),
    ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) ticks.push(i * step);
  return { ticks, digits: Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9))) };
}

function logTicks(from, to, count) {
  const low = Math.floor(Math.log10(from) + 1e-9),
    high = Math.ceil(Math.log10(to) - 1e-9);
  for (const leads of [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let p = low; p <= high; p++)
      for (const lead of leads) {
        const v = lead * Math.pow(10, p);
        if (v >= from * (1 - 1e-9) && v <= to * (1 + 1e-9)) ticks.push(v);
      }
    if (ticks.length <= count) return ticks;
    if (leads.length === 1) return ticks.filter((_, i) => i % Math.ceil(ticks.length / count) === 0);
  }
  return [];
}

// How wide a chart's text is.
const ruler = document.createElement('canvas').getContext('2d');
function textWide(text) {
  ruler.font = '12px ' + getComputedStyle(document.body).fontFamily;
  return ruler.measureText(text).width;
}

// Where an axis must end, at b or before it, so that no label below it is cut off at the edge: each is
// centred on its tick.
function endWithin(edge, a, b, places) {
  // places: [[share of the axis, text], ...]
  return Math.max(
    a + 40,
    Math.min(
      b,
      ...places
        .filter(([share]) => share > 0)
        .map(([share, text]) => a + (edge - 1 - textWide(text) / 2 - a) / share),
    ),
  );
}

// A scale: at(value) in pixels, back(pixel), and its ticks as [value, text]. With an edge, it ends where its
// labels still fit before that.
function scaleOf({ from, to, log, pixels: [a, b], kind, count, edge }) {
  const unit = axisUnit(kind, Math.max(Math.abs(from), Math.abs(to)));
  const f = log ? Math.log : v => v,
    g = log ? Math.exp : v => v;
  const low = f(from),
    high = f(to) === low ? low + 1 : f(to);
  const scale = {
    at: v => a + ((f(v) - low) / (high - low)) * (b - a),
    back: p => g(low + ((p - a) / (b - a)) * (high - low)),
    unit,
    from,
    to,
    log,
    right: b,
  };
  if (log) {
    const few = logTicks(from / unit.by, to / unit.by, count);
    scale.ticks = few.map(v => [
      v * unit.by,
      Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 ? showCountOr(v) : v.toExponential(0),
    ]);
  } else {
    const { ticks, digits } = linearTicks(from / unit.by, to / unit.by, count);
    scale.ticks = ticks.map(v => [
      v * unit.by,
      Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-4)
        ? v.toExponential(1)
        : Number(v.toFixed(digits)).toLocaleString('en-US', {
            minimumFractionDigits: Math.min(digits, 6),
            maximumFractionDigits: 6,
          }),
    ]);
  }
  if (edge)
    b = scale.right = endWithin(
      edge,
      a,
      b,
      scale.ticks.map(([v, text]) => [(f(v) - low) / (high - low), text]),
    );
  return scale;
}
const showCountOr = v => Number(v.toPrecision(6)).toLocaleString('en-US', { maximumFractionDigits: 6 });

// A vertical line that is out of sight at first, and the area in which the pointer moves it.
function cursorOf(svg, box) {
  const cursor = draw('line', { y1: box.top, y2: box.bottom, x1: -9, x2: -9, class: 'cursor' });
  svg.append(
    cursor,
    draw('rect', {
      x: box.left,
      y: box.top,
      width: Math.max(1, box.right - box.left),
      height: box.bottom - box.top,
      class: 'hit',
    }),
  );
  return cursor;
}

// The frame of a chart with both axes. Returns the group to draw in, clipped to the inside.
let clips = 0;
function frame(svg, box, x, y, xName, yName) {
  const clip = 'clip' + clips++;
  svg.append(
    draw(
      'clipPath',
      { id: clip },
      draw('rect', {
        x: box.left,
        y: box.top - 1,
        width: Math.max(1, box.right - box.left),
        height: box.bottom - box.top + 2,
      }),
    ),
  );
  const lines = draw('g', { 'aria-hidden': 'true' });
  for (const [v, text] of y.ticks) {
    lines.append(draw('line', { x1: box.left, x2: box.right, y1: y.at(v), y2: y.at(v), class: 'gridline' }));
    lines.append(
      draw('text', { x: box.left - 6, y: y.at(v) + 4, 'text-anchor': 'end', class: 'tick' }, text),
    );
  }
  for (const [v, text] of x.ticks) {
    lines.append(
      draw('line', { x1: x.at(v), x2: x.at(v), y1: box.bottom, y2: box.bottom + 4, class: 'axis' }),
    );
    lines.append(
      draw('text', { x: x.at(v), y: box.bottom + 17, 'text-anchor': 'middle', class: 'tick' }, text),
    );
  }
  lines.append(draw('line', { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: 'axis' }));
  const withUnit = (name, unit) => (unit.name ? name + ' (' + unit.name + ')' : name);
  lines.append(
    draw(
      'text',
      { x: box.right, y: box.bottom + 34, 'text-anchor': 'end', class: 'soft' },
      withUnit(xName, x.unit),
    ),
  );
  lines.append(draw('text', { x: 0, y: 12, class: 'soft' }, withUnit(yName, y.unit)));
  svg.append(lines);
  const inside = draw('g', { 'clip-path': 'url(#' + clip + ')' });
  svg.append(inside);
  return inside;
}

// How much room the texts at the ticks take.
const tickRoom = ticks => 10 + Math.max(14, ...ticks.map(([, text]) => text.length * 7));

function quantile(sorted, p) {
  const at = p * (sorted.length - 1),
    low = Math.floor(at);
  return low + 1 < sorted.length ? sorted[low] + (sorted[low + 1] - sorted[low]) * (at - low) : sorted[low];
}

const pathOf = points =>
  points.map(([px, py], i) => (i ? 'L' : 'M') + px.toFixed(1) + ',' + py.toFixed(1)).join('');

// Text cut to what fits, with the whole as its title.
function shortText(attrs, text, room) {
  const most = Math.max(3, Math.floor(room / 7));
  const node = draw('text', attrs, text.length > most ? text.slice(0, most - 1) + '…' : text);
  if (text.length > most) node.append(draw('title', {}, text));
  return node;
}
