import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SystemRandomSource } from '@weir/base/random';
import { FramedPackets } from '../../../src/net/packets/packets.ts';
import {
  DATAGRAM_COST,
  MAX_KEPT_BYTES,
  MAX_UNSENT_BYTES,
} from '../../../src/net/bounds/queue-bounds.ts';
import type { ByteLink, PacketLink } from '../../../src/net/links/link.ts';
import { MuxPackets } from '../../../../proxy/src/mux/mux-packets.ts';
import { Outlet } from '../../../../proxy/src/mux/outlet.ts';
import { DestinationLinks } from '../../../../proxy/src/protocols/outbounds/destination-links.ts';
import { ResolvedPackets } from '../../../../proxy/src/protocols/outbounds/resolved-packets.ts';
import { TrojanFraming } from '../../../../proxy/src/protocols/trojan/wire.ts';
import { VlessFraming } from '../../../../proxy/src/protocols/vless/wire.ts';
import type { BodyKeys } from '../../../../proxy/src/protocols/vmess/body/body-keys.ts';
import { BodyOpener, BodySealer } from '../../../../proxy/src/protocols/vmess/body/body-chunks.ts';
import { BodyDatagrams } from '../../../../proxy/src/protocols/vmess/body/body-datagrams.ts';
import { silentLogger } from '@weir/base/log';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { packetPair } from '../../../../../test/support/links/packet-pair.ts';

const PEER = { host: '192.0.2.7', port: 53 };

const KEYS: BodyKeys = {
  cipher: 'aes-128-gcm',
  key: new Uint8Array(16),
  iv: new Uint8Array(16),
  masking: false,
  padding: false,
  lengths: undefined,
  terminated: true,
};

/** A carrier whose peer does not read: it queues all that is written until `drain`. */
class FullCarrier implements ByteLink {
  readonly closed = new Promise<undefined>(() => undefined);
  writes = 0;
  #drained = Promise.withResolvers<void>();

  drain(): void {
    this.#drained.resolve();
    this.#drained = Promise.withResolvers<void>();
  }

  read(): Promise<undefined> {
    return new Promise(() => undefined);
  }

  unread(): void {
    throw new Error('nothing was read');
  }

  write(): Promise<void> {
    return this.writeOutput();
  }

  writeOutput(): Promise<void> {
    this.writes++;
    return this.#drained.promise;
  }

  closeWrite(): Promise<void> {
    return this.#drained.promise;
  }

  destroy(): void {
    // Nothing is open.
  }

  resetAfterData(): void {
    // Nothing is open.
  }
}

/** What each kind of datagrams in a stream makes of a carrier; the shortest that it carries. */
const KINDS: readonly {
  readonly name: string;
  readonly shortest: number;
  readonly over: (carrier: ByteLink) => PacketLink;
}[] = [
  {
    name: 'VLESS',
    shortest: 0,
    over: (carrier) => new FramedPackets(carrier, new VlessFraming(PEER)),
  },
  {
    name: 'Trojan',
    shortest: 0,
    over: (carrier) => new FramedPackets(carrier, new TrojanFraming()),
  },
  {
    name: 'VMess',
    shortest: 1,
    over: (carrier) =>
      new BodyDatagrams(
        {
          carrier,
          decoder: new BodyOpener(KEYS),
          sealer: new BodySealer(KEYS, new SystemRandomSource()),
          preface: new Uint8Array(0),
        },
        PEER,
      ),
  },
  {
    name: 'Mux.Cool',
    shortest: 0,
    over: (carrier) => {
      const outlet = new Outlet(carrier, () => undefined);
      // Something is under way, as a response to another flow.
      void outlet.write({}, [new Uint8Array(1)]);
      return new MuxPackets({
        id: 1,
        destination: PEER,
        addressed: false,
        outlet,
        now: () => 0,
        onClosed: () => undefined,
      });
    },
  },
];

/** What remains of the bound when a datagram costs nothing but its objects. */
const MOST = Math.ceil(MAX_UNSENT_BYTES / DATAGRAM_COST);

