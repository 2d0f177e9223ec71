import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { disposable, open, parseAddress, type Address } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { freePort } from '../support/ports.ts';
import { roundTrip } from '../support/read.ts';
import { bannerServer, echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { scratch, Weir } from '../support/process/weir.ts';

const apiAt = (listen: string, secret?: string): string =>
  `[api]\nlisten = "${listen}"\n${secret === undefined ? '' : `secret = "${secret}"\n`}`;

const socksAt = (port: number, tag = 'socks', listen = '127.0.0.1'): string =>
  socksIn(tag, `listen = "${listen}"`).replace('port = 0', `port = ${port}`);

const local = (port: number): string => `127.0.0.1:${port}`;

/** Polls until the API responds there: it moves once the reload has its response. */
const healthy = (where: string, token?: string): Promise<boolean> =>
  eventually(`the API on ${where}`, () =>
    new ApiClient(parseAddress(where), token).get('/v1/health').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );

async function proxies(through: Address): Promise<void> {
  await using echo = await echoServer();
  using socket = disposable(await socksConnect(through, echo.target));
  await roundTrip(socket, 'through');
}

const ports = async (): Promise<[number, number]> => {
  const first = await freePort();
  for (;;) {
    const second = await freePort();
    if (second !== first) return [first, second];
  }
};

describe('one reload through the API', { concurrency: 3 }, () => {
  test('moves the API away and an inbound to its address, and back', async () => {
    const [a, b] = await ports();
    await using weir = await Weir.start(apiAt(local(a)) + freedom());
    const control = await Control.of(weir);
    const report = await control.apply(apiAt(local(b)) + socksAt(a) + freedom());
    assert.deepEqual(report.built, ['inbound socks']);
    await proxies(parseAddress(local(a)));
    await healthy(local(b));
    const moved = new ApiClient(parseAddress(local(b)));
    await control.write(apiAt(local(a)) + freedom());
    assert.equal((await moved.ask('POST', '/v1/reload')).status, 200);
    await healthy(local(a));
    await assert.rejects(open(parseAddress(local(b))), /ECONNREFUSED/);
  });

  test('lets the API and an inbound exchange addresses', async () => {
    const [a, b] = await ports();
    await using weir = await Weir.start(apiAt(local(a)) + socksAt(b) + freedom());
    const control = await Control.of(weir);
    const report = await control.apply(apiAt(local(b)) + socksAt(a) + freedom());
    assert.deepEqual(report.rebound, ['socks']);
    await proxies(parseAddress(local(a)));
    await healthy(local(b));
  });

  test('removes the API and binds its port to an inbound on every address', async () => {
    const port = await freePort();
    await using weir = await Weir.start(apiAt(local(port)) + freedom());
    const control = await Control.of(weir);
    await control.apply(socksAt(port, 'socks', '0.0.0.0') + freedom());
    await proxies(parseAddress(local(port)));
    await weir.child.until('the API to be gone', ({ stderr }) =>
      stderr.includes('API stopped: the config no longer has [api]') ? true : undefined,
    );
  });

  test('moves the API from a unix socket that an inbound then has, and back', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'one.sock');
    const inbound = `[[inbound]]\ntag = "socks"\nprotocol = "socks"\nlisten = "${path}"\n[inbound.settings]\nudp = false\n`;
    const port = await freePort();
    await using weir = await Weir.start(apiAt(path) + freedom());
    const control = await Control.of(weir);
    await control.apply(apiAt(local(port)) + inbound + freedom());
    await proxies({ path });
    await healthy(local(port));
    await control.write(apiAt(path) + freedom());
    const moved = new ApiClient(parseAddress(local(port)));
    assert.equal((await moved.ask('POST', '/v1/reload')).status, 200);
    await healthy(path);
  });

  test('leaves the API where it is when another inbound cannot be bound', async () => {
    await using holder = await bannerServer('taken');
    const [a, b] = await ports();
    await using weir = await Weir.start(apiAt(local(a)) + freedom());
    const control = await Control.of(weir);
    using events = await control.api.events('/v1/connections/events');
    // One address has to make room before the other inbound fails to be bound.
    const taken = socksAt(holder.port, 'late', '127.0.0.1');
    await control.write(apiAt(local(b)) + socksAt(a) + taken + freedom());
    const reply = await control.post();
    assert.equal(reply.status, 500);
    assert.match(reply.text, /inbound late: .*address already in use/);
    await healthy(local(a));
    await assert.rejects(open(parseAddress(local(b))), /ECONNREFUSED/);
    // Requests under way have lived through it.
    const next = events.next();
    await control.apply(apiAt(local(a)) + socksIn() + freedom());
    await proxies(weir.address('socks'));
    assert.equal((await next)?.name, 'opened');
  });

  test('does not give the address of an API that stays to an inbound', async () => {
    const port = await freePort();
    await using weir = await Weir.start(apiAt(local(port)) + freedom());
    const control = await Control.of(weir);
    for (const secret of [undefined, 'other']) {
      await control.write(apiAt(local(port), secret) + socksAt(port) + freedom());
      const reply = await control.post();
      assert.equal(reply.status, 500);
      assert.match(reply.text, /inbound socks: .*address already in use/);
      await healthy(local(port));
    }
  });
});
