// live.js -- a page that grows: asks how the run is doing, and redraws what has changed.
// What was chosen on the page stays chosen.

const ASK_MS = 1000,
  ASK_LATE_MS = 5000,
  MISSED_MOST = 2;
const EMPTY = $('curves').innerHTML;
let moment = Number($('live').dataset.moment),
  missed = 0,
  heard = new Date();

function tell(state, words) {
  const line = $('live');
  line.className = 'live ' + state;
  if (line.textContent !== words) line.textContent = words;
}

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer;
}

// What the controls of the curves were made from.
const shape = () =>
  JSON.stringify([
    DATA.arms,
    DATA.conditions,
    metricsShown(),
    DATA.targets,
    DATA.runs.length > DATA.arms.length * DATA.conditions.length,
  ]);

function drawAgain(before, arms) {
  if (shape() === before) {
    for (const afresh of drawn) afresh();
    return;
  }
  drawn.clear();
  $('curves').innerHTML = EMPTY; // the template's own words
  const off = new Set([...curve.hidden].map(arm => arms[arm])); // an arm may have another number now
  curve.hidden = new Set(DATA.arms.flatMap((name, arm) => (off.has(name) ? [arm] : [])));
  startCurves();
}

async function renew() {
  // Without its style: this page has it already, and its policy would refuse one with another nonce.
  const text = (await (await ask('/')).text()).replace(/<style[^>]*>[^<]*<\/style>/, '');
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  for (const id of ['file', 'said', 'table', 'settings']) {
    const now = fresh.getElementById(id);
    if (now.innerHTML !== $(id).innerHTML) $(id).replaceChildren(...now.childNodes);
  }
  document.title = fresh.title;
  document.querySelector('h1').textContent = fresh.querySelector('h1').textContent;
  $('command').textContent = fresh.getElementById('command').textContent;
  const before = shape(),
    arms = DATA.arms;
  for (const key of Object.keys(DATA)) delete DATA[key];
  Object.assign(DATA, JSON.parse(fresh.getElementById('data').textContent));
  drawAgain(before, arms);
  moment = Number(fresh.getElementById('live').dataset.moment);
}

async function look() {
  let wait = ASK_MS;
  try {
    const now = await (await ask('/state')).json();
    missed = 0;
    heard = new Date();
    if (now.moment !== moment) await renew();
    tell(now.state, now.words);
    document.documentElement.dataset.live = now.state;
    if (now.state === 'ended' && now.moment === moment) return;
  } catch {
    if (++missed >= MISSED_MOST) {
      tell(
        'gone',
        'No answer since ' +
          heard.toLocaleTimeString() +
          ': motley has ended or was stopped. This is the last it said.',
      );
      document.documentElement.dataset.live = 'gone';
      wait = ASK_LATE_MS;
    }
  }
  setTimeout(look, wait);
}

document.documentElement.classList.add('has-js');
startTheme();
startCurves();
startCopy();
document.documentElement.dataset.drawn = 'yes';
setTimeout(look, ASK_MS);
