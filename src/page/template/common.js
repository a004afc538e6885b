// common.js -- what every page has: the theme, and the copy button.

function startTheme() {
  const select = $('theme'),
    apply = value => {
      if (value) document.documentElement.dataset.theme = value;
      else delete document.documentElement.dataset.theme;
    };
  let kept = '';
  try {
    kept = localStorage.getItem('motley-theme') || '';
  } catch {
    /* a file may have no storage */
  }
  if (kept === 'light' || kept === 'dark') {
    select.value = kept;
    apply(kept);
  }
  select.addEventListener('change', () => {
    apply(select.value);
    try {
      localStorage.setItem('motley-theme', select.value);
    } catch {
      /* then it is for this visit only */
    }
  });
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
