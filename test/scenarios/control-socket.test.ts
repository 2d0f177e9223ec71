import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openTunnel, requestReload, requestStatus } from '@weir/server/control';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { echoServer, tcpServer, type Origin } from '../support/peers/servers.ts';
import { roundTrip } from '../support/read.ts';
import { Weir } from '../support/process/weir.ts';
import { within } from '../support/wait.ts';

const text = (config: string): string =>
  `${socksIn()}${freedom()}${config}[[balancer]]\ntag = "group"\noutbounds = ["dead"]\n`;

describe('the control socket', () => {
  let weir: Weir;
  let config: string;
  let dead: string;
  let echo: Origin;
  before(async () => {
    echo = await echoServer();
    dead = proxyOut('dead', 'socks', { host: '127.0.0.1', port: await freePort() });
    config = text(dead);
    weir = await Weir.start(config, { control: true });
  });
  after(async () => {
    await echo[Symbol.asyncDispose]();
    await weir[Symbol.asyncDispose]();
  });
  const file = (): string => join(weir.folder, 'weir.toml');
  const toEcho = () => ({ outbound: 'direct', host: echo.host, port: echo.port });

  test('a reload has its cause in the log, and its refusal in the status', async () => {
    assert.deepEqual(await requestReload(weir.controlPath, 'user añadido by mia'), {
      kind: 'unchanged',
    });
    await writeFile(file(), `${config}\n[log]\nlevel = 3\n`);
    const refused = await requestReload(weir.controlPath, 'a mistake');
    assert.equal(refused.kind, 'failed');
    const edited = 'INFO svc_app::instance: edited: user añadido by mia\n';
    await weir.child.until('the cause', ({ stderr }) => stderr.includes(edited) || undefined);
    const { last_reload: last } = await requestStatus(weir.controlPath);
    assert.deepEqual(last?.outcome, refused);
    const line = config.split('\n').length + 2;
    assert.deepEqual([last?.place?.file, last?.place?.line], [file(), line]);
    await writeFile(file(), config);
    assert.equal((await requestReload(weir.controlPath)).kind, 'applied');
    await assert.rejects(requestReload(weir.controlPath, 'x'.repeat(513)), /longer than 512 bytes/);
    await assert.rejects(requestReload(weir.controlPath, 'two\nlines'), /unprintable/);
  });

  test('a flow goes on through a reload that removes its outbound', async () => {
    const { stream } = await openTunnel(weir.controlPath, toEcho());
    await roundTrip(stream, Buffer.from('before'));
    await writeFile(file(), text(dead).replace('tag = "direct"', 'tag = "other"'));
    assert.equal((await requestReload(weir.controlPath)).kind, 'applied');
    await roundTrip(stream, Buffer.from('after'));
    await assert.rejects(openTunnel(weir.controlPath, toEcho()), /no outbound .* tag "direct"/);
    await writeFile(file(), config);
    await requestReload(weir.controlPath);
    stream.destroy();
  });

  test('hostile clients get nothing, and cost nothing that lasts', async () => {
    const open = async (bytes: string | Buffer): Promise<Socket> => {
      const socket = connect(weir.controlPath).on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(bytes);
      return socket;
    };
    for (const bytes of [
      'restart\n',
      'status x\n',
      'log\n',
      'log {}\nmore',
      'reload\nreload\n',
      'status\nmore',
      '\n',
      Buffer.alloc(1 << 16, 0xff),
      'x'.repeat(4097),
    ]) {
      const socket = await open(bytes);
      await within(once(socket.resume(), 'close'), 'the end of the connection');
      assert.equal(socket.bytesRead, 0);
    }
    for (const request of [
      '',
      '{',
      '[]',
      '{"outbound":"direct","host":"a","port":0}',
      '7',
      'null',
    ]) {
      const socket = await open(`connect ${request}\n`);
      const [response] = (await socket.toArray()) as Buffer[];
      assert.match(String(response), /^\{"kind":"failed","line":"expected /);
    }
    // Half a line, a client that leaves in the middle, and one that has ended its side.
    const slow = await Promise.all(Array.from({ length: 20 }, () => open('stat')));
    for (const each of slow.slice(10)) each.destroy();
    const ended = await open('status\n');
    ended.end();
    const response = Buffer.concat((await ended.toArray()) as Buffer[]).toString();
    assert.equal((JSON.parse(response) as { pid: number }).pid, weir.pid);
    await requestStatus(weir.controlPath);
    for (const each of slow) each.destroy();
  });

  test('a client that leaves ends its dial and its flow', async () => {
    // Accepts and never responds to the request of a SOCKS client.
    const dialled = Promise.withResolvers<Socket>();
    await using silent = await tcpServer((socket) => dialled.resolve(socket.resume()));
    await writeFile(file(), `${config}${proxyOut('silent', 'socks', silent)}`);
    assert.equal((await requestReload(weir.controlPath)).kind, 'applied');
    const leaving = new AbortController();
    const failed = openTunnel(
      weir.controlPath,
      { outbound: 'silent', host: 'a.example', port: 80 },
      leaving.signal,
    );
    const socket = await within(dialled.promise, 'the dial');
    const over = Promise.withResolvers<void>();
    socket.once('end', over.resolve).once('close', over.resolve);
    leaving.abort();
    await assert.rejects(failed, { name: 'AbortError' });
    await within(over.promise, 'the end of the dial');
  });

  test('a stop ends flows of the socket', async () => {
    const { stream } = await openTunnel(weir.controlPath, toEcho());
    stream.on('error', () => undefined);
    const over = once(stream.resume(), 'end');
    weir.child.signal('SIGTERM');
    await within(over, 'the end of the flow');
    assert.equal((await within(weir.child.exited, 'the end')).code, 0);
    assert.ok(!existsSync(weir.controlPath));
  });
});
