// start.js -- the theme, the tables' chooser, the copy button; then everything is drawn.

function startTheme() {
  const select = $('theme'), apply = value => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  let kept = '';
  try { kept = localStorage.getItem('motley-theme') || ''; } catch { /* a file may have no storage */ }
  if (kept === 'light' || kept === 'dark') { select.value = kept; apply(kept); }
  select.addEventListener('change', () => {
    apply(select.value);
    try { localStorage.setItem('motley-theme', select.value); } catch { /* then it is for this visit only */ }
  });
}

function startTables() {
  if (DATA.conditions.length < 2) return;
  $('table-controls').append(chooser('Under', [['', 'all conditions'], ...conditionOptions()], '', v => {
    for (const table of document.querySelectorAll('#table [data-condition]')) table.hidden = v !== '' && table.dataset.condition !== v;
  }));
}

function startCopy() {
  $('copy').addEventListener('click', async () => {
    const text = $('command').textContent;
    try {
      await navigator.clipboard.writeText(text);
      $('copied').textContent = 'Copied.';
    } catch {
      const range = document.createRange();
      range.selectNodeContents($('command'));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      $('copied').textContent = 'Selected: copy it with your keyboard.';
    }
  });
}

document.documentElement.classList.add('has-js');
startTheme();
startTables();
startCurves();
startTarget();
startTuning();
startRun();
startStaleness();
startCopy();
document.documentElement.dataset.drawn = 'yes';
