import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { METHODS } from '../../../../src/protocols/shadowsocks/methods.ts';
import {
  client,
  connectTo,
  dialOptions,
  expire,
  firstBytes,
  keyFor,
  METHOD_NAMES,
  server,
  settle,
  SITE,
} from '../../../support/protocols/shadowsocks/harness.ts';
import { readAll } from '../../../support/read-link.ts';

for (const method of METHOD_NAMES) {
  describe(method, () => {
    test('carries payload of any size both ways, and half-closes', async () => {
      const to = server(method);
      const { outbound } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      const sent: Buffer[] = [];
      for (const size of [1, 0, 100, 16_383, 16_384, 65_535, 65_536, 200_000]) {
        const chunk = Buffer.alloc(size, size & 0xff);
        sent.push(chunk);
        void link.write(chunk);
      }
      void link.closeWrite();
      assert.deepEqual(await readAll(link), Buffer.concat(sent));
      const [request] = to.dispatcher.streams;
      assert.deepEqual(request?.destination, SITE);
      assert.equal(request.origin.source, '192.0.2.7');
      assert.equal(request.sniff, true);
    });

    test('reaches host names, IPv4 and IPv6 addresses', async () => {
      const to = server(method);
      const { outbound } = client(method, undefined, to);
      const targets = [
        { host: 'a'.repeat(255), port: 1 },
        { host: '192.0.2.1', port: 65_535 },
        { host: '2001:db8::1', port: 80 },
      ];
      for (const target of targets) {
        const link = await outbound.connect(target, dialOptions());
        await link.write(Buffer.from('x'));
        await link.closeWrite();
        await readAll(link);
      }
      assert.deepEqual(
        to.dispatcher.streams.map(({ destination }) => destination),
        targets,
      );
    });

    test('sends its header without payload after 100 ms, for protocols in which the server sends first', async () => {
      const to = server(method);
      to.dispatcher.banner = '220 hello';
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      const first = link.read();
      await settle();
      assert.equal(to.dispatcher.streams.length, 0);
      clock.advance(100);
      assert.equal(String(await first), '220 hello');
      await link.closeWrite();
      assert.equal((await readAll(link)).length, 0);
    });

    test('carries a stream without payload in either direction', async () => {
      const to = server(method);
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.closeWrite();
      assert.equal(await link.read(), undefined);
      assert.equal(to.dispatcher.streams.length, 1);
      assert.equal(clock.timers, 0);
    });

    test('sends salt, headers and first payload in one write', async () => {
      const from = client(method);
      const bytes = await firstBytes(from, 'hello');
      const { keyLength, edition } = METHODS[method];
      const address = 1 + 1 + SITE.host.length + 2;
      const expected =
        edition === 'legacy'
          ? keyLength + 18 + address + 5 + 16
          : keyLength + 11 + 16 + address + 2 + 5 + 16;
      assert.equal(bytes.length, expected);
    });

    test('rejects a replay of the first bytes', async () => {
      const to = server(method);
      const bytes = await firstBytes(client(method), 'hello');
      const once = connectTo(to);
      await once.far.write(Buffer.from(bytes));
      await settle();
      assert.equal(to.dispatcher.streams.length, 1);
      const twice = connectTo(to);
      await twice.far.write(Buffer.from(bytes));
      await expire(to);
      assert.match(String(await twice.served), /repeated salt/);
      assert.equal(to.dispatcher.streams.length, 1);
      once.far.destroy();
    });

    test('rejects its own response when it is reflected', async () => {
      const to = server(method);
      const first = connectTo(to);
      await first.far.write(await firstBytes(client(method), 'hello'));
      const response = await first.far.read();
      assert.ok(response);
      const reflected = connectTo(to);
      await reflected.far.write(response);
      await expire(to);
      assert.ok(await reflected.served);
      assert.equal(to.dispatcher.streams.length, 1);
      first.far.destroy();
    });

    test('sends nothing to a client with a wrong key', async () => {
      const to = server(method);
      const { outbound } = client(method, [keyFor(method, 2)], to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('let me in'));
      const response = link.read().then(
        (chunk) => chunk,
        (error: unknown) => error,
      );
      await expire(to);
      const seen = await response;
      assert.ok(seen === undefined || seen instanceof Error);
      assert.equal(to.dispatcher.streams.length, 0);
    });

    test('detects a changed byte anywhere, and a truncated stream', async () => {
      const bytes = await firstBytes(client(method), 'hello');
      for (let at = 0; at < bytes.length; at += 5) {
        const to = server(method);
        const changed = Buffer.from(bytes);
        changed[at]! ^= 0x40;
        const { far, served } = connectTo(to);
        await far.write(changed);
        await expire(to);
        // A change after the first chunk is detected when the rest of the request is read.
        assert.ok((await served) instanceof Error || to.dispatcher.streams.length === 0, `${at}`);
        far.destroy();
      }
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(bytes.subarray(0, -1));
      await far.closeWrite();
      await expire(to);
      assert.ok((await served) instanceof Error);
    });
  });
}

for (const method of METHOD_NAMES) {
  test(`a server of ${method} rejects clients of other methods`, async () => {
    for (const other of METHOD_NAMES.filter((name) => name !== method)) {
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(await firstBytes(client(other), 'hello'));
      await expire(to);
      assert.ok((await served) instanceof Error);
      assert.equal(to.dispatcher.streams.length, 0);
    }
  });
}
