import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import { REBOUND } from '../support/browser/open-browser.ts';
import { Stage } from '../support/browser/stage.ts';
import { untilTrue, type WatchedPage } from '../support/browser/watched-page.ts';
import { FROM_SOURCE } from '../support/process/weir.ts';

const stage = new Stage({ flows: 2 });
const { skip } = stage;

/** A page of another server on this host; it tries what it is asked to by `evaluate`. */
async function otherPage(): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://localhost:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The status of a request by the page's own scripts. */
const statusOf = (window: WatchedPage, path: string, init = ''): Promise<number> =>
  window.evaluate(`fetch(${JSON.stringify(path)}, {${init}}).then(({ status }) => status)`);

describe('a link', () => {
  test('shows the page, and is gone from the address and the history', { skip }, async () => {
    await using window = await stage.open();
    const { page } = window;
    assert.equal(page.url().replace(/#.*/, ''), `${stage.dashboard.url}/`);
    assert.doesNotMatch(page.url(), /#[\w-]{43}$/);
    await page.locator('[data-health="Serving"]').waitFor();
    await page.goBack();
    assert.equal(page.url(), 'about:blank');
    await page.goForward();
    assert.doesNotMatch(page.url(), /#[\w-]{43}$/);
  });

  test('works once, and the session goes on in its browser', { skip }, async () => {
    const link = await stage.dashboard.newLink();
    await using first = await stage.openBare();
    await first.page.goto(link);
    await first.page.locator('[data-health="Serving"]').waitFor();
    await first.page.reload();
    await first.page.locator('[data-health="Serving"]').waitFor();
    await using second = await stage.openBare();
    await second.page.goto(link);
    await second.page.getByText('link').first().waitFor();
    assert.equal(await statusOf(second, '/session', "headers: { 'weir-dashboard': '' }"), 401);
    // A second window of the first browser that uses it again has the session.
    const again = await first.context.newPage();
    await again.goto(link);
    await again.locator('[data-health="Serving"]').waitFor();
  });

  test('gives a cookie that scripts cannot read', { skip }, async () => {
    await using window = await stage.open();
    const [cookie, ...others] = await window.context.cookies();
    assert.ok(cookie);
    assert.deepEqual(others, []);
    const { httpOnly, sameSite, name } = cookie;
    assert.deepEqual({ httpOnly, sameSite }, { httpOnly: true, sameSite: 'Strict' });
    assert.equal(name, `weir-dashboard-${new URL(stage.dashboard.url).port}`);
    assert.equal(await window.evaluate('document.cookie'), '');
  });

  test('without one, the page says what to do', { skip }, async () => {
    await using window = await stage.openBare();
    await window.page.goto(stage.dashboard.url);
    await window.page.getByText('weir dashboard').first().waitFor();
    const body = await window.page.locator('body').innerText();
    assert.doesNotMatch(body, /Serving/);
  });
});

describe('a page of another origin', () => {
  test('reads nothing and changes nothing, with the cookie of a session', { skip }, async () => {
    await using other = await otherPage();
    await using window = await stage.open();
    const foreign = await window.context.newPage();
    const statuses: number[] = [];
    foreign.on('response', (response) => {
      if (response.url().startsWith(stage.dashboard.url)) statuses.push(response.status());
    });
    await foreign.goto(other.url);
    const outcomes: unknown = await foreign.evaluate(`Promise.all(${JSON.stringify([
      ['GET', '/session'],
      ['GET', '/'],
      ['POST', '/actions/close'],
      ['POST', '/streams'],
    ])}.map(([method, path]) =>
      fetch(${JSON.stringify(stage.dashboard.url)} + path, { method, credentials: 'include', mode: 'no-cors' })
        .then(({ type }) => type, () => 'blocked')))`);
    assert.deepEqual(outcomes, ['blocked', 'blocked', 'blocked', 'blocked']);
    const frame: unknown = await foreign.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.src = ${JSON.stringify(stage.dashboard.url)};
      frame.onload = () => resolve(frame.contentDocument === null ? 'blocked' : 'shown');
      document.body.append(frame);
    })`);
    assert.equal(frame, 'blocked');
    assert.ok(statuses.length > 0 && statuses.every((status) => status === 403), statuses.join());
  });

  test('that has rebound its name to this host gets 403', { skip }, async () => {
    const { port } = new URL(stage.dashboard.url);
    const context = await stage.browser.newContext();
    const page = await context.newPage();
    const response = await page.goto(`http://${REBOUND}:${port}/`);
    assert.equal(response?.status(), 403);
    await context.close();
  });
});

describe('the policy of the page', () => {
  test(
    'blocks scripts in the document, styles in attributes and HTML as text',
    { skip },
    async () => {
      await using window = await stage.open();
      window.allowsErrors = true;
      const thrown = await window.evaluate(`(() => {
      globalThis.blocked = new Set();
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) => blocked.add(effectiveDirective));
      const thrown = (work) => { try { work(); return ''; } catch (error) { return error.name; } };
      const element = document.createElement('p');
      element.setAttribute('style', 'color: red');
      new Image().src = 'http://127.0.0.1:9/';
      fetch('http://127.0.0.1:9/').catch(() => undefined);
      return [
        thrown(() => { element.innerHTML = '<b>x</b>'; }),
        thrown(() => { trustedTypes.createPolicy('any', {}); }),
        thrown(() => { document.createElement('script').text = 'document.title = "run"'; }),
      ];
    })()`);
      assert.deepEqual(thrown, ['TypeError', 'TypeError', 'TypeError']);
      await untilTrue(window.page, 'blocked.size === 5');
      assert.deepEqual(await window.evaluate('[...blocked].sort()'), [
        'connect-src',
        'img-src',
        'require-trusted-types-for',
        'style-src-attr',
        'trusted-types',
      ]);
    },
  );
});

describe('the stream', () => {
  test('pauses while the page is hidden, and Weir is asked for nothing', { skip }, async () => {
    await using dashboard = await DashboardProcess.start(
      ['--config', `${stage.weir.folder}/weir.toml`, '--socket', stage.weir.controlPath],
      FROM_SOURCE,
    );
    await using window = await stage.openBare({}, dashboard);
    await window.page.goto(await dashboard.newLink());
    await window.page.locator('[data-health="Serving"]').waitFor();
    const hide = (hidden: boolean): Promise<unknown> =>
      window.evaluate(`{
        Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));
      }`);
    const kind = `import('/dashboard/page/connection.ts').then(({ connection }) => connection.value.kind)`;
    await hide(true);
    assert.equal(await window.evaluate(kind), 'paused');
    const asked = window.requests.length;
    await window.page.waitForTimeout(600);
    assert.equal(window.requests.length, asked);
    await hide(false);
    await untilTrue(window.page, `${kind}.then((kind) => kind === 'open')`);
  });

  test('is bounded in number for a browser, which is said', { skip }, async () => {
    await using window = await stage.open();
    await window.page.locator('[data-health="Serving"]').waitFor();
    for (let n = 0; n < 3; n++) {
      const page = await window.context.newPage();
      await page.goto(stage.dashboard.url);
      await page.locator('[data-health="Serving"]').waitFor();
    }
    const fifth = await window.context.newPage();
    await fifth.goto(stage.dashboard.url);
    await fifth
      .getByText(/windows/)
      .first()
      .waitFor();
    await window.page.close();
    await fifth.locator('[data-health="Serving"]').waitFor();
  });
});

describe('weir dashboard --read-only', () => {
  test('shows everything, and refuses changes', { skip }, async () => {
    await stage.openFlow();
    const flow = (await stage.flows()).at(-1);
    const config = `${stage.weir.folder}/weir.toml`;
    await using dashboard = await DashboardProcess.start(
      ['--config', config, '--socket', stage.weir.controlPath, '--read-only'],
      FROM_SOURCE,
    );
    await using window = await stage.openBare({}, dashboard);
    await window.page.goto(await dashboard.newLink());
    await window.page.locator('[data-health="Serving"]').waitFor();
    const code = await window.evaluate(
      `import('/dashboard/page/connection.ts').then(({ act }) => act('close', { all: true })).then(() => 'done', ({ code }) => code)`,
    );
    assert.equal(code, 'read-only');
    assert.ok((await stage.flows()).some(({ id }) => id === flow?.id));
  });
});

test('after its process has ended the page says so, with the last values', { skip }, async () => {
  const config = `${stage.weir.folder}/weir.toml`;
  const args = ['--config', config, '--socket', stage.weir.controlPath];
  await using dashboard = await DashboardProcess.start(args);
  await using window = await stage.openBare({}, dashboard);
  await window.page.goto(await dashboard.newLink());
  await window.page.locator('[data-health="Serving"]').waitFor();
  window.allowsErrors = true;
  dashboard.child.signal('SIGINT');
  assert.equal((await dashboard.child.exited).code, 0);
  await window.page.locator('[data-health="Disconnected"]').waitFor();
  await window.page.getByText('weir.toml').first().waitFor();
});
