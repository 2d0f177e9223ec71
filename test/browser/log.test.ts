import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { requestStatus } from '@weir/server/control';
import { checkNoSidewaysScroll } from '../support/browser/accessible.ts';
import { FakeStage, type SceneOptions } from '../support/browser/fake-stage.ts';
import { Stage, VIEWPORTS } from '../support/browser/stage.ts';
import { untilTrue } from '../support/browser/watched-page.ts';
import { statusOf } from '../support/dashboard/context.ts';
import { FakeControl } from '../support/dashboard/fake-control.ts';
import { eventually } from '../support/wait.ts';

const stage = new FakeStage();
const real = new Stage({ weir: { control: true, env: { RUST_LOG: 'info' } } });
const { skip } = stage;

/** The page Log of a Weir with this log. */
const open = (control: FakeControl, { at = '', ...more }: SceneOptions = {}) =>
  stage.open({
    monitor: { status: { value: statusOf({ log_filter: 'info' }), at: Date.now() } },
    socket: control.path,
    at: `#/log${at}`,
    ...more,
  });

const rows = (page: Page) => page.locator('.grid-body .grid-row');

/** Whether the last row is in sight. */
const AT_END =
  '(() => { const box = document.querySelector(".grid"); return box.scrollHeight - box.clientHeight - box.scrollTop < 2; })()';

test('levels, targets and texts select lines, and are in the address', { skip }, async () => {
  await using control = await FakeControl.start();
  control.log({ message: 'a flow has failed', target: 'svc_app::instance', level: 'info' });
  control.log({ message: 'something is wrong', target: 'svc_app', level: 'error' });
  control.log({ message: 'bytes', target: 'svc_socks', level: 'trace', fields: { user: 'Ann' } });
  await using scene = await open(control);
  const { page } = scene;
  await rows(page).nth(2).waitFor();
  await page.getByText('3 lines of 3 kept').waitFor();
  await page.getByText('Filter of Weir: info').waitFor();
  await scene.checkAccessible();

  await page.getByLabel('Level').selectOption('warn and above');
  await page.getByText('1 line of 3 kept').waitFor();
  await rows(page).filter({ hasText: 'something is wrong' }).waitFor();
  assert.match(page.url(), /level=warn/);
  await page.getByLabel('Level').selectOption('all');

  await page.getByLabel('Target').fill('svc_app::');
  await page.getByText('1 line of 3 kept').waitFor();
  await rows(page).filter({ hasText: 'a flow has failed' }).waitFor();
  await page.getByLabel('Target').fill('');
  await rows(page).nth(2).waitFor();

  await page.locator('.grid').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('ann');
  await page.getByText('1 line of 3 kept').waitFor();
  await rows(page).filter({ hasText: 'bytes' }).waitFor();
  assert.match(page.url(), /text=ann/);
  await page.keyboard.type('e');
  await page.getByText('No line matches.').waitFor();
  control.log({ message: 'Anne has come' });
  await rows(page).filter({ hasText: 'Anne has come' }).waitFor();
});

test('it follows, stops for a reader, counts new lines and follows again', { skip }, async () => {
  await using control = await FakeControl.start();
  for (let n = 0; n < 300; n++) control.log({ message: `line ${n}.` });
  await using scene = await open(control);
  const { page } = scene;
  const follow = page.getByRole('button', { name: 'Follow', exact: true });
  await rows(page).filter({ hasText: 'line 299.' }).waitFor();
  assert.equal(await follow.first().getAttribute('aria-pressed'), 'true');
  assert.ok((await rows(page).count()) <= 60);
  control.log({ message: 'line 300.' });
  await rows(page).filter({ hasText: 'line 300.' }).waitFor();
  await untilTrue(page, AT_END);

  await page.keyboard.press('f');
  await page.locator('button[aria-pressed=false]', { hasText: 'Follow' }).waitFor();
  for (let n = 301; n < 304; n++) control.log({ message: `line ${n}.` });
  const resume = page.getByRole('button', { name: '3 new lines: follow' });
  await resume.waitFor();
  assert.equal(await rows(page).filter({ hasText: 'line 303.' }).count(), 0);
  await resume.click();
  await rows(page).filter({ hasText: 'line 303.' }).waitFor();
  await untilTrue(page, AT_END);

  // A reader who scrolls up has left the end.
  await page.evaluate('document.querySelector(".grid").scrollTop = 0');
  await page.locator('button[aria-pressed=false]', { hasText: 'Follow' }).waitFor();
  await rows(page).filter({ hasText: 'line 0.' }).waitFor();
  control.log({ message: 'line 304.' });
  await page.getByRole('button', { name: '1 new line: follow' }).waitFor();
  assert.equal(await rows(page).filter({ hasText: 'line 0.' }).count(), 1);
  await page.keyboard.press('f');
  await rows(page).filter({ hasText: 'line 304.' }).waitFor();
});

