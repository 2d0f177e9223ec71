import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { METHODS } from '../../../../src/protocols/shadowsocks/methods.ts';
import { uncollected } from '../../../../../../test/support/process/uncollected.ts';
import {
  codec,
  ELSEWHERE,
  listening,
  text,
} from '../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  clientAt,
  keyFor,
  METHOD_NAMES,
  SITE,
} from '../../../../../../test/support/protocols/shadowsocks/harness.ts';

for (const method of METHOD_NAMES) {
  describe(`datagrams of ${method}`, () => {
    test('reach any peer, and responses have their source, in one association', async () => {
      const { receive, socket, dispatcher, sessions } = listening(method);
      const from = codec(method);
      const peers = [SITE, ELSEWHERE, { host: '2001:db8::9', port: 53 }, SITE];
      for (const [i, peer] of peers.entries()) {
        assert.ok(receive(from.encode({ data: text(`packet ${i}`), peer })));
        await settle();
        const response = socket.sent[i];
        assert.deepEqual(response?.peer, clientAt);
        const packet = from.decode(response.data);
        assert.equal(String(packet?.data), `packet ${i}`);
        assert.deepEqual(packet?.peer, peer);
        // A response is accepted once.
        if (METHODS[method].edition === '2022') assert.equal(from.decode(response.data), undefined);
      }
      assert.equal(dispatcher.associations.length, 1);
      assert.equal(dispatcher.associations[0]?.origin.source, clientAt.host);
      assert.equal(sessions.live.size, 1);
      const [wire] = sessions.wires;
      assert.ok(wire && wire.bytesRead > 100 && wire.bytesWritten > 100);
    });

    test('may be empty, or as large as UDP allows', async () => {
      const { receive, socket } = listening(method);
      const from = codec(method);
      for (const size of [0, 1, 65_000]) {
        const data = Buffer.alloc(size, 3);
        receive(from.encode({ data, peer: ELSEWHERE }));
        await settle();
        assert.deepEqual(from.decode(socket.sent.pop()?.data ?? data)?.data, data);
      }
    });

    test('are accepted once: a replay is dropped', async () => {
      const { receive, socket } = listening(method);
      const datagram = codec(method).encode({ data: text('once'), peer: SITE });
      receive(datagram);
      receive(datagram);
      await settle();
      assert.equal(socket.sent.length, 1);
    });

    test('are dropped with a wrong key, with any changed byte, and when they are truncated', async () => {
      const { receive, socket, dispatcher, sessions } = listening(method);
      assert.ok(
        !receive(codec(method, [keyFor(method, 2)]).encode({ data: text('x'), peer: SITE })),
      );
      const good = codec(method).encode({ data: text('x'), peer: SITE });
      assert.ok(good);
      for (let at = 0; at < good.length; at++) {
        const changed: Buffer = Buffer.from(good);
        changed[at]! ^= 1;
        assert.ok(!receive(changed));
        assert.ok(!receive(good.subarray(0, at)));
      }
      await settle();
      assert.deepEqual([socket.sent.length, dispatcher.associations.length], [0, 0]);
      assert.equal(sessions.live.size, 0);
      assert.ok(receive(good));
    });

    test('that are responses reflected to the server are dropped', async () => {
      const { receive, socket, dispatcher } = listening(method);
      receive(codec(method).encode({ data: text('x'), peer: SITE }));
      await settle();
      receive(socket.sent[0]?.data, { host: '192.0.2.66', port: 1 });
      await settle();
      assert.equal(dispatcher.associations.length, 1);
    });

    test('end their association after 300 s of silence', async () => {
      const { receive, clock, sessions } = listening(method);
      const from = codec(method, undefined, { clock });
      receive(from.encode({ data: text('x'), peer: SITE }));
      clock.advance(299_000);
      receive(from.encode({ data: text('y'), peer: SITE }));
      await settle();
      clock.advance(299_999);
      await settle();
      assert.equal(sessions.live.size, 1);
      clock.advance(1);
      await settle();
      assert.equal(sessions.live.size, 0);
      assert.equal(clock.timers, 0);
    });

    test('end their association with their socket, and when the engine closes it', async () => {
      const { receive, sessions, socket } = listening(method);
      receive(codec(method).encode({ data: text('x'), peer: SITE }));
      const [destroy] = sessions.live.values();
      destroy?.(new Error('over'));
      await settle();
      assert.equal(sessions.live.size, 0);
      const other = codec(method, undefined, { seed: 'other' });
      receive(other.encode({ data: text('y'), peer: SITE }));
      assert.equal(sessions.live.size, 1);
      socket.close();
      await settle();
      assert.equal(sessions.live.size, 0);
    });

    test('leave nothing behind on a socket that outlives their association', async () => {
      const { receive, sessions, dispatcher, socket } = listening(method);
      /** A datagram of a new client, whose association ends at once. */
      const passing = async (seed: string): Promise<WeakRef<object>> => {
        receive(codec(method, undefined, { seed }).encode({ data: text('x'), peer: SITE }));
        await settle();
        for (const destroy of sessions.live.values()) destroy(new Error('over'));
        await settle();
        const [request] = dispatcher.associations.splice(0);
        sessions.wires.length = 0;
        assert.ok(request);
        return new WeakRef(request.client);
      };
      const refs = [await passing('one'), await passing('two'), await passing('three')];
      assert.deepEqual(await uncollected(refs), []);
      assert.equal(socket.sent.length, 3);
    });

    test('are accepted by a replaced handler only in its own associations', () => {
      const { receive } = listening(method);
      const [one, two] = [codec(method), codec(method, undefined, { seed: 'two' })];
      const first = one.encode({ data: text('x'), peer: SITE });
      assert.equal(receive(first, clientAt, true), false);
      assert.equal(receive(first), true);
      assert.equal(receive(one.encode({ data: text('y'), peer: SITE }), clientAt, true), true);
      const elsewhere = { host: '192.0.2.8', port: 1 };
      assert.equal(receive(two.encode({ data: text('z'), peer: SITE }), elsewhere, true), false);
    });
  });
}
