// Takes the picture of a page that the README shows:
//
//   node picture.mjs PACKAGES PAGE PICTURE
//
// PACKAGES is a node_modules with playwright-core: .cache/npm/node_modules, where `.ci/run tests` puts it.
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const [packages, page, picture] = process.argv.slice(2).map((path) => resolve(path));
const {chromium} = createRequire(`${packages}/`)('playwright-core');
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu']});
const tab = await browser.newPage({viewport: {width: 1000, height: 1000}, colorScheme: 'light'});
await tab.goto(`file://${page}`);
// Down to the chart.
const bottom = await tab.locator('.run').evaluate((run) => run.getBoundingClientRect().bottom + 20);
await tab.setViewportSize({width: 1000, height: Math.ceil(bottom)});
await tab.screenshot({path: picture, clip: {x: 0, y: 0, width: 1000, height: bottom}});
await browser.close();