test('a key moves from a row as soon as the row is there', { skip }, async () => {
  await using control = await FakeControl.start();
  for (let n = 0; n < 300; n++) control.log({ message: `line ${n}.` });
  await using scene = await open(control);
  const { page } = scene;
  await rows(page).filter({ hasText: 'line 299.' }).waitFor();
  // Observers are called before the next task, such as a frame.
  await page.evaluate(`(() => {
    const grid = document.querySelector('.grid');
    new MutationObserver((_records, observer) => {
      if (!grid.querySelector('.grid-row.active')?.textContent.includes('line 0.')) return;
      observer.disconnect();
      grid.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', cancelable: true }));
    }).observe(grid, { childList: true, subtree: true });
  })()`);
  await page.keyboard.press('j');
  await page.locator('.grid-row.active', { hasText: 'line 1.' }).waitFor();
});

test('lines that were lost are counted, and said in their place', { skip }, async () => {
  await using control = await FakeControl.start();
  control.log({ message: 'before' });
  await using scene = await open(control);
  const { page } = scene;
  await rows(page).filter({ hasText: 'before' }).waitFor();
  assert.equal(await page.getByText('lost').count(), 0);
  control.lose(1200);
  control.log({ message: 'after', level: 'debug' });
  control.lose(1);
  await page.getByText('▲ 1,201 lines lost').waitFor();
  const lost = rows(page).filter({ hasText: 'lost here, because this dashboard was too slow' });
  assert.deepEqual(
    (await lost.allInnerTexts()).map((text) => /\d\d ([\d,]+ lines? \w+)/.exec(text)?.[1]),
    ['1,200 lines were', '1 line was'],
  );
  await scene.checkAccessible();
  // Some of them may have been selected: their places stay.
  await page.getByLabel('Level').selectOption('error');
  await rows(page).nth(2).waitFor({ state: 'detached' });
  assert.equal(await lost.count(), 2);
});

test('an end of the log is said, and it is followed again', { skip }, async () => {
  await using control = await FakeControl.start();
  control.log({ message: 'hello' });
  await using scene = await open(control);
  const { page } = scene;
  await page.getByText(/The log has been followed for \d+s\./).waitFor();
  control.endFollowers();
  await page
    .getByText(
      /cannot be followed since \d+s: the process that writes it has ended\. It is tried again/,
    )
    .waitFor();
  control.log({ message: 'again' });
  await rows(page).filter({ hasText: 'again' }).waitFor();
  await page.getByText(/The log has been followed for/).waitFor();
  assert.equal(await rows(page).count(), 2, 'lines that are known are not shown twice');
});

test('hostile lines are shown escaped, whole and in their row', { skip }, async () => {
  const name = '\u202eevil\u001b[31m\u009b2J<img src=x onerror=alert(1)>';
  const shown = String.raw`\u{202e}evil\u{1b}[31m\u{9b}2J<img src=x onerror=alert(1)>`;
  await using control = await FakeControl.start();
  control.log({
    message: `${name}\u0007\nsecond\u0000`,
    target: name,
    fields: { [name]: name, host: name },
  });
  control.log({ message: 'x'.repeat(8192) + name, target: 'y'.repeat(8192) });
  await using scene = await open(control, { viewport: VIEWPORTS.phone });
  const { page } = scene;
  await rows(page).nth(1).waitFor();
  await checkNoSidewaysScroll(page, 'the log');
  const heights = await rows(page).evaluateAll((all) => all.map((row) => row.clientHeight));
  assert.equal(heights[0], heights[1], 'a row is as high as any other');
  await rows(page).first().getByText('+ 1 line').waitFor();
  await rows(page).first().click();
  const sheet = page.getByRole('dialog');
  const message = sheet.getByLabel('Message');
  assert.equal(await message.textContent(), `${shown}\\u{7}\nsecond\\u{0}`);
  assert.deepEqual(await sheet.locator('dt').allTextContents(), ['Target', shown, 'host']);
  assert.deepEqual(await sheet.locator('dd').allTextContents(), [shown, shown, shown]);
  await checkNoSidewaysScroll(page, 'a line');
  await scene.checkAccessible();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await rows(page).nth(1).click();
  assert.equal(await message.textContent(), 'x'.repeat(8192) + shown);
  await checkNoSidewaysScroll(page, 'a long line');
  await page.keyboard.press('Escape');
  const text = (await page.locator('body').textContent()) ?? '';
  assert.ok(
    !['\u202e', '\u001b', '\u009b', '\u0007', '\u0000'].some((char) => text.includes(char)),
  );
  assert.equal(await page.locator('img').count(), 0);
});

