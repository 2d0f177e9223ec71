import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../packaging/root.ts';
import { runTool } from '../../packaging/tool.ts';
import { arm64Machine } from './machine.ts';

/* The source on arm64, by what qemu can show: see installed.test.ts. */

/** Self-tests of kernel sockets, of a relay by splice, and of TLS by the source's bindings of OpenSSL. */
const SELF_TESTS = [
  'io/test/unit/platform/sockets/sockaddr',
  'io/test/unit/platform/sockets/poller',
  'io/test/unit/platform/sockets/datagrams/control-messages',
  'io/test/unit/platform/sockets/streams/stream-pump',
  'io/test/unit/platform/sockets/streams/stream-socket',
  'proxy/test/unit/transports/tls/tls-link.slow',
];

/**
 * What is left out of them: a test that starts Node as a program and one that chooses the congestion control, which qemu
 * does not translate, and those that compute for seconds.
 */
const LEFT_OUT =
  'a listener that closes accepts|paced by BBR|outruns its reader|given away|lent|single bytes|any bytes|of a byte of one read';

test('the self-tests of the platform pass on arm64', async (t) => {
  const machine = await arm64Machine();
  if (typeof machine === 'string') return t.skip(machine);
  const { emulator, node, modules } = machine;
  const [program = '', ...args] = emulator;
  const files = SELF_TESTS.map((name) => join(ROOT, `packages/${name}.test.ts`));
  const output = await runTool(
    program,
    [
      ...args,
      node,
      `--env-file=${join(ROOT, 'test/checked.env')}`,
      '--test',
      '--test-isolation=none',
      '--test-reporter=spec',
      `--test-skip-pattern=${LEFT_OUT}`,
      ...files,
    ],
    { env: { ...process.env, NODE_PATH: modules, NODE_TEST_CONTEXT: undefined } },
  );
  const [, passed] = /^ℹ pass (\d+)$/m.exec(output) ?? [];
  assert.ok(Number(passed) > 100, output);
  assert.match(output, /^ℹ skipped 0$/m);
  t.diagnostic(`${passed} self-tests passed`);
});
