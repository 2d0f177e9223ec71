import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClientError } from '@weir/client/api';
import type { LostCause, Reachability } from '@weir/client/monitor';
import { FakeStage, type SceneOptions } from '../support/browser/fake-stage.ts';
import { untilTrue } from '../support/browser/watched-page.ts';
import { statusOf } from '../support/dashboard/context.ts';
import { flowOf } from '../support/dashboard/fake-monitor.ts';

const stage = new FakeStage();
const { skip } = stage;

const HOSTILE = 'a\u202eb\u001b[31m';

const lost = (cause: LostCause): Reachability => ({
  kind: 'lost',
  cause,
  error: new ApiClientError(`cannot reach the API on ${HOSTILE}`),
  since: Date.now() - 65_000,
});

const FLOWS = new Map([[1, flowOf(1)]]);
const REFUSED = statusOf({
  last_reload: {
    at: 1,
    outcome: {
      kind: 'failed',
      line: 'reload: configuration invalid: expected a string\nsecond line',
    },
    place: { file: 'weir.toml', line: 3, column: 7 },
  },
});

/** Each state: what is made up, the word of health, and what the page says. */
const STATES: readonly (readonly [string, SceneOptions, string, readonly (string | RegExp)[]])[] = [
  [
    'nothing at the address',
    { monitor: { api: lost('refused') } },
    'API lost',
    ['Nothing answers at the address', 'weir run'],
  ],
  [
    'something else answers',
    { monitor: { api: lost('other-server') } },
    'API lost',
    ['Something else answers', /listen of \[api\]/],
  ],
  [
    '401',
    { monitor: { api: lost('unauthorized') } },
    'API lost',
    ['The API requires its secret', '--config'],
  ],
  [
    'no right to the socket of the API',
    { monitor: { api: lost('forbidden') } },
    'API lost',
    ['No right to the socket of the API', /as the user that runs Weir/],
  ],
  [
    'restarting',
    { monitor: { api: lost('ended'), flows: FLOWS } },
    'API lost',
    ['Weir has ended or is restarting', /ended \d+m \d+s ago/, 'last picture', 'example.com'],
  ],
  ['another loss', { monitor: { api: lost('other') } }, 'API lost', ['The API is lost']],
  [
    'no [api]',
    { monitor: { api: { kind: 'absent' }, status: undefined } },
    'No API',
    ['has no [api]', 'listen = "/run/weir/api.sock"', '/etc/weir/weir.toml'],
  ],
  [
    'no right to the control socket',
    { monitor: { flows: FLOWS, socket: lost('forbidden') } },
    'Serving',
    ['No right to the control socket', /limits, the log/],
  ],
  [
    'no control socket',
    { monitor: { flows: FLOWS, socket: { kind: 'absent' } } },
    'Serving',
    ['No control socket'],
  ],
  [
    'a refused reload',
    { monitor: { flows: FLOWS, status: { value: REFUSED, at: 1 } } },
    'Reload refused',
    ['expected a string', 'second line', 'Correct weir.toml:3:7', 'weir reload'],
  ],
  [
    'versions that differ',
    { monitor: { flows: FLOWS, status: { value: statusOf({ version: '9.9.9' }), at: 1 } } },
    'Serving',
    ['Versions differ', '9.9.9'],
  ],
  ['read-only', { readOnly: true, monitor: { flows: FLOWS } }, 'Serving', ['read-only']],
  [
    'no flows yet',
    {},
    'Serving',
    ['No connections yet', 'curl --proxy socks5h://127.0.0.1:1080 https://example.com/'],
  ],
  [
    'no flows yet, and no inbound for curl',
    { monitor: { status: { value: statusOf({ inbounds: [] }), at: 1 } } },
    'Serving',
    ['No connections yet', 'Point a client to an inbound.'],
  ],
];

/** One state of each weight: they look alike. */
const EXAMINED = new Set(['no [api]', 'a refused reload', 'no flows yet']);

for (const [name, options, health, texts] of STATES) {
  test(`the page explains: ${name}`, { skip }, async () => {
    await using scene = await stage.open({ ...options, at: '#/connections' });
    const { page } = scene;
    await page.locator('.health', { hasText: health }).waitFor();
    for (const text of texts) await page.locator('body', { hasText: text }).waitFor();
    assert.ok(!(await page.locator('body').innerText()).includes(HOSTILE), 'escaped');
    if (EXAMINED.has(name)) await scene.checkAccessible();
    const title = health === 'Serving' ? 'Connections · Weir' : `${health} · Connections · Weir`;
    // It follows what is shown, after the next frame.
    await untilTrue(page, `document.title === ${JSON.stringify(title)}`);
  });
}

test('the page says that it is behind, and that the dashboard has ended', { skip }, async () => {
  await using scene = await stage.open({ monitor: { flows: FLOWS } });
  const { page, monitor } = scene;
  monitor.missed = 7;
  monitor.changed();
  await page.locator('.health', { hasText: 'Behind' }).waitFor();
  await page.locator('.state', { hasText: '7 flow events' }).waitFor();
  scene.window.allowsErrors = true;
  await scene.endDashboard();
  await page.locator('.health', { hasText: 'Disconnected' }).waitFor();
  await page.locator('.state', { hasText: 'The dashboard has ended' }).waitFor();
  await scene.checkAccessible();
});