test('the fields of a line lead to its connections and its rule', { skip }, async () => {
  await using control = await FakeControl.start();
  control.log({ message: 'failed', fields: { outbound: 'tokyo', rule: 3, error: 'refused' } });
  await using scene = await open(control);
  const { page } = scene;
  await rows(page).first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog', { name: /^info at \d\d:/ });
  await sheet.getByText('refused').waitFor();
  assert.equal(await sheet.getByRole('link', { name: '3' }).getAttribute('href'), '#/rules?rule=3');
  await sheet.getByRole('link', { name: 'tokyo' }).click();
  await page.waitForURL(/#\/connections\?filter=out%3Atokyo/);
});

test(
  'the filter of Weir is changed by keyboard, with its command line first',
  { skip },
  async () => {
    await using control = await FakeControl.start();
    await using scene = await open(control);
    const { page } = scene;
    await page.getByRole('button', { name: 'Change …' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Log filter of Weir' });
    await dialog.getByText('for every reader of its log, until its next start').waitFor();
    await dialog.getByText(`weir log-level info --socket ${control.path}`).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('loud');
    await dialog.getByRole('alert').filter({ hasText: 'loud' }).waitFor();
    assert.equal(
      await dialog.getByRole('button', { name: 'Change the filter' }).isDisabled(),
      true,
    );
    await page.keyboard.press('Control+A');
    await page.keyboard.type('info,svc_app=debug');
    await dialog.getByText(`weir log-level info,svc_app=debug --socket ${control.path}`).waitFor();
    await scene.checkAccessible();
    assert.deepEqual(control.requests, []);
    await page.keyboard.press('Enter');
    await page
      .getByText('The log filter is info,svc_app=debug, until the next start of Weir.')
      .waitFor();
    assert.deepEqual(control.requests, ['PUT /control/log-level {"filter":"info,svc_app=debug"}']);
  },
);

test(
  'read-only shows the filter alone, and without a socket the page says so',
  { skip },
  async () => {
    await using control = await FakeControl.start();
    control.log({ message: 'hello' });
    {
      await using scene = await open(control, { readOnly: true });
      await rows(scene.page).first().waitFor();
      await scene.page.getByText('Filter of Weir: info').waitFor();
      assert.equal(await scene.page.getByRole('button', { name: 'Change …' }).count(), 0);
    }
    await using scene = await stage.open({ at: '#/log' });
    await scene.page.getByText('The log comes by the control socket, and there is none.').waitFor();
  },
);

test(
  'a dashboard that does not read loses lines of a real Weir, and says how many',
  { skip },
  async () => {
    const { weir, dashboard, api } = real;
    await using window = await real.open({ at: '#/log' });
    const { page } = window;
    await rows(page).filter({ hasText: 'inbound socks listening' }).waitFor();
    await page.getByRole('button', { name: 'Change …' }).click();
    await page.getByLabel(/^Levels are/).fill('trace');
    await page.keyboard.press('Enter');
    await page.getByText('The log filter is trace, until the next start of Weir.').waitFor();
    await page.getByText('Filter of Weir: trace').waitFor();
    const flow = await real.openFlow();
    await rows(page)
      .filter({ hasText: '127.0.0.1' })
      .filter({ hasText: 'debug' })
      .first()
      .waitFor();

    // Each reload of it logs a line of 100 kB.
    const tag = 'x'.repeat(100_000);
    await writeFile(
      `${weir.folder}/weir.toml`,
      `${await real.readConfig()}[route]\ndefault = "${tag}"\n`,
    );
    const lost = async () => (await requestStatus(weir.controlPath)).missed.followed_lines;
    dashboard.child.signal('SIGSTOP');
    try {
      while ((await lost()) < 20) assert.equal((await api.ask('POST', '/v1/reload')).status, 422);
    } finally {
      dashboard.child.signal('SIGCONT');
    }
    // There may be more than one gap, and the page has heard of the first one earlier.
    const shown = page.getByText(/^▲ \d+ lines? lost$/);
    await eventually('the sum of all gaps', async () => {
      return (await shown.innerText()) === `▲ ${await lost()} lines lost`;
    });
    await page.getByText('were lost here, because this dashboard was too slow').first().waitFor();
    flow.destroy();
  },
);
