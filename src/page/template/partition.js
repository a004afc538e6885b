// partition.js -- a partition: how far each worker's rows are from their class, and how many there are.

const workerName = (worker, width) => (width < 520 ? String(worker.id) : 'worker ' + worker.id);
const className = c => (DATA.classes.length ? 'class ' + DATA.classes[c] : 'all rows');
const corner = () => (DATA.classes.length ? 'class' : '');
const columnNames = () => (DATA.classes.length ? DATA.classes : ['all']);

// Up to 1 in the usual colour, darker the further; worse than random in the colour of what is bad.
function ratioCell(worker, c) {
  const ratio = worker.ratio[c];
  const tip = () =>
    tipTable('worker ' + worker.id + ', ' + className(c), [
      [null, 'rows', showCount(worker.count[c])],
      [null, 'MMD²', worker.mmd2[c] === null ? '–' : showPlain(worker.mmd2[c])],
      [null, 'of random rows', worker.random[c] === null ? '–' : showPlain(worker.random[c])],
      [null, 'ratio', ratio === null ? '–' : ratio.toFixed(2)],
    ]);
  if (ratio === null) return { text: '–', shade: 0, kind: 'heat', tip };
  if (!worker.worse[c])
    return { text: ratio.toFixed(2), shade: 0.05 + 0.65 * Math.min(1, ratio), kind: 'heat', tip };
  return {
    text: ratio.toFixed(ratio < 9.995 ? 2 : 1),
    shade: 0.8 + 0.2 * Math.min(1, Math.log(ratio) / Math.log(8)),
    kind: 'badheat',
    tip,
  };
}

function paintDistance(host, width, order) {
  const workers = DATA.workers.slice();
  const worst = worker => Math.max(-1, ...worker.ratio.filter(v => v !== null));
  if (order === 'worst') workers.sort((p, q) => worst(q) - worst(p) || p.id - q.id);
  paintHeat(host, width, {
    label: 'Distance of each worker’s rows from all rows, over that of random rows',
    corner: corner(),
    total: 'worst',
    columns: columnNames(),
    rows: workers.map(worker => ({
      name: workerName(worker, width),
      total: worst(worker) < 0 ? '–' : worst(worker).toFixed(2),
      cells: worker.ratio.map((_, c) => ratioCell(worker, c)),
    })),
  });
}

function startDistance() {
  const host = $('distance-chart');
  if (!DATA.measured) {
    $('distance').replaceChildren(
      $('distance').querySelector('h2'),
      make('p', { class: 'about' }, 'This was not measured (--quality none).'),
    );
    return;
  }
  let order = 'number';
  const again = keepDrawn(host, width => paintDistance(host, width, order));
  if (DATA.workers.length > 1)
    $('distance-controls').append(
      chooser(
        'Workers',
        [
          ['number', 'by number'],
          ['worst', 'worst first'],
        ],
        order,
        v => {
          order = v;
          again();
        },
      ),
    );
  const key = (kind, shade, text) =>
    make(
      'span',
      { class: 'item' },
      draw(
        'svg',
        { width: 18, height: 14, 'aria-hidden': 'true' },
        draw('rect', { width: 18, height: 14, class: 'wait' }),
        draw('rect', { width: 18, height: 14, class: kind, 'fill-opacity': shade }),
      ),
      text,
    );
  $('distance-legend').append(
    key('heat', 0.05, 'as the whole'),
    key('heat', 0.7, 'as random rows'),
    key('badheat', 0.9, 'worse than random rows'),
  );
}

function startCounts() {
  const host = $('counts-chart'),
    most = Math.max(1, ...DATA.workers.map(worker => Math.max(0, ...worker.count)));
  keepDrawn(host, width =>
    paintHeat(host, width, {
      label: 'Rows of each class that each worker holds',
      corner: corner(),
      total: 'rows',
      columns: columnNames(),
      rows: DATA.workers.map(worker => ({
        name: workerName(worker, width),
        total: showCount(worker.rows),
        cells: worker.count.map((n, c) =>
          countCell(n, most, () =>
            tipTable('worker ' + worker.id, [
              [null, className(c), showCount(n) + ' rows'],
              [null, 'of its ' + showCount(worker.rows), showShare(n / worker.rows)],
              [null, 'speed', showPlain(worker.speed)],
            ]),
          ),
        ),
      })),
    }),
  );
}

function startNotes() {
  const said = [];
  if (DATA.all_workers > DATA.workers.length)
    said.push(showCount(DATA.workers.length) + ' of ' + showCount(DATA.all_workers) + ' workers');
  if (DATA.all_classes > DATA.classes.length)
    said.push(showCount(DATA.classes.length) + ' of ' + showCount(DATA.all_classes) + ' classes');
  if (!said.length) return;
  for (const id of ['distance-note', 'counts-note'])
    if ($(id))
      $(id).textContent =
        said.join(' and ') + ', evenly chosen and with the worst block; partition.json has all.';
}

document.documentElement.classList.add('has-js');
startTheme();
startDistance();
startCounts();
startNotes();
startCopy();
document.documentElement.dataset.drawn = 'yes';
