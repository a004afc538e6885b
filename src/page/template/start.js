// start.js -- the tables' chooser; then everything is drawn.

function startTables() {
  if (DATA.conditions.length < 2) return;
  $('table-controls').append(
    chooser('Under', [['', 'all conditions'], ...conditionOptions()], '', v => {
      for (const table of document.querySelectorAll('#table [data-condition]'))
        table.hidden = v !== '' && table.dataset.condition !== v;
    }),
  );
}

document.documentElement.classList.add('has-js');
startTheme();
startTables();
startTimelines();
startSweep();
startCurves();
startTarget();
startTuning();
startRun();
startStaleness();
startCopy();
document.documentElement.dataset.drawn = 'yes';
