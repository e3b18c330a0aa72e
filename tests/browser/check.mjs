// Checks pages of `rlctl burst -o page.html` in headless Chromium:
//
//   node check.mjs PACKAGES FOLDER [WORDS]
//
// PACKAGES is a node_modules with playwright-core and axe-core; FOLDER has the pages that page.bats makes. Each line
// printed is `ok NAME` or `not ok NAME: REASON`, of one check below whose name contains the WORDS; standard error has
// what each takes. The status is 0 if something was checked and nothing is wrong.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const [packages, folder] = process.argv.slice(2, 4).map((path) => resolve(path));
const words = process.argv[4];
const require = createRequire(`${packages}/`);
const {chromium} = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});

const complaints = [];  // of any page: requests, errors, messages in the console, dialogs

function require_(condition, words) {
  if (!condition) throw new Error(words);
}
function equal(actual, expected, what) {
  require_(actual === expected, `${what}: expected ${JSON.stringify(expected)}, not ${JSON.stringify(actual)}`);
}

// A page that is empty at first. Whatever it asks for besides its file, and says, is a complaint.
async function emptyPage(script) {
  const context = await browser.newContext({javaScriptEnabled: script});
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  const complain = (words) => complaints.push(`${page.shows}: ${words}`);
  page.on('request', (request) => {
    if (request.url() !== addressOf(page.shows) && !request.url().startsWith('data:')) complain(`requests ${request.url()}`);
  });
  page.on('console', (message) => complain(`says ${message.text()}`));
  page.on('pageerror', (error) => complain(`fails: ${error.stack}`));
  page.on('dialog', (dialog) => {
    complain(`opens a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return page;
}

const addressOf = (name) => `file://${folder}/${name}.html`;
const shared = await emptyPage(true);

// Opens a page; `before` runs in it first. A process of Chromium costs more than most checks, so only one that must
// differ from others from the beginning has its own.
async function open(name, {width = 1280, scheme = 'light', script = true, before} = {}) {
  const page = script && !before ? shared : await emptyPage(script);
  page.shows = name;
  await page.setViewportSize({width, height: 900});
  await page.emulateMedia({media: 'screen', colorScheme: scheme});
  await page.mouse.move(0, 0);
  if (before) await page.addInitScript(before);
  await page.goto(addressOf(name));
  page.done = () => page === shared || page.context().close();
  return page;
}

const texts = (page, selector) => page.locator(selector).allTextContents();
const count = (page, card = 0) => page.locator('.card strong').nth(card).textContent();
const request = (page) => page.locator('#request').textContent();
// Until the text of an element is as expected; fails after 30 s.
const until = (page, selector, pattern) => page.waitForFunction(
  ([selector, source]) => new RegExp(source).test(document.querySelector(selector).textContent), [selector, pattern.source]);

// Until an attribute of an element has this value, which the page's next frame gives it.
const untilAttribute = (page, selector, name, value) => page.waitForFunction(
  ([selector, name, value]) => document.querySelector(selector).getAttribute(name) === value, [selector, name, value]);
// Until the page shows the whole run, or part of it.
const untilWhole = (page, isWhole = true) => page.waitForFunction(
  (isWhole) => document.getElementById('whole').disabled === isWhole, isWhole);

// Draws at once, so that 1000 places take a second or two.
const drawAtOnce = () => {
  window.requestAnimationFrame = (draw) => {
    draw(0);
    return 0;
  };
};

// Every card's count at each place.
const countsAt = (page, places) => page.evaluate((places) => places.map((place) => {
  const cursor = document.getElementById('cursor');
  cursor.value = place;
  cursor.dispatchEvent(new Event('input'));
  return [...document.querySelectorAll('.card strong')].map(({textContent}) => Number(textContent.replaceAll(',', '')));
}), places);

// Random numbers that are the same in each run.
function random(seed) {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

// Compares the counts at random places, many of them where one changes, with those of the decisions in FILE.jsonl.
async function compare(name, window, places, key) {
  const decisions = readFileSync(`${folder}/${name}.jsonl`, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const page = await open(name, {before: drawAtOnce});
  const names = await texts(page, '.card h3 button');
  const allowed = names.map((name) => decisions
    .filter((one) => one.algorithm === name && one.allowed && (!key || one.key === key))
    .map((one) => [one.at_us + one.delay_us, one.cost]));
  require_(allowed.some((one) => one.length), `${name}: nothing was allowed`);
  const next = random(1);
  const [least, most] = await page.evaluate(() => ['min', 'max'].map((end) => Number(document.getElementById('cursor')[end])));
  const chosen = Array.from({length: places}, () => {
    const [at] = allowed[0][Math.floor(next() * allowed[0].length)];
    const place = [at, at - 1, at + window, at + window - 1, least + next() * (most - least)][Math.floor(next() * 5)];
    return Math.min(Math.max(Math.round(place), least), most);
  });
  const shown = await countsAt(page, chosen);
  chosen.forEach((place, i) => allowed.forEach((one, card) => {
    const units = one.reduce((sum, [at, cost]) => at > place - window && at <= place ? sum + cost : sum, 0);
    equal(shown[i][card], units, `${name}, ${names[card]} at ${place}`);
  }));
  await page.done();
}

const checks = {
  async 'a page opens at the worst moment, with sentences that say what is seen'() {
    const page = await open('default');
    equal(await count(page), '2,000', 'the count at first');
    equal(await page.locator('.card.over').count(), 1, 'cards above the limit');
    equal(await page.locator('h1').textContent(), 'fixed-window allowed 2,000 requests within 19.99\u00a0ms, with a limit of 1,000 a minute', 'the heading');
    equal(await page.locator('.windows h2').textContent(), 'Every minute of the clock stays within the limit. Another span of 60\u00a0s does not.', 'the sentence');
    await untilAttribute(page, '#cursor', 'aria-valuetext',
      '2,000 allowed within the last 60 s; limit 1,000; request 2,000 of 2,000 at 00:01:00.00999');
    await page.done();
  },

  async 'the keys of the slider go from request to request, zoom, and play'() {
    const page = await open('default');
    await page.locator('#cursor').focus();
    await page.keyboard.press('ArrowLeft');
    await until(page, '#request', /request 1,999 of/);
    equal(await count(page), '1,999', 'the count one request before');
    await page.keyboard.press('Home');
    await until(page, '#request', /request 1 of/);
    equal(await count(page), '1', 'the count at the first request');
    await page.keyboard.press('ArrowRight');
    await until(page, '#request', /request 2 of/);
    await page.keyboard.press('End');
    await until(page, '#request', /request 2,000 of/);
    await untilWhole(page);
    await page.keyboard.press('+');
    await untilWhole(page, false);
    await page.keyboard.press('Escape');
    await untilWhole(page);
    await page.keyboard.press(' ');
    await until(page, '#play', /Pause/);
    await page.keyboard.press(' ');
    await until(page, '#play', /Play/);
    await page.keyboard.press('End');
    await page.keyboard.press('PageUp');
    await until(page, '#request', /Window until 00:01:06/);
    await page.keyboard.press('w');
    await until(page, '#request', /Window until 00:01:00.00999/);
    await page.done();
  },

  async 'the mouse drags the window and the cursor, selects and zooms, and chooses a limiter'() {
    const page = await open('default');
    const canvas = async (id) => page.locator(`#${id} canvas`).boundingBox();
    const drag = async (x, y, to) => {
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move((x + to) / 2, y, {steps: 3});
      await page.mouse.move(to, y);
      await page.mouse.up();
    };
    // The bar ends in the middle of the overview, from 00:00 to 00:02.
    const overview = await canvas('overview');
    await drag(overview.x + overview.width / 4, overview.y + 90, overview.x + overview.width / 4 + overview.width / 8);
    await until(page, '#request', /Window until 00:01:15/);
    await page.locator('#worst').click();
    await until(page, '#request', /Window until 00:01:00.00999/);
    await page.locator('#detail').scrollIntoViewIfNeeded();
    const detail = await canvas('detail');
    const middle = detail.x + 58 + (detail.width - 70) / 2;
    await page.mouse.click(middle, detail.y + 80);
    await until(page, '#request', /Window until (00:00:59.99|00:01:00.000)/);
    await drag(middle + 20, detail.y + 60, middle + 220);
    await untilWhole(page, false);
    await page.locator('#whole').click();
    await untilWhole(page);
    await page.mouse.move(middle, detail.y + 60);
    await page.mouse.wheel(0, -300);
    await untilWhole(page, false);
    await page.locator('#whole').click();
    await untilWhole(page);
    // The cursor's line is dragged.
    await page.locator('#worst').click();
    const line = detail.x + 58 + (detail.width - 70) * (19.99 + 2.9985) / 25.987;
    await drag(line, detail.y + 60, middle);
    await until(page, '#request', /Window until (00:00:59.99|00:01:00.000)/);
    require_(await page.locator('#whole').isDisabled(), 'dragging the cursor zooms');
    await page.locator('.card h3 button').nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll('.card h3 button')[1].getAttribute('aria-pressed') === 'true');
    equal(await page.locator('.card.chosen').count(), 1, 'limiters chosen');
    await page.done();
  },

  async 'playing moves the window through the run, and ends'() {
    const page = await open('default');
    await page.locator('#play').click();
    await until(page, '#play', /Pause/);
    await until(page, '.card strong', /^(\d|\d\d|\d\d\d)$/);
    await until(page, '#play', /Play/);
    equal(await count(page), '2,000', 'the count at the end');
    await page.done();
  },

  async 'a page with 100,000 requests zooms and plays'() {
    const page = await open('large', {before: () => {
      window.frames_drawn = 0;
      const ask = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (draw) => ask((now) => {
        draw(now);
        ++window.frames_drawn;
      });
    }});
    const draws = async (more, act) => {
      const drawn = await page.evaluate(() => window.frames_drawn);
      await act();
      await page.waitForFunction((least) => window.frames_drawn >= least, drawn + more);
    };
    for (const button of ['#in', '#out']) await draws(1, () => page.locator(button).click());
    await draws(60, () => page.locator('#play').click());
    await page.done();
  },

  async "the count at 1,000 places is that of the model's decisions, for each algorithm"() {
    await compare('all', 10e6, 1000);
  },

  async 'of a log with many keys, the page counts the chosen one'() {
    await compare('replay', 60e6, 100, '10.0.0.0');
    const page = await open('replay');
    require_(await page.locator('svg.suggestion circle').count() > 3, 'no curve of the suggestion');
    const keys = await texts(page, '#key option');
    equal(keys[0], '10.0.0.0', 'the first key');
    await page.locator('#key').selectOption(keys[1]);
    await until(page, '#request', new RegExp(`key ${keys[1].replaceAll('.', '\\.')}`));
    await page.done();
  },

  async 'of several limits, one is chosen'() {
    const page = await open('limits');
    const [first, second] = await texts(page, '#limit option');
    equal(first, '10/1s', 'the first limit');
    equal(second, '100/60s', 'the second limit');
    await page.locator('#limit').selectOption(second);
    await until(page, '.card .count', /within the last 60 s; limit 100/);
    const decided = (await texts(page, '.card .request')).join();
    require_(/(allowed|denied)/.test(decided), decided);
    await page.done();
  },

  async 'a search is shown step by step; where the clock steps back, by the number of the request'() {
    let page = await open('adversary');
    await page.locator('#steps > :first-child tr').nth(1).click();
    await until(page, '#request', /request 1 of 10 at 00:00:50/);
    equal(await page.locator('tr.now').count(), 1, 'steps at the cursor');
    await page.locator('#next').click();
    await until(page, '#request', /request 2 of 10/);
    await page.done();
    // The clock steps back: the axis is the request's number.
    page = await open('back');
    await page.locator('.card h3 button', {hasText: 'if the clock steps back'}).first().click();
    await until(page, '#request', /^request /);
    const [worst, verdict] = await Promise.all([page.locator('.card.chosen strong').textContent(), page.locator('.card.chosen .verdict').textContent()]);
    equal(verdict, `${(Number(worst) / 5).toFixed(2)}× the limit at worst`, 'the count at the worst moment');
    await page.done();
  },

  async '--compare opens at the first difference'() {
    const page = await open('against');
    const heading = await page.locator('h1').textContent();
    const number = /differ at request\s(\d+)/.exec(heading)?.[1];
    require_(number, heading);
    await until(page, '#request', new RegExp(`request ${number} of`));
    const decisions = (await texts(page, '.card .request')).map((text) => /allowed|denied/.exec(text)[0]);
    equal(decisions.sort().join(), 'allowed,denied', 'the decisions');
    await page.done();
  },

  async 'nothing is wider than 390 or 1280 px, and both colour schemes are there'() {
    const papers = new Set();
    for (const name of ['default', 'adversary', 'replay', 'hostile']) {
      const page = await open(name);
      for (const width of [390, 1280]) {
        await page.setViewportSize({width, height: 900});
        await page.waitForFunction((width) => Math.abs(document.querySelector('#detail canvas').clientWidth - width) < 240, width);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        require_(wide <= width, `${name} is ${wide} px wide at ${width} px`);
      }
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme});
        papers.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      }
      await page.done();
    }
    equal(papers.size, 2, 'colours of the paper');
  },

  async 'without JavaScript, there is the report of the text, and no controls'() {
    const page = await open('default', {script: false});
    for (const part of await page.locator('.script, #cursor').all()) require_(!await part.isVisible(), 'a control is visible');
    equal(await page.locator('h1').textContent(), 'rlctl burst: boundary', 'the heading');
    require_(await page.locator('pre').isVisible(), 'the report is not visible');
    equal(await page.locator('pre').textContent(), readFileSync(`${folder}/default.txt`, 'utf8'), 'the report');
    await page.done();
  },

  async 'a page is printed on white, without controls'() {
    const page = await open('default', {scheme: 'dark'});
    await page.emulateMedia({media: 'print', colorScheme: 'dark'});
    require_(!await page.locator('#play').isVisible(), 'a control is printed');
    equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)', 'the paper');
    require_((await page.pdf()).length > 10000, 'nothing is printed');
    await page.done();
  },

  async 'axe finds no violation'() {
    for (const [name, width, scheme] of [['default', 1280, 'light'], ['default', 390, 'dark'], ['adversary', 1280, 'dark'], ['replay', 390, 'light']]) {
      const page = await open(name, {width, scheme});
      await page.evaluate(axe);
      const {violations} = await page.evaluate(() => window.axe.run());
      const found = violations.map(({id, nodes}) => `${id} (${nodes[0].html.slice(0, 120)}: ${nodes[0].failureSummary})`);
      equal(found.join('; '), '', `violations in ${name}, ${width} px, ${scheme}`);
      await page.done();
    }
  },

  async 'keys with tags, quotes and U+202E do nothing'() {
    const page = await open('hostile');
    require_(!await page.evaluate(() => 'hacked' in window), 'a script was run');
    require_((await texts(page, '#key option')).some((key) => key.includes('</script><script>hacked=1</script>')), 'the key is not offered');
    require_(!/[\u202e\u2028\u2066]/.test(await page.content()), 'a character that changes the direction');
    await page.done();
  },

  // Both have come into a page, whose policy lets neither run.
  async "a script or a handler that is not the page's own does not run"() {
    const before = complaints.length;
    const page = await open('policy');
    await page.waitForFunction(() => document.querySelector('main img').complete);
    require_(!await page.evaluate(() => 'hacked' in window), 'a script was run');
    const refused = complaints.splice(before).filter((words) => words.includes('Content Security Policy'));
    equal(refused.length, 2, 'refusals');
    require_(/2,000/.test(await request(page)), 'the script of the page does not run');
    await page.done();
  },

  // The last, because it is about all pages above.
  async 'no request leaves a page, and the console stays empty'() {
    equal(complaints.join('; '), '', 'complaints');
  },
};

let checked = 0, wrong = 0;
for (const [name, check] of Object.entries(checks).filter(([name]) => name.includes(words ?? ''))) {
  const begin = Date.now();
  ++checked;
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    ++wrong;
    console.log(`not ok ${name}: ${error.stack.replaceAll('\n', ' ')}`);
  }
  process.stderr.write(`${name}: ${Date.now() - begin} ms\n`);
}
await browser.close();
process.exitCode = checked && !wrong ? 0 : 1;
