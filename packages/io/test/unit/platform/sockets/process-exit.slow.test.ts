import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

const SUPPORT = new URL('../../../../../../test/support/links/kernel-io.ts', import.meta.url).href;

/** Runs a module with an open, watched socket pair `near` and `far`; its exit status and output. */
async function run(body: string, ...flags: string[]): Promise<{ status: unknown; out: string }> {
  const source = `
    import { checkedIo, socketPair } from ${JSON.stringify(SUPPORT)};
    const { io } = checkedIo();
    const [near, far] = socketPair(io);
    ${body}`;
  const child = spawn(
    process.execPath,
    [...flags, '--input-type=module', '--no-warnings', '--eval', source],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { status: status ?? signal, out };
}

describe('a process with open kernel sockets', { skip: noKernelSockets }, () => {
  test('ends by itself when no socket is to keep it alive', async () => {
    const { status, out } = await run('near.keepAlive(false); far.keepAlive(false);');
    assert.equal(status, 0, out);
  });

  test('stays alive for a socket until it is closed', async () => {
    const { status, out } = await run(`
      setTimeout(() => { console.log('still here'); near.close(); far.close(); }, 50).unref();`);
    assert.equal(status, 0, out);
    assert.equal(out, 'still here\n');
  });

  test('ends with process.exit, also inside a handler', async () => {
    const { status, out } = await run(`
      near.owner = { onReady: () => process.exit(7) };
      far.send(Buffer.from('x'));`);
    assert.equal(status, 7, out);
  });

  test('ends with a signal', async () => {
    const { status } = await run(`process.kill(process.pid, 'SIGTERM');`);
    assert.equal(status, 'SIGTERM');
  });

  test('ends with what a handler throws, as for any other uncaught exception', async () => {
    const { status, out } = await run(`
      near.owner = { onReady: () => { throw new Error('out of the handler'); } };
      far.send(Buffer.from('x'));`);
    assert.equal(status, 1);
    assert.match(out, /Error: out of the handler/);
  });

  test('has read its errors right under constant collections', async () => {
    const { status, out } = await run(
      `
      for (let i = 0; i < 20_000; i++) {
        const n = near.receive();
        if (n !== -11) throw new Error('receive ' + n);
        near.readable = true;
        globalThis.garbage = Buffer.alloc(64);
      }
      near.close(); far.close();`,
      '--gc-interval=500',
    );
    assert.equal(status, 0, out);
  });
});
