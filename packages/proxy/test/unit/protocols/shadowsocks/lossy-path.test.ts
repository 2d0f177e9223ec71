import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import { DatagramCodec2022 } from '../../../../src/protocols/shadowsocks/edition-2022/datagram-codec.ts';
import { LegacyDatagramCodec } from '../../../../src/protocols/shadowsocks/legacy/datagrams.ts';
import { METHODS, type MethodName } from '../../../../src/protocols/shadowsocks/methods.ts';
import {
  IDLE,
  send,
  wait,
  type Datagram,
  type Node,
} from '../../../../../../test/support/simnet/node.ts';
import {
  corruption,
  delay,
  duplication,
  loss,
} from '../../../../../../test/support/simnet/path.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import { simulate } from '../../../../../../test/support/simnet/simulation.ts';
import {
  FakeSessions,
  FakeSocket,
} from '../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { KnownRandom } from '../../../../../../test/support/known-random.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  clientAt,
  keyFor,
  METHOD_NAMES,
  server,
} from '../../../../../../test/support/protocols/shadowsocks/harness.ts';

const SERVER: Endpoint = { host: '192.0.2.1', port: 8388 };
const SITE: Endpoint = { host: 'example.com', port: 5000 };
const COUNT = 300;
const INTERVAL_MS = 5;
/** When the last datagram is long past. */
const END_MS = COUNT * INTERVAL_MS + 1000;
const SEED = 2022;

/** Sends numbered datagrams and counts the echoes of each. */
function client(name: MethodName, clock: ReturnType<typeof server>['clock']) {
  const { [name]: method } = METHODS;
  const random = new KnownRandom('client');
  const key = Buffer.from(keyFor(name, 1), 'base64');
  const codec =
    method.edition === 'legacy'
      ? new LegacyDatagramCodec(method, key, random)
      : new DatagramCodec2022({ method, clock, random }, [key]);
  const echoes = new Map<number, number>();
  let sent = 0;
  let over = false;
  const node: Node = {
    name: 'client',
    get done() {
      return over;
    },
    process(datagram, now) {
      const packet = datagram && codec.decode(datagram.data);
      if (packet) {
        const echo = Buffer.from(packet.data);
        assert.equal(echo.length, 100);
        assert.ok(echo.subarray(4).every((byte) => byte === 7));
        const number = echo.readUInt32BE();
        assert.ok(number < sent, 'an echo of a datagram that was never sent');
        echoes.set(number, (echoes.get(number) ?? 0) + 1);
      }
      if (sent < COUNT) {
        if (now < sent * INTERVAL_MS) return wait(sent * INTERVAL_MS);
        const payload = Buffer.alloc(100, 7);
        payload.writeUInt32BE(sent++);
        const data = codec.encode({ data: payload, peer: SITE });
        assert.ok(data);
        return send({ data, from: clientAt, to: SERVER });
      }
      if (now < END_MS) return wait(END_MS);
      over = true;
      return IDLE;
    },
  };
  return { node, echoes };
}

/** A Shadowsocks inbound whose destinations echo. */
function echoServer({ handler }: ReturnType<typeof server>): Node {
  const socket = new FakeSocket();
  const datagrams = handler.serveDatagrams?.(new FakeSessions());
  assert.ok(datagrams);
  return {
    name: 'server',
    process(datagram: Datagram | undefined) {
      if (datagram) {
        datagrams.receive({ data: Buffer.from(datagram.data), peer: datagram.from }, socket, false);
      }
      const next = socket.sent.shift();
      return next ? send({ data: next.data, from: SERVER, to: next.peer }) : IDLE;
    },
  };
}

for (const name of METHOD_NAMES) {
  describe(`datagrams of ${name} on a path that loses, repeats, reorders and corrupts`, () => {
    test('arrive intact or not at all, and no datagram is echoed twice', async () => {
      const inbound = server(name);
      const random = new SeededRandom(SEED);
      const path = (): readonly Node[] => [
        loss(random, 0.05),
        duplication(random, 0.05),
        corruption(random, 0.05),
        delay(40, 15, random),
      ];
      const { node, echoes } = client(name, inbound.clock);
      let time = 0;
      await simulate([node, ...path(), echoServer(inbound), ...path()], {
        seed: SEED,
        limit: 2 * END_MS,
        settle,
        onTime: (now) => {
          inbound.clock.advance(now - time);
          time = now;
        },
      });
      // Lost or corrupted on one of the two ways: a fifth is expected, and the seed is fixed.
      assert.ok(echoes.size > COUNT * 0.7 && echoes.size < COUNT * 0.9, `${echoes.size}`);
      // The request counts once in every edition; in 2022 the response does as well.
      const most = Math.max(...echoes.values());
      assert.equal(most, METHODS[name].edition === '2022' ? 1 : 2);
    });
  });
}
