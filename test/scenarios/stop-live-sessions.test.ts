import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { disposable, hostPort, open, portOf } from '../support/data/address.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { ask } from '../support/peers/http-client.ts';
import { readExactly, roundTrip } from '../support/read.ts';
import { echoServer, webServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { GRPC_TLS, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

/** Sends SIGTERM, and waits until its SOCKS inbound has closed: then the stop has begun. */
async function stop(weir: Weir): Promise<void> {
  const port = portOf(weir.address('socks'));
  weir.child.signal('SIGTERM');
  await eventually('the listener to be closed', async () => {
    try {
      (await open({ host: '127.0.0.1', port })).destroy();
      return false;
    } catch {
      return true;
    }
  });
}

const SHARED: readonly (readonly [string, Way])[] = [
  ['Hysteria 2', { protocol: 'hysteria2' }],
  ['gRPC', { protocol: 'vless', carrier: GRPC_TLS }],
];

describe('after a stop signal', { concurrency: 2 }, () => {
  for (const [name, way] of SHARED) {
    test(`a live connection of ${name} carries on, and begins no other flow`, async () => {
      await using echo = await echoServer();
      await using exit = await Weir.start(socksIn() + weirIn(way, { tag: 'in' }) + freedom());
      await using entry = await Weir.start(socksIn() + weirOut(way, exit.address('in')));
      const dial = (): Promise<Socket> => socksConnect(entry.address('socks'), echo.target);
      using live = disposable(await dial());
      await roundTrip(live, 'hello');
      await stop(exit);
      await assert.rejects(async () => {
        using late = disposable(await dial());
        await roundTrip(late, 'too late');
      });
      assert.equal(echo.accepted(), 1);
      assert.equal(String(await roundTrip(live, 'still here')), 'still here');
      live.destroy();
      assert.deepEqual(await within(exit.child.exited, 'the end'), { code: 0, signal: null });
    });
  }

  test('a kept connection of an HTTP client gets 503 for a request to another origin', async () => {
    await using web = await webServer();
    await using other = await webServer();
    await using weir = await Weir.start(socksIn() + httpIn() + freedom());
    using socket = disposable(await open(weir.address('http')));
    const get = (origin: string): string =>
      `GET http://${origin}/hello HTTP/1.1\r\nHost: ${origin}\r\n\r\n`;
    const first = await ask(socket, get(hostPort(web.target)));
    assert.equal(first.status, 200);
    await readExactly(socket, Number(first.headers.get('content-length')));
    await stop(weir);
    assert.equal((await ask(socket, get(hostPort(other.target)))).status, 503);
    assert.equal(other.accepted(), 0);
  });
});
