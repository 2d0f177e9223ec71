import assert from 'node:assert/strict';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf } from '../support/process/control.ts';
import { makeNamedPipe } from '../support/files/named-pipe.ts';
import { within } from '../support/wait.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';

const VALID = `${API}${socksIn()}${freedom()}`;

/** A node whose handshake is checked with a file. */
const nodeWith = (caFile: string): string => `[[proxy_server]]
name = "node"
protocol = "trojan"
server = "127.0.0.1"
port = 443
[proxy_server.settings]
password = "p"
[proxy_server.stream]
network = "tls"
[proxy_server.stream.tls]
server_name = "a.test"
ca_file = "${caFile}"
`;

/** Reading the file \`hung.pem\` does not end, as on a network file system whose server is gone. */
const hungFile = (pipe: string): string =>
  `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises';
  import { writeSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { stat, open } = fs;
  fs.stat = (path, options) => {
    if (!String(path).endsWith('hung.pem')) return stat(path, options);
    writeSync(2, 'reading\\n');
    return open(${JSON.stringify(pipe)});
  };
  syncBuiltinESMExports();
`)}`;

describe('a file that would block', { concurrency: 2 }, () => {
  for (const [what, place, kind] of [
    ['a named pipe', 'pipe', 'pipe'],
    ['standard input', '/dev/stdin', 'socket'],
  ] as const) {
    test(`such as ${what} fails a reload, and nothing after it`, async () => {
      await using weir = await Weir.start(VALID);
      const control = await Control.of(weir);
      makeNamedPipe(join(weir.folder, 'pipe'));
      const caFile = place === 'pipe' ? join(weir.folder, place) : place;
      const nodes = join(weir.folder, 'nodes.toml');
      const subscribed = `${VALID}[subscribe]\npath = "${nodes}"\n`;
      await writeFile(nodes, nodeWith(caFile));
      await control.write(subscribed);
      for (let count = 0; count < 20; count++) {
        const reply = await within(control.post(), 'the reply');
        assert.equal(reply.status, 500, errorOf(reply));
        assert.equal(
          errorOf(reply),
          `cannot read tls.ca_file ${caFile}: is a ${kind}, not a regular file`,
        );
      }
      const routes = await within(control.api.ask('GET', '/v1/routes'), 'the routes');
      assert.equal(routes.status, 200);
      assert.equal((await control.apply(`${VALID}${freedom('other')}`)).status, 'applied');
      assert.deepEqual(await weir.stop(), { code: 0, signal: null });
    });
  }

  test('as a subscribe file, or in the place of the configuration, fails a reload', async () => {
    await using weir = await Weir.start(VALID);
    const control = await Control.of(weir);
    const pipe = join(weir.folder, 'pipe');
    makeNamedPipe(pipe);
    await control.write(`${VALID}[subscribe]\npath = "${pipe}"\n`);
    assert.match(errorOf(await within(control.post(), 'the reply')), /is a pipe, not a regular/);
    assert.deepEqual(await weir.stop(), { code: 0, signal: null });
  });
});

describe('a stop while the system does not finish reading a file', { concurrency: 2 }, () => {
  for (const signals of [1, 2]) {
    test(`ends after ${signals === 1 ? 'its time' : 'a second signal'}`, async () => {
      await using folder = await scratch();
      const pipe = join(folder.path, 'pipe');
      makeNamedPipe(pipe);
      await using weir = await Weir.start(VALID, { nodeArgs: ['--import', hungFile(pipe)] });
      const control = await Control.of(weir);
      await control.write(
        `${VALID}[dns]\nbackend = "tls"\nserver = "127.0.0.1"\nca_file = "hung.pem"\n`,
      );
      weir.child.signal('SIGHUP');
      await weir.child.until('a read', ({ stderr }) => stderr.includes('reading') || undefined);
      weir.child.signal('SIGTERM');
      await control.logged('shutting down');
      if (signals === 2) weir.child.signal('SIGTERM');
      assert.deepEqual(await within(weir.child.exited, 'the end'), { code: 0, signal: null });
    });
  }
});

/** What a shell makes of `<(…)`: the end of a pipe for reading, and its path for the child. */
async function pipedConfig(args: readonly string[]): Promise<{ child: Child; writer: number }> {
  await using folder = await scratch();
  const pipe = join(folder.path, 'pipe');
  makeNamedPipe(pipe);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, 'w');
  const child = weirCommand([...args, '--config', '/dev/fd/3'], { descriptors: [reader] });
  closeSync(reader);
  return { child, writer };
}

describe('a configuration that is a pipe', { concurrency: 2 }, () => {
  test('is checked', async () => {
    const { child, writer } = await pipedConfig(['--test']);
    await using _ = child;
    writeSync(writer, VALID);
    closeSync(writer);
    assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null });
    assert.match(child.stdout, /Configuration OK/);
  });

  test('is served, and cannot be read again by a reload', async () => {
    const { child, writer } = await pipedConfig(['run']);
    await using _ = child;
    writeSync(writer, VALID);
    closeSync(writer);
    const seen = (what: string, text: RegExp): Promise<true> =>
      child.until(what, ({ stderr }) => text.test(stderr) || undefined);
    await seen('an inbound', /inbound socks listening/);
    child.signal('SIGHUP');
    await seen('a refusal', /cannot read \/dev\/fd\/3: is a pipe, not a regular file/);
    child.signal('SIGTERM');
    assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null });
  });
});
