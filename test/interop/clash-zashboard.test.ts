import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { openBrowser, withoutBrowser } from '../support/browser/open-browser.ts';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { SteeredWeir } from '../support/clash/steered-weir.ts';
import { scratch } from '../support/process/weir.ts';
import { unpackZashboard, withoutClashClients } from '../support/programs/clash-clients.ts';
import { eventually, within } from '../support/wait.ts';

const skip = withoutClashClients || withoutBrowser();

test('zashboard, served by the adapter, shows and steers Weir', { skip }, async (t) => {
  await using folder = await scratch();
  const ui = await unpackZashboard(folder.path);
  await using steered = await SteeredWeir.start();
  const args = ['--socket', steered.weir.controlPath, '--ui', ui];
  await using clash = await ClashProcess.start(args);
  await steered.openFlow();
  await using stack = new AsyncDisposableStack();
  const browser = await openBrowser();
  stack.defer(() => browser.close());
  const page = await browser.newPage({ locale: 'en-US' });
  const requests: string[] = [];
  page.on('response', (response) => {
    const { origin, pathname } = new URL(response.url());
    if (origin === clash.url && response.status() >= 400) {
      requests.push(`${response.status()} ${response.request().method()} ${pathname}`);
    }
  });
  const flowsShown = Promise.withResolvers<void>();
  page.on('websocket', (socket) => {
    if (!new URL(socket.url()).pathname.endsWith('/connections')) return;
    socket.on('framereceived', ({ payload }) => {
      if (payload.includes('"tokyo"')) flowsShown.resolve();
    });
  });
  // Otherwise delays are measured with a host of the Internet.
  await page.addInitScript(
    (url) => localStorage.setItem('config/speedtest-url', url),
    steered.testUrl,
  );

  await t.test('by the link that it prints', async () => {
    const link = /^dashboard on (\S+)$/m.exec(clash.child.stdout)?.[1];
    await page.goto(link ?? '');
    await page.getByText('Video', { exact: true }).first().waitFor();
    assert.match(page.url(), /#\/proxies$/);
    // zashboard closes flows that it knows of. The first snapshot waits for a sample of the traffic, up to a second.
    await within(flowsShown.promise, () => 'a snapshot with the flow');
  });

  const card = page.locator('.cursor-pointer', { hasText: /^osaka\s*socks5/ }).last();

  await t.test(
    'a node is switched, which changes the file and closes the flows of the group',
    async () => {
      await page.getByText('Video', { exact: true }).first().click();
      await card.click();
      const file = await eventually('the pick in the file', async () => {
        const text = await readFile(steered.control.file, 'utf8');
        return text.includes('Video = "osaka"') ? text : undefined;
      });
      assert.match(file, /^\[subscribe\.routes\]\nVideo = "osaka"$/m);
      // zashboard closes what is open on the old node.
      await eventually('no flow', async () => {
        const { flows } = await steered.control.connections();
        return flows.length === 0;
      });
    },
  );

  await t.test('a delay is measured through the node', async () => {
    const asked = steered.osaka.targets.length;
    await card.locator('.latency-tag').click();
    // A delay may be shown from before.
    await eventually('a test of the node', () => steered.osaka.targets.length > asked);
    await card.locator('.latency-tag', { hasText: /^\s*\d+\s*$/ }).waitFor();
  });

  await t.test('connections are listed, with their way, and closed', async () => {
    await steered.openFlow();
    await steered.openFlow();
    await page.goto(`${clash.url}/ui/#/connections`);
    const rows = page.locator('tbody tr', { hasText: String(steered.echo.port) });
    await rows.nth(1).waitFor();
    const text = await rows.first().innerText();
    for (const part of ['Socks5 | tcp', 'DstPort', 'Video', 'osaka']) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
    await rows.first().locator('button').first().click();
    await eventually('one flow', async () => {
      const { flows } = await steered.control.connections();
      return flows.length === 1;
    });
    await eventually('one row', async () => (await rows.count()) === 1);
  });

  await t.test('rules name their group', async () => {
    await page.goto(`${clash.url}/ui/#/rules`);
    await page.getByText(`DstPort : ${steered.echo.port}`).waitFor();
    await page.getByText('Match', { exact: true }).waitFor();
  });

  await t.test('the log is followed', async () => {
    await page.goto(`${clash.url}/ui/#/logs`);
    let name = 'osaka';
    await eventually('a line of the log', async () => {
      name = name === 'tokyo' ? 'osaka' : 'tokyo';
      const { status } = await clash.ask('PUT', '/proxies/Video', { name });
      assert.equal(status, 204);
      return (await page.getByText('config reloaded').count()) > 0;
    });
  });

  await t.test('and nothing that it asked for was refused', () => {
    assert.deepEqual(requests, []);
  });
});
