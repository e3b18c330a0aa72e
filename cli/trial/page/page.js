// The page of `rlctl burst -o page.html` and `rlctl adversary -o page.html`: one cursor, the end of a window of the
// limit's length, over an overview of the whole and a view of the run. It reads the JSON of `--json`, which has the
// single requests in `events`, or for a search the schedules that were found.
//
// Places are on the axis of a scene: µs, or, if the clock steps back, the numbers of requests.
(() => {
  'use strict';
  const $ = (id) => document.getElementById(id);
  const report = JSON.parse($('data').textContent);
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

  // ---- Words ----
  // Control characters, and those that change the direction, in names from logs and files.
  const masked = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);
  const grouped = (n) => n.toLocaleString('en-US');
  const plural = (n, word) => `${grouped(n)} ${word}${n === 1 ? '' : 's'}`;
  function span(us) {
    const [unit, size] = [['s', 1e6], ['ms', 1e3], ['µs', 1]].find(([, least]) => Math.abs(us) >= least) ?? ['µs', 1];
    return `${Number((us / size).toFixed(6))} ${unit}`;
  }
  function period(us) {
    const [unit, size] = [['d', 8.64e10], ['h', 3.6e9], ['min', 6e7]].find(([, part]) => us % part === 0) ?? ['', 1];
    return unit && us !== 6e7 ? `${us / size} ${unit}` : span(us);
  }
  // 'a minute' and 'minute', or 'per 10 s' and 'window of 10 s'.
  function periodWords(us) {
    const each = {1e6: 'a second', 6e7: 'a minute', 3.6e9: 'an hour', 8.64e10: 'a day'}[us];
    return each ? {each, noun: each.split(' ')[1]} : {each: `per ${period(us)}`, noun: `window of ${period(us)}`};
  }
  const within = (us) => us === 0 ? 'at one instant' : `within ${span(us)}`;
  // With more decimals if two would round it to 1.
  function ratioText(ratio) {
    const texts = [2, 3, 4, 5, 6, 7, 8, 9].map((decimals) => ratio.toFixed(decimals));
    return texts.find((text) => ratio === 1 || Number(text) !== 1) ?? texts.at(-1);
  }
  const sentence = (text) => text.replace(/(\d) (?=(?:µs|ms|s|min|h|d)\b)/g, '$1\u00a0');
  const signed = (us) => (us === 0 ? '0' : (us < 0 ? '−' : '+') + span(Math.abs(us)));
  // A time with as many decimals as it has.
  function timeOf(us, dated = data.dates) {
    if (!data.clock) return signed(us);
    const whole = Math.floor(us / 1e6), rest = Math.round(us - whole * 1e6);
    const text = new Date(whole * 1e3).toISOString(), decimals = (rest / 1e6).toFixed(6).slice(1).replace(/\.?0+$/, '');
    return (dated ? text.slice(0, 10) + ' ' : '') + text.slice(11, 19) + decimals;
  }

  // ---- Data ----
  function sums(differences, from = 0) {
    const column = new Float64Array(differences.length + from);
    for (let i = 0, sum = 0; i < differences.length; ++i) column[i + from] = sum += differences[i];
    return column;
  }
  const columnOf = (numbers, length) => numbers.length === 1 ? new Float64Array(length).fill(numbers[0]) : sums(numbers);
  // Columns of requests. `latest` is the time as if a clock that steps back stood still until it is as late as before.
  function trafficOf({keys, at, key, cost}, begin, back) {
    at = at.map((time) => time - begin);
    const latest = at.slice();
    for (let i = 1; i < at.length; ++i) latest[i] = Math.max(latest[i], latest[i - 1]);
    return {keys: keys.map(masked), at, latest, key, cost, place: back ? at.map((_, i) => i + 1) : at};
  }
  // A run of a burst, from its row in `events`.
  function runOfEvents({algorithm, sent, worst}, events, traffic, begin) {
    const decisions = events.decisions.replaceAll('3', '0'), until = new Float64Array(decisions.length);
    for (let i = 0, last = 0, next = 0; i < until.length; ++i) {
      if (decisions[i] === '1') continue;
      if (events.decisions[i] === '3') until[i] = -1;
      else {
        const step = events.until_us[next++];
        until[i] = step === null ? -2 : (last += step) - begin;
      }
    }
    const place = worst.from_us === null ? 0 : worst.from_us + worst.span_us - begin;
    return {
      name: masked(algorithm), sent, traffic, decisions, until, remaining: columnOf(events.remaining, decisions.length),
      by: columnOf(events.denied_by, decisions.length),
      worst: {...worst, at: place, key: Math.max(traffic.keys.indexOf(masked(worst.key)), 0),
        limit: Math.max(data.limits.findIndex((one) => one.limit === worst.limit && one.window === worst.window_us &&
          one.calendar === worst.calendar), 0)},
    };
  }
  function sceneOfEvents({events, runs, clock}) {
    const beginOf = (run) => clock === 'real' ? events.runs[run].begin_us : 0;
    const traffic = events.traffic.map(({keys, at_us, key, cost}, i) => {
      const run = events.runs.findIndex((one) => one.traffic === i), {length} = events.runs[run].decisions;
      return trafficOf({keys, at: columnOf(at_us, length), key: columnOf(key, length), cost: columnOf(cost, length)}, beginOf(run), false);
    });
    return {title: '', back: false, traffic,
      runs: runs.map((run, i) => runOfEvents(run, events.runs[i], traffic[events.runs[i].traffic], beginOf(i)))};
  }
  // The findings of a search, each of which has requests of its own.
  const findings = {most: '', most_stepping_back: 'if the clock steps back', by_rounding: 'what rounding lets through',
    wrongly_denied: 'a wrong denial'};
  function sceneOfFinding({algorithm}, {worst, schedule}, title) {
    const column = (of) => Float64Array.from(schedule, of);
    const back = schedule.some(({at_us}, i) => i > 0 && at_us < schedule[i - 1].at_us);
    const traffic = trafficOf({keys: [''], at: column((one) => one.at_us), key: column(() => 0), cost: column((one) => one.cost)}, 0, back);
    const waitOf = ({allowed, delay_us, retry_after_us}) => allowed ? delay_us : retry_after_us ?? -2;
    const run = {
      name: masked(algorithm), sent: schedule.length, traffic,
      decisions: schedule.map((one) => !one.allowed ? '0' : one.delay_us > 0 ? '2' : '1').join(''),
      until: column((one) => waitOf(one) < 0 ? waitOf(one) : one.at_us + waitOf(one)),
      remaining: column((one) => one.remaining ?? -1),
      worst: {...worst, at: worst.from_us + worst.span_us, key: 0, limit: 0},
    };
    return {title, back, traffic: [traffic], runs: [run]};
  }
  function scenesOf({events, runs, pattern}) {
    if (pattern !== 'adversary') return events && runs.length ? [sceneOfEvents(report)] : [];
    return runs.flatMap((run) => Object.entries(findings).filter(([name]) => run[name]?.schedule.length)
      .map(([name, title]) => sceneOfFinding(run, run[name], title)));
  }

  const {limit: firstLimit, window_us: firstWindow} = report;
  const data = {
    clock: report.clock === 'virtual', dates: Boolean(report.replay) && report.clock === 'virtual',
    limits: (report.limits ?? [{limit: firstLimit, window_us: firstWindow, text: ''}])
      .map(({limit, window_us, calendar, text}) => ({limit, window: window_us, calendar, text})),
  };
  // Whether windows of the clock begin at multiples of their length.
  data.edges = (report.events?.begins_with_window ?? true) && !data.limits.some(({calendar}) => calendar);
  data.scenes = scenesOf(report);
  const firstDifference = report.compare?.differs ? report.compare.at_us - (data.clock ? 0 : report.events.runs[0].begin_us) : NaN;
  const everyRun = data.scenes.flatMap((scene) => scene.runs.map((run) => ({scene, run})));
  for (const {run} of everyRun) run.series = new Map();
  // The run that exceeds the limit the most; of a search, of the most allowed.
  const worst = everyRun.filter(({scene}) => !scene.title)
    .reduce((one, other) => one && one.run.worst.ratio >= other.run.worst.ratio ? one : other, null);

  // How many of the sorted places are not after this one.
  function upTo(places, place) {
    let low = 0, high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Units that come at places, as a sum up to each place.
  function ladder(steps) {
    steps.sort((one, other) => one[0] - other[0]);
    const places = Float64Array.from(steps, ([place]) => place), totals = sums(steps.map(([, units]) => units), 1);
    return {places, totals, at: (place) => totals[upTo(places, place)]};
  }

  // When units enter the window and leave it. A request that is delayed enters when it proceeds; a refund gives back
  // the oldest units of the window.
  function unitsOf(run, rows, window, back) {
    const {at, cost, latest, place} = run.traffic;
    const entering = [], leaving = [], held = [];
    const placeOf = (time, row) => {
      if (!back) return time;
      while (row < at.length && latest[row] < time) ++row;
      return row + 1;
    };
    const leave = ({time, row, units}) => leaving.push([placeOf(time + window, row), units]);
    let first = 0;
    for (const row of rows) {
      if (run.decisions[row] === '0') continue;
      const units = cost[row];
      if (units > 0) {
        const time = run.decisions[row] === '2' ? Math.max(run.until[row], latest[row]) : latest[row];
        entering.push([time === latest[row] ? place[row] : placeOf(time, row), units]);
        held.push({row, time, units});
      }
      for (let refund = -units; refund > 0 && first < held.length;) {
        const oldest = held[first], given = Math.min(refund, oldest.units);
        if (oldest.time <= latest[row] - window) {
          leave(held[first++]);
          continue;
        }
        leaving.push([place[row], given]);
        refund -= given;
        oldest.units -= given;
        if (oldest.units === 0) ++first;
      }
    }
    held.slice(first).forEach(leave);
    return [ladder(entering), ladder(leaving)];
  }
  const lanesOf = (places, allowed, denied) => ({places, allowed: sums(allowed, 1), denied: sums(denied, 1)});
  // What a run did with the requests of a key, counted in windows of a limit: count(place) is the units allowed in
  // the window that ends there.
  function seriesOf(run, key, limit, back) {
    const name = `${key} ${limit}`;
    if (run.series.has(name)) return run.series.get(name);
    const {window} = data.limits[limit], {traffic, decisions} = run;
    const rows = [...traffic.at.keys()].filter((row) => traffic.key[row] === key);
    const [into, out] = unitsOf(run, rows, window, back);
    const places = Float64Array.from(rows, (row) => traffic.place[row]);
    const series = {rows, places, into, changes: into.places, count: (place) => into.at(place) - out.at(place)};
    series.lanes = lanesOf(places, rows.map((row) => Number(decisions[row] !== '0')),
      rows.map((row) => Number(decisions[row] === '0')));
    series.counts = series.changes.map(series.count);
    series.most = series.counts.reduce((one, other) => Math.max(one, other), 0);
    series.mostAt = series.changes[series.counts.indexOf(series.most)];
    run.series.set(name, series);
    return series;
  }

  // ---- What is shown ----
  const state = {scene: null, run: null, key: 0, limit: 0, cursor: 0, row: -1, view: null, playing: null};
  const limit = () => data.limits[state.limit];
  // A key has a number of its own in each traffic.
  const keyIn = (run) => run.traffic === state.run.traffic ? state.key
    : run.traffic.keys.indexOf(state.run.traffic.keys[state.key]);
  const seriesIn = (run) => seriesOf(run, keyIn(run), state.limit, state.scene.back);
  // The place at which the window that ends at the cursor begins.
  function windowBegin() {
    if (!state.scene.back) return state.cursor - limit().window;
    const {latest} = state.run.traffic, row = clamp(Math.floor(state.cursor) - 1, 0, latest.length - 1);
    return upTo(latest, latest[row] - limit().window) + 0.5;
  }

  // The places of the run, and those of the overview: whole windows of the clock.
  function setDomain() {
    const {back, runs} = state.scene, {window} = limit(), ends = [];
    for (const {traffic: {place}} of runs) if (place.length) ends.push(place[0], place[place.length - 1]);
    const first = Math.min(...ends), last = Math.max(...ends);
    const room = back ? 0.5 : (last - first) * 0.15 || window / 100;
    state.whole = state.domain = {from: first - room, to: last + room};
    const ended = Math.max(last, ...runs.map((run) => seriesIn(run).into.places.at(-1) ?? last));
    const from = Math.floor(first / window) * window;
    if (!back) state.domain = {from, to: Math.max((Math.floor(ended / window) + 1) * window, from + 2 * window)};
    Object.assign($('cursor'), {min: Math.floor(state.domain.from), max: Math.ceil(state.domain.to)});
  }

  // ---- Drawing ----
  const colours = {}, probe = document.querySelector('main');
  function readColours() {
    for (const name of ['ink', 'soft', 'grid', 'allowed', 'area', 'denied', 'over', 'chosen', 'chosen-area']) {
      probe.style.color = `var(--${name})`;
      colours[name] = getComputedStyle(probe).color;
    }
    probe.style.color = '';
  }

  // A chart: `still` is its picture without what depends on the cursor.
  const chart = (id, left, right) =>
    ({canvas: $(id).firstElementChild, still: document.createElement('canvas'), left, right});
  const overview = chart('overview', 8, 8), detail = chart('detail', 58, 12);
  const font = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
  function begin(target, canvas, height) {
    const width = target.canvas.parentElement.clientWidth, ratio = window.devicePixelRatio || 1;
    Object.assign(target, {width, height, ratio, plot: Math.max(width - target.left - target.right, 1)});
    Object.assign(canvas, {width: Math.round(width * ratio), height: Math.round(height * ratio)});
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    if (canvas !== target.still) context.drawImage(target.still, 0, 0);
    context.scale(ratio, ratio);
    return context;
  }
  const xIn = (target, {from, to}) => (place) => target.left + (place - from) / (to - from) * target.plot;
  const placeIn = (target, {from, to}, x) => from + (x - target.left) / target.plot * (to - from);
  function text(context, words, x, y, colour, align = 'left', weight = '') {
    Object.assign(context, {font: weight + font, fillStyle: colours[colour], textAlign: align});
    context.fillText(words, x, y);
  }
  const widthOf = (context, words, weight = '') =>
    Object.assign(context, {font: weight + font}).measureText(words).width;
  function line(context, x0, y0, x1, y1, colour, dash = [], width = 1) {
    Object.assign(context, {strokeStyle: colours[colour], lineWidth: width});
    context.setLineDash(dash);
    context.stroke(new Path2D(`M${x0} ${y0}L${x1} ${y1}`));
    context.setLineDash([]);
  }
  function box(context, x, y, width, height, fill, stroke, thick = 1) {
    Object.assign(context, {fillStyle: colours[fill], strokeStyle: colours[stroke], lineWidth: thick});
    if (fill) context.fillRect(x, y, width, height);
    if (stroke) context.strokeRect(x, y, width, height);
  }
  const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  function stepFor(least) {
    if (!state.scene.back && least > 1e6) {
      return (seconds.find((s) => s * 1e6 >= least) ?? Math.ceil(least / 8.64e10) * 86400) * 1e6;
    }
    const power = 10 ** Math.floor(Math.log10(least));
    return Math.max([1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * 0.999), 1);
  }
  // Labelled places: round times, or below a second, round distances from a whole one.
  function ticksOf({from, to}, most) {
    const {back} = state.scene, step = stepFor((to - from) / most), isFine = !back && step < 1e6, ticks = [];
    const second = Math.floor(to / 1e6) * 1e6;
    const origin = !isFine || !data.clock ? 0 : second >= from ? second : Math.floor(from / 1e6) * 1e6;
    for (let n = Math.ceil((from - origin) / step); origin + n * step <= to; ++n) {
      const place = origin + n * step;
      let words = back ? String(place) : signed(n * step);
      if (!back && data.clock && (!isFine || n === 0)) {
        words = timeOf(place, data.dates && to - from > 8.64e10).replace(/(\d\d:\d\d):00$/, step % 6e7 ? '$&' : '$1');
      }
      if (isFine && data.clock && origin < from && !ticks.length) words = `${timeOf(origin)} ${words}`;
      ticks.push({place, words});
    }
    return ticks;
  }
  function drawAxis(context, target, range, y, top) {
    const x = xIn(target, range);
    let free = 0;
    for (const {place, words} of ticksOf(range, Math.max(target.plot / 90, 2))) {
      if (top) line(context, x(place), top, x(place), y - 12, 'grid');
      const width = widthOf(context, words), left = clamp(x(place) - width / 2, 0, target.width - width);
      if (left < free) continue;
      text(context, words, left, y, 'soft');
      free = left + width + 8;
    }
  }

  // Calls back with the requests of each column of pixels, and returns the most in one.
  function eachColumn(target, range, {places, allowed, denied}, visit = () => {}) {
    const before = (x) => upTo(places, placeIn(target, range, x) - 1e-3);
    let most = 1;
    for (let x = target.left, last = before(x); x < target.left + target.plot && last < places.length; ++x) {
      const next = before(x + 1);
      const counts = {allowed: allowed[next] - allowed[last], denied: denied[next] - denied[last]};
      most = Math.max(most, counts.allowed, counts.denied);
      if (next > last) visit(x, counts);
      last = next;
    }
    return most;
  }
  // Lanes of requests, as high as there are many; `tops` has the upper end of each.
  function drawLanes(context, target, range, lanes, tops, height, most) {
    eachColumn(target, range, lanes, (x, counts) => {
      for (const kind of ['denied', 'allowed']) {
        const size = counts[kind] && Math.max(height * Math.sqrt(counts[kind] / most), 3);
        if (size) box(context, x, tops[kind] + height - size, 1.5, size, kind);
      }
    });
  }

  // The units in windows of the clock.
  function clockWindows({into: {places, totals}}, length) {
    const counts = new Map(), last = Math.round(state.domain.to / length);
    const wide = length / (state.domain.to - state.domain.from) * overview.plot;
    if (wide > 3) for (let n = Math.round(state.domain.from / length); n < last; ++n) counts.set(n, 0);
    for (let i = 0; i < places.length; ++i) {
      const n = Math.floor(places[i] / length);
      counts.set(n, (counts.get(n) || 0) + totals[i + 1] - totals[i]);
    }
    return {counts, wide};
  }
  const base = 52, full = 32;  // of the overview: the bottom of the boxes, and the height of the limit

  function drawOverviewStill() {
    const context = begin(overview, overview.still, 136), x = xIn(overview, state.domain);
    const series = seriesIn(state.run), {window: length, limit: units} = limit();
    if (!state.scene.back && data.edges) {
      const {counts, wide} = clockWindows(series, length);
      for (const [n, count] of counts) {
        const left = x(n * length), size = full * Math.min(count / units, 1.5), isOver = count > units;
        box(context, left, base - size, Math.max(wide, 1), size, 'area');
        if (wide <= 3) continue;
        box(context, left + 1.5, base - full, Math.max(wide - 3, 1), full, '', isOver ? 'over' : 'allowed');
        const begins = timeOf(n * length, false).replace(/(:\d\d):00$/, length % 6e7 ? '$&' : '$1');
        const labels = [`from ${begins}: ${grouped(count)}`, grouped(count)];
        const words = labels.find((label) => widthOf(context, label, '600 ') < wide - 8);
        text(context, words || '', left + wide / 2, base - full / 2 + 4, isOver ? 'over' : 'ink', 'center', '600 ');
      }
      if (wide <= 3) line(context, 8, base - full, overview.width - 8, base - full, 'denied', [6, 4]);
    }
    const tops = {allowed: base + 6, denied: base + 6};
    const {lanes} = series, most = eachColumn(overview, state.domain, lanes);
    drawLanes(context, overview, state.domain, lanes, tops, 14, most);
    drawAxis(context, overview, state.domain, 130);
  }

  // The chosen window, as a bar below the windows of the clock.
  function drawOverview() {
    const context = begin(overview, overview.canvas, 136), x = xIn(overview, state.domain);
    const count = seriesIn(state.run).count(state.cursor), colour = count > limit().limit ? 'over' : 'chosen';
    const right = x(state.cursor), left = Math.min(x(windowBegin()), right - 10), from = Math.max(left, 1);
    box(context, from, base + 26, right - from, 26, 'chosen-area', colour, 2);
    line(context, right, base, right, base + 52, colour, [], 2);
    if (left >= 1) line(context, left, base, left, base + 26, colour, [2, 3]);
    const words = `${state.scene.back ? 'window' : period(limit().window)}: ${grouped(count)}`;
    const size = widthOf(context, words, '600 '), isRight = right + 8 + size < overview.width;
    const middle = right - from > size + 12 ? (from + right) / 2 : isRight ? right + 8 + size / 2 : from - 8 - size / 2;
    text(context, words, middle, base + 43, colour === 'over' ? 'over' : 'ink', 'center', '600 ');
    overview.bar = {left, right};
  }

  // The most of each column of pixels, and the last.
  function drawCurve(context, {changes, counts, count}, top, height, scale) {
    const bottom = top + height, y = (units) => bottom - height * units / scale;
    let next = upTo(changes, state.view.from), last = count(state.view.from);
    context.beginPath();
    for (let x = detail.left + 1; x <= detail.left + detail.plot; ++x) {
      const end = placeIn(detail, state.view, x);
      let most = last;
      for (; next < changes.length && changes[next] <= end; ++next) most = Math.max(most, counts[next]);
      last = count(end);
      context.lineTo(x - 0.5, y(Math.max(most, last)));
      context.lineTo(x, y(last));
    }
    Object.assign(context, {lineJoin: 'round', lineWidth: 2, strokeStyle: colours.allowed, fillStyle: colours.area});
    context.stroke();
    context.lineTo(detail.left + detail.plot, bottom);
    context.lineTo(detail.left, bottom);
    context.fill();
  }
  function drawDetailStill() {
    const {runs} = state.scene, chart = runs.length > 3 ? 64 : 104, lane = 14, right = detail.left - 6;
    const tall = detail.tall = chart + 82;
    const context = begin(detail, detail.still, runs.length * tall + 24);
    const most = limit().limit, scale = Math.max(most, ...runs.map((run) => seriesIn(run).most)) * 1.08;
    const lanes = Math.max(...runs.map((run) => eachColumn(detail, state.view, seriesIn(run).lanes)));
    drawAxis(context, detail, state.view, detail.height - 6, 20);
    runs.forEach((run, i) => {
      const series = seriesIn(run), bottom = i * tall + 24 + chart, y = (units) => bottom - chart * units / scale;
      drawCurve(context, series, bottom - chart, chart, scale);
      line(context, detail.left, bottom, detail.left + detail.plot, bottom, 'grid');
      line(context, detail.left, y(most), detail.left + detail.plot, y(most), 'denied', [6, 4], 1.5);
      text(context, grouped(most), right, y(most) + 4, 'soft', 'right');
      if (Math.abs(y(series.most) - y(most)) > 14 && bottom - y(series.most) > 14) {
        const colour = series.most > most ? 'over' : 'soft';
        text(context, grouped(series.most), right, y(series.most) + 4, colour, 'right');
      }
      if (bottom - y(most) > 14) text(context, '0', right, bottom + 4, 'soft', 'right');
      const tops = {allowed: bottom + 10, denied: bottom + 14 + lane};
      drawLanes(context, detail, state.view, series.lanes, tops, lane, lanes);
      for (const kind of Object.keys(tops)) text(context, kind, right, tops[kind] + 12, 'soft', 'right');
    });
  }
  function drawDetail() {
    const context = begin(detail, detail.canvas, detail.height), x = xIn(detail, state.view), cursor = x(state.cursor);
    const {left} = detail, right = left + detail.plot, bottom = detail.height - 20;
    const isIn = (at) => at >= left && at <= right;
    const from = Math.max(x(windowBegin()), left), to = Math.min(cursor, right);
    if (to > from) box(context, from, 20, to - from, bottom - 20, 'chosen-area');
    if (from > left && from < right) line(context, from, 20, from, bottom, 'chosen', [2, 3], 1.5);
    if (isIn(cursor)) {
      line(context, cursor, 8, cursor, bottom, 'chosen', [], 2);
      text(context, '⬤', cursor, 13, 'chosen', 'center');
    }
    const mark = x(firstDifference), align = mark > detail.width / 2 ? 'right' : 'left';
    if (isIn(mark)) {
      line(context, mark, 20, mark, bottom, 'over', [4, 3], 1.5);
      text(context, 'first difference', mark + (align === 'left' ? 6 : -6), bottom - 2, 'over', align);
    }
    state.scene.runs.forEach((run, i) => {
      const count = seriesIn(run).count(state.cursor), words = `${run.name}  ${grouped(count)}`;
      const isFree = Math.abs(cursor - left) > widthOf(context, words, '600 ') + 12 || cursor < left - 12;
      const place = isFree ? [left, i * detail.tall + 15] : [right, i * detail.tall + 15];
      text(context, words, ...place, count > limit().limit ? 'over' : 'ink', isFree ? 'left' : 'right', '600 ');
    });
    const [begun, ended] = detail.selecting ?? [0, 0];
    box(context, begun, 20, ended - begun, bottom - 20, 'area');
  }

  // ---- Texts that follow the cursor ----
  const countWords = (run) => `${grouped(seriesIn(run).count(state.cursor))} allowed within the last ` +
    `${period(limit().window)}; limit ${grouped(limit().limit)}`;
  function decisionWords({decisions, until, by, remaining, traffic}, row) {
    const wait = span(until[row] - traffic.at[row]), isDenied = decisions[row] === '0';
    return [
      !isDenied ? 'allowed' + (decisions[row] === '2' ? ` after ${wait}` : '')
        : 'denied' + (by?.[row] > 0 && data.limits.length > 1 ? ` by ${data.limits[by[row] - 1].text}` : ''),
      remaining[row] >= 0 && `${grouped(remaining[row])} remaining`,
      isDenied && until[row] === -1 && 'never allowed',
      isDenied && until[row] >= 0 && `retry after ${wait}`,
    ].filter(Boolean).join(', ');
  }

  // The last request of the chosen key until the cursor; -1 if there is none.
  function rowAt(run) {
    if (run.traffic === state.run.traffic && state.row >= 0) return state.row;
    const {rows, places} = seriesIn(run);
    return rows[upTo(places, state.cursor) - 1] ?? -1;
  }
  // An element with these attributes and children, which are elements or texts.
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // ---- What stays ----
  const hasCosts = everyRun.some(({run}) => run.traffic.cost.some((cost) => cost !== 1));
  const hasKeys = everyRun.some(({run}) => run.traffic.keys.length > 1);
  const units = (count) => plural(count, hasCosts ? 'unit' : 'request');
  const limitOf = ({worst}) => data.limits[worst.limit];
  const verdictOf = ({allowed, ratio}) => allowed === 0 ? 'allows nothing'
    : ratio <= 1 ? 'never above the limit' : `${ratioText(ratio)}× the limit at worst`;
  function difference() {
    const [one, other] = report.runs.map(({algorithm}) => masked(algorithm)), {differs, request} = report.compare;
    return differs ? `${one} and ${other} differ at request ${grouped(request)}`
      : `${one} and ${other} decide all ${grouped(report.runs[0].sent)} requests alike`;
  }
  // What the page shows, as one sentence without a full stop.
  function headingText() {
    if (report.compare) return difference();
    if (!worst) return 'Nothing was sent';
    const {name, worst: {allowed, ratio, span_us}} = worst.run, {limit, window} = limitOf(worst.run), {each, noun} = periodWords(window);
    if (allowed === 0) return 'Nothing was allowed';
    const to = hasKeys ? ' to one key' : '';
    return ratio > 1 ? `${name} allowed ${units(allowed)}${to} ${within(span_us)}, with a limit of ${grouped(limit)} ${each}`
      : `At most ${units(allowed)} allowed${to} within any ${noun}, with a limit of ${grouped(limit)} ${each}`;
  }
  // Whether no window of the clock exceeds the limit; null if that is not known.
  function clockKeeps({run, scene}) {
    const {limit, window} = limitOf(run), isKnown = data.edges && data.clock;
    if (!isKnown || scene.back || run.traffic.cost.some((cost) => cost < 0)) return null;
    const {places, totals} = seriesOf(run, run.worst.key, run.worst.limit, false).into, counts = new Map();
    places.forEach((place, i) => {
      const number = Math.floor(place / window);
      counts.set(number, (counts.get(number) ?? 0) + totals[i + 1] - totals[i]);
    });
    return Math.max(...counts.values()) <= limit;
  }
  function claimText() {
    if (!worst || worst.run.worst.allowed === 0) return '';
    const {window} = limitOf(worst.run), span = `span of ${period(window)}`, {noun} = periodWords(window);
    if (worst.run.worst.ratio <= 1) return `No ${span} exceeds the limit.`;
    const keeps = clockKeeps(worst);
    return keeps === null ? `A ${span} exceeds the limit.`
      : keeps ? `Every ${noun} of the clock stays within the limit. Another ${span} does not.`
        : `Even one ${noun} of the clock exceeds the limit.`;
  }

  const most = Math.max(1, ...everyRun.map(({run}) => run.worst.ratio));
  function makeCard({scene, run}) {
    const {worst, name} = run, {limit} = limitOf(run), mark = 100 / most;
    const title = scene.title ? `${name}, ${scene.title}` : name;
    const card = {
      scene, run, mark, button: element('button', {type: 'button'}, title), request: element('p', {class: 'request'}),
      count: element('strong', {}, grouped(worst.allowed)), bar: element('i', {}),
      words: element('span', {}, `allowed ${worst.allowed === 0 ? 'at all' : within(worst.span_us)}; limit ${grouped(limit)}`),
    };
    const verdict = verdictOf(worst) + (hasKeys && worst.allowed > 0 ? `, key ${run.traffic.keys[worst.key]}` : '');
    card.element = element('article', {class: 'card'}, element('h3', {}, card.button),
      element('p', {class: 'count'}, card.count, ' ', card.words),
      element('div', {class: 'bar'}, card.bar, element('b', {style: `left:${mark}%`})),
      element('p', {class: 'verdict'}, verdict), card.request);
    card.still = [card.count.textContent, card.words.textContent, '', `${mark * worst.ratio}%`, worst.ratio > 1];
    card.button.addEventListener('click', () => choose(scene, run));
    return card;
  }
  const cards = everyRun.map(makeCard);

  // A table without the columns in which no row but the first has a text or a value.
  function tableOf(label, rows) {
    const isShown = rows[0].map((_, i) => rows.slice(1).some((row) => row[i] !== '' && row[i] !== '-'));
    const lines = rows.map((row, n) => element('tr', {}, ...row.map((text, i) => n === 0 ? element('th', {scope: 'col'}, text)
      : i === 0 ? element('th', {scope: 'row'}, text) : element('td', {}, text)).filter((_, i) => isShown[i])));
    return element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, element('table', {}, ...lines));
  }
  // The requests of a finding, with what an exact log would have held before each.
  function stepsOf(scene) {
    const [run] = scene.runs, {at, latest, cost} = run.traffic, {limit, window} = data.limits[0];
    const allowed = [], title = scene.title ? `${run.name}, ${scene.title}` : run.name;
    const rows = [['request', 'at', hasCosts ? 'cost' : '', 'decision', 'remaining', 'retry after', `in ${period(window)} before`]];
    for (let row = 0; row < Math.min(at.length, 200); ++row) {
      const isDenied = run.decisions[row] === '0', until = run.until[row];
      const held = allowed.reduce((sum, one) => one.time > latest[row] - window ? sum + one.units : sum, 0);
      rows.push([grouped(row + 1), signed(at[row] - report.base_us), hasCosts ? `${cost[row]}` : '', isDenied ? 'denied' : 'allowed',
        run.remaining[row] < 0 ? '-' : grouped(run.remaining[row]),
        !isDenied || until === -2 ? '-' : until === -1 ? 'never' : span(until - at[row]),
        `${held} of ${limit}`]);
      if (!isDenied) allowed.push({time: latest[row], units: cost[row]});
    }
    const table = tableOf(title, rows), lines = [...table.querySelectorAll('tr')].slice(1);
    lines.forEach((line, row) => line.addEventListener('click', () => {
      if (scene !== state.scene) choose(scene, run);
      visit(run.traffic.place[row], row);
    }));
    return {scene, lines, block: element('div', {}, element('h3', {}, title), table)};
  }
  // The share that each limit of a suggestion would have denied, as a curve.
  function curveOf({algorithm, suggestion: {most, limit, tried}}) {
    const left = 60, right = 330, top = 12, bottom = 130, [first, last] = [tried[0].limit, tried.at(-1).limit];
    const highest = Math.max(most, ...tried.map(({share}) => share), 1e-9) * 1.1;
    const x = (one) => left + (right - left) * (one.limit - first) / Math.max(last - first, 1);
    const y = (share) => bottom - (bottom - top) * share / highest;
    const draw = (name, attributes, ...children) => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.append(...children);
      return made;
    };
    const marked = (one) => [first, last, limit].includes(one.limit);
    const curve = draw('svg', {class: 'suggestion', viewBox: '0 0 360 160', role: 'img', 'aria-label': 'Share denied, by limit'},
      draw('path', {class: 'most', d: `M${left} ${y(most)}H${right}`}),
      draw('text', {x: left - 6, y: y(most) + 4, 'text-anchor': 'end'}, `${Number((100 * most).toPrecision(3))} %`),
      draw('path', {class: 'axis', d: `M${left} ${bottom}H${right}`}),
      draw('path', {class: 'line', d: `M${tried.map((one) => `${x(one)} ${y(one.share)}`).join('L')}`}),
      ...tried.map((one) => draw('circle', {cx: x(one), cy: y(one.share), r: one.limit === limit ? 6 : 3})),
      ...tried.filter(marked).map((one) => draw('text', {x: x(one), y: 150, 'text-anchor': 'middle'}, grouped(one.limit))));
    return element('div', {}, element('h3', {}, masked(algorithm)), curve);
  }
  const curves = report.runs.filter(({suggestion}) => suggestion?.tried.length > 1).map(curveOf);
  const steps = report.pattern === 'adversary' ? data.scenes.map(stepsOf) : [];

  const set = (element, words) => element.textContent === words || (element.textContent = words);
  function showCard(card) {
    let [count, words, request, width, isOver] = card.still;
    if (card.scene === state.scene) {
      const units = seriesIn(card.run).count(state.cursor), row = rowAt(card.run);
      count = grouped(units);
      words = countWords(card.run).slice(count.length + 1);
      width = `${Math.min(card.mark * units / limit().limit, 100)}%`;
      isOver = units > limit().limit;
      request = row < 0 ? 'no request yet' : `Request ${grouped(row + 1)}: ${decisionWords(card.run, row)}`;
    }
    set(card.count, count);
    set(card.words, words);
    set(card.request, request);
    card.bar.style.width = width;
    card.element.classList.toggle('over', isOver);
    card.element.classList.toggle('chosen', cards.length > 1 && card.run === state.run);
    card.button.setAttribute('aria-pressed', card.run === state.run);
  }
  function showTexts() {
    cards.forEach(showCard);
    const {run} = state, row = rowAt(run), {keys, at} = run.traffic;
    const key = keys.length > 1 ? `, key ${keys[state.key]}` : '';
    const where = row < 0 ? 'before the first request'
      : `request ${grouped(row + 1)} of ${grouped(run.sent)} at ${timeOf(at[row])}${key}`;
    set($('request'), (state.scene.back ? '' : `Window until ${timeOf(state.cursor)}: `) + where);
    $('cursor').value = state.cursor;
    $('cursor').setAttribute('aria-valuetext', `${countWords(run)}; ${where}`);
    for (const {scene, lines} of steps) {
      lines.forEach((line, i) => line.classList.toggle('now', scene === state.scene && i === row));
    }
  }

  // ---- Changes ----
  let asked = 0, stale = 2;  // which still pictures are: 1 that of the run, 2 both
  function draw() {
    asked = 0;
    if (state.playing) play();
    if (stale > 1) drawOverviewStill();
    if (stale > 0) drawDetailStill();
    stale = 0;
    drawOverview();
    drawDetail();
    showTexts();
  }
  function redraw(pictures = 2) {
    stale = Math.max(stale, pictures);
    asked ||= requestAnimationFrame(draw);
  }
  function seek(place, row = -1) {
    state.cursor = clamp(Math.round(place), Math.floor(state.domain.from), Math.ceil(state.domain.to));
    state.row = row;
    redraw(0);
  }
  // Goes to a place, and brings it into the view.
  function visit(place, row) {
    seek(place, row);
    const {from, to} = state.view, half = (to - from) / 2;
    if (state.cursor < from || state.cursor > to) setView(state.cursor - half, state.cursor + half);
  }
  function step(by) {
    const {rows, places} = seriesIn(state.run);
    const here = state.row >= 0 ? rows.indexOf(state.row) : upTo(places, state.cursor) - 1;
    // One back from between two requests is the first of them.
    const next = clamp(here + by + (by < 0 && places[here] < state.cursor), 0, rows.length - 1);
    if (rows.length) visit(places[next], rows[next]);
  }
  const toWorst = () => visit(seriesIn(state.run).mostAt ?? state.whole.to);
  function setView(from, to) {
    const least = Math.min(state.domain.from, state.whole.from), most = Math.max(state.domain.to, state.whole.to);
    const size = clamp(to - from, state.scene.back ? 2 : 20, most - least);
    from = clamp((from + to - size) / 2, least, most - size);
    state.view = {from, to: from + size};
    $('whole').disabled = Math.abs(state.whole.from - from) + Math.abs(state.whole.to - from - size) < size * 1e-6;
    redraw(1);
  }
  const showWhole = () => setView(state.whole.from, state.whole.to);
  // Whether it changes anything.
  function zoom(factor, place = state.cursor) {
    const {from, to} = state.view;
    if (place < from || place > to) place = (from + to) / 2;
    setView(place - (place - from) * factor, place + (to - place) * factor);
    return state.view.to - state.view.from !== to - from;
  }
  function choose(scene, run) {
    const name = scene === state.scene && state.run.traffic.keys[state.key], isNew = scene !== state.scene;
    Object.assign(state, {scene, run, row: -1});
    state.key = Math.max(isNew ? run.worst.key : run.traffic.keys.indexOf(name), 0);
    offerKeys();
    if (isNew) enter(state.limit);
    else redraw();
  }
  // Opens a scene, counted in windows of a limit.
  function enter(number) {
    state.limit = $('limit').value = number;
    set($('window'), period(limit().window));
    setDomain();
    showWhole();
    toWorst();
    redraw();
  }
  const offer = (select, options) => select.replaceChildren(...options.map(([id, words]) => new Option(words, id)));
  // At most a thousand keys can be chosen, the worst first.
  function offerKeys() {
    const {run} = state, place = (key) => key === run.worst.key ? -1 : key;
    const keys = run.traffic.keys.map((name, key) => [key, name]);
    offer($('key'), keys.sort(([one], [other]) => place(one) - place(other)).slice(0, 1000));
    $('key').value = state.key;
    $('keys').hidden = keys.length < 2;
  }
  function setPlaying(playing) {
    state.playing = playing;
    set($('play'), playing ? 'Pause' : 'Play');
    $('play').setAttribute('aria-pressed', Boolean(playing));
    redraw(0);
  }
  function startOrStop() {
    const {from, to} = state.view, isWithin = state.cursor >= from && state.cursor < to - (to - from) * 0.16;
    setPlaying(state.playing ? null : {from: isWithin ? state.cursor : from, begin: performance.now(), size: to - from});
  }
  function play() {
    // What was in view takes six seconds.
    const {from, begin, size} = state.playing, place = from + (performance.now() - begin) / 6e3 * size;
    Object.assign(state, {cursor: Math.min(place, state.view.to), row: -1});
    if (place < state.view.to) redraw(0);
    else setPlaying(null);
  }

  // ---- Keys and pointers ----
  const on = (id, event, action) => $(id).addEventListener(event, action);
  const keys = {
    ArrowLeft: () => step(-1), ArrowDown: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => step(1),
    PageUp: () => visit(state.cursor + limit().window / 10), PageDown: () => visit(state.cursor - limit().window / 10),
    Home: () => step(-Infinity), End: () => step(Infinity),
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
    0: showWhole, Escape: showWhole, ' ': startOrStop, w: toWorst,
  };
  on('cursor', 'keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  on('cursor', 'input', () => seek($('cursor').valueAsNumber));
  const buttons = {play: startOrStop, back: keys.ArrowLeft, next: keys.ArrowRight, worst: toWorst,
    in: keys['+'], out: keys['-'], whole: showWhole};
  for (const [id, action] of Object.entries(buttons)) on(id, 'click', () => action());
  on('key', 'change', () => {
    state.key = Number($('key').value);
    toWorst();
    redraw();
  });
  on('limit', 'change', () => enter(Number($('limit').value)));
  function drag(target, {down, move, up = () => {}}) {
    let isDown = false;
    const {canvas} = target, listen = (event, action) => canvas.addEventListener(event, (e) => action(e.offsetX, e));
    listen('pointerdown', (x, event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      canvas.setPointerCapture(event.pointerId);
      if (state.playing) setPlaying(null);
      $('cursor').focus({preventScroll: true});
      isDown = true;
      down(x);
    });
    listen('pointermove', (x) => isDown && move(x));
    listen('lostpointercapture', () => {
      isDown = false;
      up();
    });
  }

  let grip = 0, from = null;
  drag(overview, {
    down(x) {
      const {left, right} = overview.bar, isOn = x >= left - 6 && x <= right + 6;
      grip = isOn ? right - x : (right - left) / 2;
      if (!isOn) this.move(x);
    },
    move: (x) => seek(placeIn(overview, state.domain, x + grip)),
  });
  drag(detail, {
    down: (x) => { from = Math.abs(x - xIn(detail, state.view)(state.cursor)) < 9 ? null : x; },
    move(x) {
      if (from === null) return seek(placeIn(detail, state.view, x));
      const inside = (at) => clamp(at, detail.left, detail.left + detail.plot);
      detail.selecting = [inside(Math.min(x, from)), inside(Math.max(x, from))];
      redraw(0);
    },
    up() {
      const [left, right] = detail.selecting ?? [0, 0], {view} = state;
      if (right - left > 5) setView(placeIn(detail, view, left), placeIn(detail, view, right));
      else if (from !== null) seek(placeIn(detail, view, from));
      detail.selecting = null;
      redraw(0);
    },
  });
  detail.canvas.addEventListener('wheel', (event) => {
    const factor = Math.exp(clamp(event.deltaY, -200, 200) * 0.003);
    if (zoom(factor, placeIn(detail, state.view, event.offsetX))) event.preventDefault();
  }, {passive: false});
  // ---- Beginning ----
  const heading = sentence(headingText());
  set($('heading'), heading);
  document.title = heading;
  set($('claim'), sentence(claimText()));
  $('cards').append(...cards.map((card) => card.element));
  $('steps').append(...steps.map(({block}) => block));
  $('curves').append(...curves);
  set($('base'), steps.length ? `Times from the beginning of a window, ${timeOf(report.base_us, true)}.` : '');
  if (!worst) return;
  for (const shown of document.querySelectorAll('.script')) shown.hidden = false;
  offer($('limit'), data.limits.map(({text}, i) => [i, text]));
  state.limit = worst.run.worst.limit;
  $('limits').hidden = data.limits.length < 2;
  $('stepwise').hidden = !steps.length;
  $('suggested').hidden = !curves.length;
  readColours();
  choose(worst.scene, worst.run);
  if (report.compare?.differs) {
    const {key, place} = state.run.traffic, row = report.compare.request - 1;
    state.key = $('key').value = key[row];
    visit(firstDifference, place[row] === firstDifference ? row : -1);
  }
  new ResizeObserver(() => redraw()).observe($('detail'));
  const restyle = () => draw(stale = 2, readColours());
  for (const query of ['(prefers-color-scheme: dark)', 'print']) matchMedia(query).addEventListener('change', restyle);
})();
