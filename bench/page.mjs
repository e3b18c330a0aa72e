// Measures a page of `rlctl burst -o page.html` in headless Chromium:
//
//   node bench/page.mjs PACKAGES PAGE
//
// PACKAGES is a node_modules with playwright-core. Prints an object of JSON: the medians, in ms, of what drawing a frame
// takes while the page plays, and of what drawing takes after a zoom. The median, so that other work on the machine, which
// interrupts less than half of the frames, does not count.
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const [packages, file] = process.argv.slice(2).map((path) => resolve(path));
const {chromium} = createRequire(`${packages}/`)('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});
const page = await browser.newPage();
await page.addInitScript(() => {
  window.costs = [];
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => ask((now) => {
    const begin = performance.now();
    draw(now);
    window.costs.push(performance.now() - begin);
  });
});
await page.goto(`file://${file}`);

// Does something, and returns what the frames that follow cost: this many at least.
async function costs(frames, act) {
  await page.evaluate(() => { window.costs = []; });
  await act();
  await page.waitForFunction((frames) => window.costs.length >= frames, frames);
  return page.evaluate(() => window.costs);
}
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const zooms = [];
for (let i = 0; i < 7; ++i) zooms.push(...await costs(1, () => page.locator(i % 2 ? '#out' : '#in').click()));
const frames = await costs(60, () => page.locator('#play').click());
console.log(JSON.stringify({frame: median(frames), zoom: median(zooms)}));
await browser.close();
