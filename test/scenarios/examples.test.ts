import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutBrowser } from '../support/browser/open-browser.ts';
import { examplesFolder } from '../support/library/examples.ts';
import { Child } from '../support/process/child.ts';
import { within } from '../support/wait.ts';
import { shared } from '../support/shared.ts';

/*
 * The examples, each run as its first comment says. `embed.ts` is run by library.test.ts from the built package, and
 * `wireguard.ts` by test/interop.
 */

let folder: Awaited<ReturnType<typeof examplesFolder>>;

shared(async (use) => {
  folder = use(await examplesFolder());
});

async function outputOf(...args: readonly string[]): Promise<string> {
  // A test runner within a test would report to the outer one.
  const env = { NODE_TEST_CONTEXT: undefined };
  await using child = new Child(process.execPath, args, { cwd: folder.path, env });
  const { code } = await within(child.exited, `the end of ${args.join(' ')}`);
  assert.equal(code, 0, child.stdout + child.stderr);
  return child.stdout;
}

const OUTPUTS: Readonly<Record<string, string>> = {
  'fetch-hysteria2.ts': '200 hello\n127.0.0.1 by tokyo\n',
  'chain.ts': 'entry connects to exit\nexit connects to the origin\nhello\n',
  'bytes-per-user.ts': 'ann 40 kB\nbob 200 kB\n',
  'header-proxy.ts': 'department: research\n',
  'route-by-database.ts': 'ann goes by fast\nbob is blocked\ncleo goes by slow\n',
  'websocket-trojan.ts': 'you said: hello\n',
  'expiring-users.ts': 'ann:a 200\nann:wrong 407\nbob:b 407\n',
};

for (const [example, expected] of Object.entries(OUTPUTS)) {
  test(`${example} does what it says`, async () => {
    assert.equal(await outputOf(example), expected);
  });
}

test('cut-network.ts is a test that passes', async () => {
  assert.match(await outputOf('--test', 'cut-network.ts'), /pass 1\b/);
});

test('playwright-socks.ts has Chromium log in', { skip: withoutBrowser() }, async () => {
  assert.equal(await outputOf('playwright-socks.ts'), 'Hello from the origin\nby ann\n');
});
