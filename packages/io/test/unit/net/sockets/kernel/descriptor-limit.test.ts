import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { openKernelIo } from '../../../../../src/net/sockets/kernel/kernel-sockets.ts';
import { probeEnvironment } from '../../../../../src/platform/sockets/probe.ts';
import { noKernelSockets } from '../../../../../../../test/support/links/kernel-io.ts';

test(
  'a relay with 64 descriptors serves all of 100 clients that come at once',
  { skip: noKernelSockets },
  async () => {
    const origin = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    const relay = new URL('../../../../../../../test/stress/relay-process.ts', import.meta.url)
      .pathname;
    const { port: originPort } = origin.address() as AddressInfo;
    const child = spawn(
      'sh',
      ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, relay, 'kernel', String(originPort)],
      { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, WEIR_IO: 'kernel' } },
    );
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, 'line')) as [string];
    const { port } = JSON.parse(line) as { port: number };

    const served = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = connect(port, '127.0.0.1');
        socket.end(`client ${index}`);
        let text = '';
        for await (const chunk of socket) text += String(chunk);
        return text;
      }),
    );
    assert.deepEqual(
      served,
      served.map((_, index) => `client ${index}`),
    );
    child.stdin.end();
    await once(child, 'close');
    origin.close();
  },
);

test('kernel sockets are opened, or the reason why not is given', () => {
  const off = openKernelIo({ ...probeEnvironment(), wanted: 'node' });
  assert.deepEqual(off, { kind: 'node', reason: 'WEIR_IO=node' });
  const opened = openKernelIo({ ...probeEnvironment(), wanted: undefined });
  assert.equal(opened.kind, noKernelSockets === false ? 'kernel' : 'node');
  opened.io?.close();
});