test('an address without a link says where one comes from', { skip }, async () => {
  await using scene = await stage.open();
  const { page } = scene;
  await scene.window.context.clearCookies();
  await page.evaluate('localStorage.clear()');
  await page.reload();
  await page.locator('.state', { hasText: 'opened without a link' }).waitFor();
});

test('pages are reached by g and a letter, and Back returns', { skip }, async () => {
  await using scene = await stage.open();
  const { page } = scene;
  for (const [letter, title] of [
    ['c', 'Connections'],
    ['r', 'Routes'],
    ['o', 'Nodes'],
    ['u', 'Users'],
    ['l', 'Rules'],
    ['f', 'Config'],
    ['t', 'Log'],
    ['n', 'Now'],
  ] as const) {
    await scene.window.pressBoth('g', letter);
    await page.locator(`nav a[aria-current=page]`, { hasText: title }).waitFor();
  }
  await page.goBack();
  await page.locator('nav a[aria-current=page]', { hasText: 'Log' }).waitFor();
});

test('single letters can be switched off, and stay so', { skip }, async () => {
  await using scene = await stage.open();
  const { page } = scene;
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.getByLabel('Single letters are keys').press('Space');
  await scene.checkAccessible();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.reload();
  await page.locator('.health', { hasText: 'Serving' }).waitFor();
  await scene.window.pressBoth('g', 'l');
  await page.keyboard.press('?');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search commands' }).waitFor();
  assert.equal(await page.locator('nav a[aria-current=page]').innerText(), 'Now');
});

test('the palette finds a page, and returns the focus', { skip }, async () => {
  await using scene = await stage.open({ monitor: { flows: FLOWS }, at: '#/connections' });
  const { page } = scene;
  await page.keyboard.press('/');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('go rules');
  await scene.checkAccessible();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Filter');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('go rules');
  await page.keyboard.press('Enter');
  await page.locator('nav a[aria-current=page]', { hasText: 'Rules' }).waitFor();
});

test('a dialog takes and returns the focus at once, for the next key', { skip }, async () => {
  await using scene = await stage.open({ monitor: { flows: FLOWS }, at: '#/connections' });
  const { page } = scene;
  await page.keyboard.press('j');
  // Observers are called before the next task, such as a key or a frame.
  await page.evaluate(`(() => {
    window.focused = [];
    new MutationObserver((records) => {
      const moved = records.flatMap(({ addedNodes, removedNodes }) => [...addedNodes, ...removedNodes]);
      if (moved.some(({ nodeName }) => nodeName === 'DIALOG')) focused.push(document.activeElement.role);
    }).observe(document.body, { childList: true, subtree: true });
  })()`);
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual(await page.evaluate('focused'), ['combobox', 'grid']);
});

test('the theme is that of the system, or the one that is chosen', { skip }, async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await using scene = await stage.open({ colorScheme });
    const { page } = scene;
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const before = await ground();
    await page.keyboard.press('?');
    await page.getByLabel('Colours').selectOption(colorScheme === 'light' ? 'dark' : 'light');
    assert.notEqual(await ground(), before);
    await page.getByLabel('Colours').selectOption('system');
    assert.equal(await ground(), before);
  }
});

test('a lost API leaves the last picture, grey', { skip }, async () => {
  await using scene = await stage.open({ monitor: { flows: FLOWS }, at: '#/connections' });
  const { page, monitor } = scene;
  const filter = () =>
    page.evaluate<string>('getComputedStyle(document.querySelector(".grid")).filter');
  await page.locator('.grid-row', { hasText: 'example.com' }).waitFor();
  assert.equal(await filter(), 'none');
  monitor.api = lost('ended');
  monitor.changed();
  await page.locator('.state', { hasText: 'last picture' }).waitFor();
  assert.equal(await filter(), 'grayscale(1)');
  await page.locator('.grid-row', { hasText: 'example.com' }).waitFor();
  monitor.api = { kind: 'reached' };
  monitor.changed();
  await page.locator('.state').waitFor({ state: 'detached' });
  assert.equal(await filter(), 'none');
});

test('screen readers hear the latest news, at most every ten seconds', { skip }, async () => {
  await using scene = await stage.open({ monitor: { flows: FLOWS }, at: '#/connections' });
  const { page } = scene;
  await page.clock.install();
  await page.reload();
  const live = page.locator('#live');
  const field = page.getByLabel('Filter', { exact: true });
  await page.locator('.grid-row', { hasText: 'example.com' }).waitFor();
  await page.locator('#live', { hasText: 'Serving' }).waitFor();
  await page.clock.pauseAt(Date.now() + 15_000);
  /** Effects of a page run with its clock. */
  const filter = async (text: string, seen: string) => {
    await field.fill(text);
    await page.clock.runFor(100);
    await page.getByText(seen).waitFor();
    await page.clock.runFor(100);
  };
  await filter('nothing-like-it', 'Nothing matches');
  assert.equal(await live.innerText(), '0 connections match');
  await filter('example', '1 of 1 connections');
  await page.clock.runFor(9_000);
  assert.equal(await live.innerText(), '0 connections match');
  await page.clock.runFor(1_000);
  assert.equal(await live.innerText(), '1 connection matches');
});
