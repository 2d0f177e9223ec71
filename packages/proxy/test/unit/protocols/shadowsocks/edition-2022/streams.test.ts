import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METHODS } from '../../../../../src/protocols/shadowsocks/methods.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  client,
  connectTo,
  dialOptions,
  firstBytes,
  keyFor,
  MODERN,
  server,
  SITE,
  WITH_IDENTITIES,
} from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';
import { readAll } from '../../../../../../../test/support/read-link.ts';

for (const method of MODERN) {
  const { keyLength } = METHODS[method];

  test(`${method}: a probe of any length gets an end of stream at once, and is read to its own`, async () => {
    for (const bytes of [1, keyLength, keyLength + 26, keyLength + 27, keyLength + 28, 5000]) {
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(Buffer.alloc(bytes, 5));
      assert.equal(await far.read(), undefined, `${bytes} bytes`);
      await far.write(Buffer.alloc(100_000));
      await far.closeWrite();
      assert.ok((await served) instanceof Error);
    }
  });

  for (const [skew, accepted] of [
    [-31, false],
    [-30, true],
    [30, true],
    [31, false],
  ] as const) {
    test(`${method}: a client's clock that is ${skew} s off is ${accepted ? 'accepted' : 'rejected'}`, async () => {
      const to = server(method);
      const from = client(method);
      from.clock.stepWall(skew * 1000);
      const { far, served } = connectTo(to);
      await far.write(await firstBytes(from, 'hello'));
      await settle();
      assert.equal(to.dispatcher.streams.length, accepted ? 1 : 0);
      if (accepted) far.destroy();
      else {
        await far.closeWrite();
        assert.match(String(await served), /clocks/);
      }
    });

    test(`${method}: a server's clock that is ${skew} s off is ${accepted ? 'accepted' : 'rejected'}`, async () => {
      const to = server(method);
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('x'));
      clock.stepWall(skew * 1000);
      if (accepted) assert.equal(String(await link.read()), 'x');
      else await assert.rejects(link.read(), /clocks/);
    });
  }

  test(`${method}: a response to another request is rejected`, async () => {
    const to = server(method);
    const responses: Uint8Array[] = [];
    for (const seed of ['one', 'two']) {
      const { far } = connectTo(to);
      await far.write(await firstBytes(client(method, undefined, undefined, seed), 'x'));
      const response = await far.read();
      assert.ok(response);
      responses.push(response);
    }
    const from = client(method, undefined, undefined, 'one');
    const link = await from.outbound.connect(SITE, dialOptions());
    await link.write(Buffer.from('x'));
    const [, second] = responses;
    await from.dialled[0]?.write(second ?? Buffer.alloc(0));
    await assert.rejects(link.read(), /another request/);
  });

  test(`${method}: a header without payload has padding of 1 to 900 bytes`, async () => {
    const lengths = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const from = client(method, undefined, undefined, `seed ${i}`);
      const link = await from.outbound.connect(SITE, dialOptions());
      const [far] = from.dialled;
      await link.closeWrite();
      const bytes = await readAll(far ?? link);
      const padding =
        bytes.length - (keyLength + 11 + 16 + (1 + 1 + SITE.host.length + 2) + 2 + 16);
      assert.ok(padding >= 1 && padding <= 900);
      lengths.add(padding);
    }
    assert.ok(lengths.size > 20);
  });
}

for (const method of WITH_IDENTITIES) {
  const users = [
    { key: keyFor(method, 10), email: 'first' },
    { key: keyFor(method, 11), email: 'second' },
  ];
  const identity = keyFor(method, 1);

  test(`${method}: a longer chain has a header for each key but the last`, async () => {
    const one = await firstBytes(client(method, [identity]), 'x');
    const three = await firstBytes(client(method, [identity, identity, users[0]!.key]), 'x');
    assert.equal(three.length - one.length, 32);
  });
}