describe('datagrams for a client that does not read', () => {
  for (const { name, shortest, over } of KINDS) {
    test(`are dropped at the bound over ${name}, however short they are`, () => {
      for (const length of [shortest, 1, 40]) {
        const carrier = new FullCarrier();
        const link = over(carrier);
        const count = 5 * MOST;
        for (let i = 0; i < count; i++) link.send({ data: new Uint8Array(length), peer: PEER });
        assert.ok(count - link.dropped <= MOST, `${count - link.dropped} of ${length} bytes wait`);
        assert.ok(count - link.dropped > 0, 'some are kept');
      }
    });

    test(`are taken again over ${name} when it reads`, async () => {
      const carrier = new FullCarrier();
      const link = over(carrier);
      for (let i = 0; i < 2 * MOST; i++) link.send({ data: new Uint8Array(1), peer: PEER });
      const { dropped } = link;
      const { writes } = carrier;
      // Over Mux.Cool each frame that waits is written when the one before has been taken.
      for (let i = 0; i <= MOST; i++) {
        carrier.drain();
        await new Promise((resolve) => setImmediate(resolve));
      }
      link.send({ data: new Uint8Array(1), peer: PEER });
      assert.equal(link.dropped, dropped);
      assert.ok(carrier.writes > writes);
    });
  }
});

describe('datagrams that wait until they can be sent', () => {
  const most = Math.floor(MAX_KEPT_BYTES / DATAGRAM_COST);
  /** A short view of a chunk, as a framing gives it. */
  const part = (): Uint8Array => new Uint8Array(128 << 10).subarray(5, 6);

  test('share one bound in bytes over all streams that are opened', () => {
    const links = new DestinationLinks(() => new Promise(() => undefined), {
      clock: new ManualClock(),
      log: silentLogger,
      tag: 'out',
    });
    let sent = 0;
    for (let port = 1; port <= 200; port++) {
      for (let i = 0; i < 16; i++, sent++) {
        links.send({ data: new Uint8Array(60_000), peer: { host: '192.0.2.1', port } });
      }
    }
    assert.ok((sent - links.dropped) * 60_000 <= MAX_KEPT_BYTES);
    assert.ok(sent > links.dropped);
    links.close();
  });

  test('share one bound in bytes over all names that are resolved, and give their room back', async () => {
    const [near, far] = packetPair();
    const names = new Map<string, PromiseWithResolvers<readonly string[]>>();
    const link = new ResolvedPackets(near, {
      resolver: {
        resolve: (name) => {
          const resolved = Promise.withResolvers<readonly string[]>();
          names.set(name, resolved);
          return resolved.promise;
        },
      },
      family: 'auto',
      allows: () => true,
      onUnresolved: () => undefined,
    });
    const flood = (round: number): number => {
      const before = link.dropped;
      for (let i = 0; i < 2 * most; i++) {
        link.send({ data: part(), peer: { host: `${round}-${i % 256}.example`, port: 53 } });
      }
      return 2 * most - (link.dropped - before);
    };
    const kept = flood(0);
    assert.ok(kept <= most, `${kept} wait`);
    // Those of names whose place another took are lost, and all others arrive.
    for (const { resolve } of names.values()) resolve(['192.0.2.9']);
    const first = await far.receive();
    assert.equal(first?.data.length, 1);
    assert.equal(first.data.buffer.byteLength, 1, 'the chunk around a datagram is not kept');
    assert.equal(flood(1), kept, 'their room is free again');
    link.close();
  });

  test('are tried again when a name had no address', async () => {
    const [near] = packetPair();
    let asked = 0;
    const link = new ResolvedPackets(near, {
      resolver: { resolve: () => Promise.resolve((asked++, [])) },
      family: 'auto',
      allows: () => true,
      onUnresolved: () => undefined,
    });
    for (let i = 0; i < 3; i++) {
      link.send({ data: part(), peer: { host: 'a.example', port: 53 } });
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([asked, link.dropped], [3, 3]);
    link.close();
  });
});
