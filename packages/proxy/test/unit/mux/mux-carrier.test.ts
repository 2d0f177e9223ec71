import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import type { Endpoint } from '@weir/io/addresses';
import { DialError, ProtocolError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import {
  HOLD_MS,
  IDLE_CARRIER_MS,
  MAX_FLOWS,
  MuxCarrier,
  STREAM_BYTES,
} from '../../../src/mux/mux-carrier.ts';
import { FAILED_END_PAUSE_MS, MuxStream, SHORT_BYTES } from '../../../src/mux/mux-stream.ts';
import type { MuxPackets } from '../../../src/mux/mux-packets.ts';
import { GRANT_UNITS, GRANTS_A_TURN, UnitCost } from '../../../../io/src/net/bounds/units.ts';
import { until } from '../../../../io/test/conformance/packet-link.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import {
  addressed,
  END,
  FAILED,
  frame,
  KEEP,
  KEEP_ALIVE,
  MuxClient,
  NEW,
} from '../../../../../test/support/peers/mux-client.ts';

const SITE: Endpoint = { host: 'a.example', port: 80 };
const DNS: Endpoint = { host: '192.0.2.7', port: 53 };

interface Served<Link> {
  readonly link: Link;
  readonly destination: Endpoint | undefined;
  readonly done: PromiseWithResolvers<void>;
}

/** A carrier whose flows wait for the test, and whose client may open more until it says otherwise. */
function start(account: { isValid: boolean; draining?: boolean } = { isValid: true }) {
  const [near, far] = linkPair();
  const clock = new ManualClock();
  const streams: Served<ByteLink>[] = [];
  const packets: Served<MuxPackets>[] = [];
  const carrier = new MuxCarrier(
    near,
    {
      stream: (link, destination) => {
        const done = Promise.withResolvers<void>();
        streams.push({ link, destination, done });
        return done.promise;
      },
      packets: (link) => {
        const done = Promise.withResolvers<void>();
        packets.push({ link, destination: undefined, done });
        return done.promise;
      },
      mayOpen: () => account.isValid,
      mayWait: () => account.isValid && account.draining !== true,
    },
    clock,
  );
  const ended = carrier.run().then(
    () => undefined,
    (error: unknown) => error,
  );
  /** Ends everything; resolves with the result of the carrier. */
  const finish = async (): Promise<unknown> => {
    far.destroy();
    for (const { done } of [...streams, ...packets]) done.resolve();
    return ended;
  };
  const opened = async (count: number): Promise<ByteLink[]> => {
    await until(() => streams.length >= count);
    return streams.map(({ link }) => link);
  };
  return {
    client: new MuxClient(far),
    carrier,
    near,
    clock,
    streams,
    packets,
    opened,
    ended,
    finish,
  };
}

/** The header of a frame that ends a flow. */
const endOf = (id: number, failed = false) => ({ id, hasData: false, status: END, failed });

const read = async (link: ByteLink): Promise<string | undefined> => {
  const chunk = await link.read();
  return chunk && Buffer.from(chunk).toString('latin1');
};
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

describe('a Mux.Cool carrier', () => {
  test('understands what v2ray 4.34 sends', async () => {
    const { client, streams, packets, opened, finish } = start();
    await client.send(
      hex('0012 0001 01 01 01 0050 02 09 612e6578616d706c65 0005 68656c6c6f'),
      hex('000c 0002 01 01 01 01bb 01 c0000207 0006 7365636f6e64'),
      hex('000c 0003 01 01 02 0035 01 c0000207 0005 7175657279'),
      hex('0004 0003 02 01 0005 616761696e'),
      hex('0018 0004 01 01 02 0036 03 20010db8000000000000000000000007 0003 736978'),
      hex('0004 0002 03 00'),
    );
    const [first, second] = await opened(2);
    assert.deepEqual(
      streams.map(({ destination }) => destination),
      [SITE, { host: '192.0.2.7', port: 443 }],
    );
    assert.equal(await read(first as ByteLink), 'hello');
    assert.equal(await read(second as ByteLink), 'second');
    assert.equal(await read(second as ByteLink), undefined);
    const received = [];
    for (const link of [packets[0]?.link, packets[0]?.link, packets[1]?.link]) {
      const packet = await link?.receive();
      received.push([String(packet?.data), packet?.peer.host, packet?.peer.port]);
    }
    assert.deepEqual(received, [
      ['query', '192.0.2.7', 53],
      ['again', '192.0.2.7', 53],
      ['six', '2001:db8::7', 54],
    ]);
    await finish();
  });

  test('responds in frames that any client reads', async () => {
    const { client, opened, packets, finish } = start();
    await client.open(7, SITE);
    const [link] = await opened(1);
    await link?.write(Buffer.from('answer'));
    await link?.closeWrite();
    await client.send(frame(8, NEW, 'q', addressed('udp', DNS)));
    await until(() => packets.length === 1);
    packets[0]?.link.send({ data: Buffer.from('a'), peer: DNS });
    let bytes = Buffer.alloc(0);
    while (bytes.length < 29) {
      bytes = Buffer.concat([bytes, (await client.link.read()) ?? Buffer.from('the end')]);
    }
    assert.deepEqual(
      bytes,
      hex('0004 0007 02 01 0006 616e73776572  0004 0007 03 00  0004 0008 02 01 0001 61'),
    );
    await finish();
  });

  test('closes the directions of a flow one by one', async () => {
    const { client, streams, opened, finish } = start();
    await client.open(1, SITE, 'request');
    await client.send(frame(1, END));
    const [link] = await opened(1);
    assert.equal(await read(link as ByteLink), 'request');
    assert.equal(await read(link as ByteLink), undefined);
    await link?.write(Buffer.from('answer'));
    assert.equal(await client.data(1, 6), 'answer');
    await link?.closeWrite();
    assert.deepEqual((await client.next()).head, endOf(1));
    assert.equal(await link?.closed, undefined);
    streams[0]?.done.resolve();

    // The other way round: the server ends first, and the client continues.
    await client.open(2, SITE);
    const [, second] = await opened(2);
    await second?.closeWrite();
    assert.equal((await client.next()).head.status, END);
    await client.send(frame(2, KEEP, 'late'), frame(2, END));
    assert.equal(await read(second as ByteLink), 'late');
    assert.equal(await read(second as ByteLink), undefined);
    assert.equal(await second?.closed, undefined);
    await finish();
  });

  test('ends a flow whose client has closed it: the client replies to later data with End', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    await client.send(frame(1, END));
    const [link] = await opened(1);
    await link?.write(Buffer.from('more and more'));
    await client.data(1, 13);
    await client.send(frame(1, END));
    assert.match(String(await link?.closed), /the client ended the flow/);
    await assert.rejects(async () => link?.write(Buffer.from('more')));
    await finish();
  });

  test('a flow that is killed leaves the others', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    await client.open(2, SITE);
    const [first, second] = await opened(2);
    first?.destroy(new Error('killed'));
    assert.deepEqual((await client.next()).head, endOf(1, true));
    await client.send(frame(1, KEEP, 'too late'), frame(2, KEEP, 'still here'));
    assert.deepEqual((await client.next()).head, endOf(1));
    assert.equal(await read(second as ByteLink), 'still here');
    await second?.write(Buffer.from('fine'));
    assert.equal(await client.data(2, 4), 'fine');
    await finish();
  });

  test('a reset comes a pause after the data, and its flow answers nothing before', async () => {
    const { client, clock, opened, finish } = start();
    await client.open(1, SITE);
    const [link] = await opened(1);
    await link?.write(Buffer.from('answer'));
    link?.resetAfterData(new Error('reset'));
    assert.match(String(await link?.closed), /reset/);
    assert.equal(await client.data(1, 6), 'answer');
    await client.send(frame(1, KEEP, 'more of the upload'), frame(1, END), frame(7, KEEP, 'x'));
    assert.equal((await client.next()).head.id, 7);
    clock.advance(FAILED_END_PAUSE_MS);
    assert.deepEqual((await client.next()).head, endOf(1, true));
    await finish();
  });

  test('flows whose reset waits for a client that does not read count', async () => {
    const { client, clock, streams, opened, finish } = start();
    for (let id = 0; id < MAX_FLOWS; id++) await client.open(id, SITE);
    const [first] = await opened(MAX_FLOWS);
    await first?.write(Buffer.alloc(100_000));
    for (const { link, done } of streams) {
      link.resetAfterData(new Error('reset'));
      done.resolve();
    }
    clock.advance(FAILED_END_PAUSE_MS);
    await settle();
    await client.open(MAX_FLOWS, SITE);
    await settle();
    assert.equal(streams.length, MAX_FLOWS);
    await client.data(0, 100_000);
    const ended = new Set<number>();
    while (ended.size <= MAX_FLOWS) ended.add((await client.next()).head.id);
    await client.open(MAX_FLOWS + 1, SITE);
    await opened(MAX_FLOWS + 1);
    await finish();
  });

  test('a flow that the client reports as failed is aborted, not ended', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    await client.send(frame(1, END, undefined, undefined, FAILED));
    const [link] = await opened(1);
    await assert.rejects(async () => link?.read(), /the client ended the flow/);
    await finish();
  });

  test('a dial that fails ends its flow with an error', async () => {
    const { client, streams, opened, finish } = start();
    await client.open(1, SITE);
    await opened(1);
    streams[0]?.done.reject(new DialError('refused', 'connection refused'));
    assert.deepEqual((await client.next()).head, endOf(1, true));
    await finish();
  });

  test('an id that is used again is a new flow', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE, 'old');
    await client.open(1, DNS, 'new');
    const [old, fresh] = await opened(2);
    assert.match(String(await old?.closed), /another flow by that id/);
    assert.equal(await read(fresh as ByteLink), 'new');
    await fresh?.write(Buffer.from('answer'));
    assert.equal(await client.data(1, 6), 'answer');
    await finish();
  });

  test('data of an unknown flow is skipped, and End sent', async () => {
    const { client, opened, finish } = start();
    await client.send(
      frame(9, KEEP, 'lost'),
      frame(9, KEEP),
      frame(9, END, 'lost'),
      frame(0, KEEP_ALIVE, 'random'),
      frame(0, KEEP_ALIVE),
      frame(3, NEW, 'lost', Buffer.of(1, 0, 80, 2, 3, 0x61, 0x20, 0x62)),
    );
    assert.deepEqual((await client.next()).head, endOf(9));
    assert.deepEqual((await client.next()).head, endOf(3, true));
    await client.open(1, SITE, 'found');
    const [link] = await opened(1);
    assert.equal(await read(link as ByteLink), 'found');
    await finish();
  });

  test('has a bound on its flows', async () => {
    const { client, streams, opened, finish } = start();
    for (let id = 0; id < MAX_FLOWS; id++) await client.open(id, SITE);
    await opened(MAX_FLOWS);
    await client.open(MAX_FLOWS, SITE, 'one too many');
    assert.deepEqual((await client.next()).head, endOf(MAX_FLOWS, true));
    assert.equal(streams.length, MAX_FLOWS);
    streams[5]?.link.destroy();
    streams[5]?.done.resolve();
    await client.next();
    await client.open(MAX_FLOWS, SITE);
    await opened(MAX_FLOWS + 1);
    await finish();
  });

  test('bounds the flows that are being served: ending them at once makes no room', async () => {
    const { client, streams, finish } = start();
    for (let id = 0; id <= MAX_FLOWS; id++) {
      await client.open(id, SITE);
      await client.send(frame(id, END, undefined, undefined, FAILED));
    }
    assert.deepEqual((await client.next()).head, endOf(MAX_FLOWS, true));
    assert.equal(streams.length, MAX_FLOWS);
    await finish();
  });

  test('takes its flows with it', async () => {
    const { client, opened, packets, streams, ended } = start();
    await client.open(1, SITE);
    await client.send(frame(2, NEW, 'q', addressed('udp', DNS)));
    const [link] = await opened(1);
    await until(() => packets.length === 1);
    await client.link.closeWrite();
    assert.match(String(await link?.closed), /carrier of the flow has ended/);
    assert.match(String(await packets[0]?.link.closed), /carrier of the flow has ended/);
    let over = false;
    void ended.then(() => (over = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(over, false, 'a session lives as long as its flows are being closed');
    for (const { done } of [...streams, ...packets]) done.resolve();
    assert.equal(await ended, undefined);
  });

  test('ends with what is no frame', async () => {
    for (const garbage of [
      '0003 000102',
      '0201',
      '0004 0001 05 00',
      '0004 0001 00 00',
      '0005 0001 01 00 03',
      '0004 0001 01 00',
      '0009 0001 01 00 01 0050 09 61',
      '000a 0001 01 00 01 0050 02 ff 61',
      '0008 0001 02 00 02 0050 01',
    ]) {
      const { client, ended, clock } = start();
      await client.open(1, SITE);
      await client.send(frame(5, NEW, 'q', addressed('udp', DNS)), hex(garbage), Buffer.alloc(600));
      // Its flows are the test's here, so that the end is seen on the carrier.
      await assert.rejects(async () => {
        for (;;) if (!(await client.link.read())) break;
      }, ProtocolError);
      assert.equal(clock.timers, 0);
      void ended;
    }
  });

  test('a slow flow does not hold up the others for ever', async () => {
    const { client, clock, opened, finish } = start();
    await client.open(1, SITE);
    await client.open(2, SITE);
    const [slow, other] = await opened(2);
    const part = Buffer.alloc(32 * 1024, 1);
    const writing = (async () => {
      for (let sent = 0; sent <= STREAM_BYTES; sent += part.length) {
        await client.send(frame(1, KEEP, part));
      }
      await client.send(frame(2, KEEP, 'at last'));
    })();
    const waited = other?.read();
    let came = false;
    void waited?.then(() => (came = true));
    // The carrier is held once the slow flow has its share and one watch is on the hold.
    await until(() => clock.timers === 2);
    clock.advance(HOLD_MS - 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(came, false);
    clock.advance(1);
    assert.equal(String(Buffer.from((await waited) ?? [])), 'at last');
    await writing;
    assert.match(String(await slow?.closed), /held up its mux carrier/);
    assert.deepEqual((await client.next()).head, endOf(1, true));
    await finish();
  });

  test('a flow that makes room lets the carrier go on, and one alone may take its time', async () => {
    const { client, clock, opened, finish } = start();
    await client.open(1, SITE);
    const [slow] = await opened(1);
    const part = Buffer.alloc(32 * 1024, 1);
    const parts = STREAM_BYTES / part.length + 8;
    const writing = (async () => {
      for (let i = 0; i < parts; i++) await client.send(frame(1, KEEP, part));
    })();
    await until(() => clock.timers === 2);
    let received = 0;
    for (let i = 0; i < 3; i++) {
      received += (await slow?.read())?.length ?? 0;
      clock.advance(HOLD_MS);
    }
    while (received < parts * part.length) received += (await slow?.read())?.length ?? 0;
    await writing;
    assert.equal(received, parts * part.length);
    assert.equal(clock.timers, 1);
    await finish();
  });

  test('short pieces that wait are put together, apart from the chunk that they came in', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    const [link] = await opened(1);
    assert.ok(link instanceof MuxStream);
    const letters = Buffer.alloc(3 * SHORT_BYTES).map((_, i) => 97 + (i % 26));
    for (let at = 0; at < letters.length; at += 1024) {
      const part = [...letters.subarray(at, at + 1024)];
      await client.send(...part.map((byte) => frame(1, KEEP, Buffer.of(byte))));
    }
    await client.send(frame(1, KEEP, Buffer.alloc(SHORT_BYTES, 'B')), frame(1, KEEP, 's'));
    await client.send(frame(1, END));
    await until(() => link.queuedBytes > 4 * SHORT_BYTES);
    const chunks: Uint8Array[] = [];
    for (let chunk = await link.read(); chunk; chunk = await link.read()) chunks.push(chunk);
    assert.deepEqual(
      Buffer.concat(chunks),
      Buffer.concat([letters, Buffer.alloc(SHORT_BYTES, 'B'), Buffer.from('s')]),
    );
    assert.equal(chunks.length, 5);
    const [first, second, third, , last] = chunks;
    for (const chunk of [first, second, third, last]) {
      assert.equal(chunk?.buffer.byteLength, SHORT_BYTES);
    }
    assert.equal(link.queuedBytes, 0);
    await finish();
  });

  test('a short piece whose reader waits lies apart from its chunk as well', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    const [link] = await opened(1);
    const waited = link?.read();
    await client.send(frame(1, KEEP, 'short'), frame(0, KEEP_ALIVE, Buffer.alloc(50_000)));
    assert.equal((await waited)?.buffer.byteLength, 5);
    await finish();
  });

  test('what a piece costs beside its bytes counts as well, until it is read', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    const [link] = await opened(1);
    assert.ok(link instanceof MuxStream);
    const piece = Buffer.alloc(SHORT_BYTES, 'B');
    await client.send(...Array.from({ length: 10 }, () => frame(1, KEEP, piece)));
    await client.send(frame(1, KEEP, 's'), frame(1, KEEP, 't'));
    const cost = 10 * (SHORT_BYTES + 256) + 256 + 2;
    await until(() => link.queuedBytes === cost);
    const first = await link.read();
    assert.equal(link.queuedBytes, cost - SHORT_BYTES - 256);
    link.unread(first ?? Buffer.alloc(0));
    assert.equal(link.queuedBytes, cost);
    link.destroy();
    assert.equal(link.queuedBytes, 0);
    await finish();
  });

  test('a carrier that takes nothing makes every flow wait, and their ends overtake', async () => {
    const { client, opened, finish } = start();
    await client.open(1, SITE);
    await client.open(2, SITE);
    await client.open(3, SITE);
    const [first, second, third] = await opened(3);
    const chunk = Buffer.alloc(100_000, 0x61);
    assert.equal(first?.write(chunk), undefined, 'the carrier takes what fills it');
    const waits = [
      first?.write(Buffer.alloc(20_000, 0x62)),
      second?.write(Buffer.from('two')),
    ].filter((wait) => wait !== undefined);
    assert.equal(waits.length, 2);
    const killed = third?.write(Buffer.from('never'));
    assert.ok(killed);
    third?.destroy(new Error('killed'));
    await assert.rejects(killed, /killed/);
    assert.equal((await client.data(1, 100_000)).length, 100_000);
    assert.deepEqual((await client.next()).head, endOf(3, true));
    assert.equal(await client.data(1, 20_000), 'b'.repeat(20_000));
    assert.equal(await client.data(2, 3), 'two');
    await Promise.all(waits);
    await finish();
  });

  test('a client that only asks and never reads is not heard any further', async () => {
    const { client, near, finish } = start();
    let pieces = 0;
    const writeOutput = near.writeOutput.bind(near);
    near.writeOutput = (chunks) => {
      pieces += chunks.length;
      return writeOutput(chunks);
    };
    let blocked = false;
    for (let i = 0; i < 3_000 && !blocked; i++) {
      const frames = Array.from({ length: 100 }, () => frame(9, KEEP, 'x'));
      const sent = client.send(...frames).then(() => true);
      blocked = !(await Promise.race([sent, turns(20)]));
      sent.catch(() => undefined);
    }
    assert.ok(blocked);
    assert.ok(pieces < 30_000, `${pieces} frames wait`);
    await finish();
  });

  test('ends when nothing happens on it, and its silent datagram flows before', async () => {
    const { client, clock, packets, ended } = start();
    await client.send(frame(1, NEW, 'q', addressed('udp', DNS)));
    await until(() => packets.length === 1);
    clock.advance(IDLE_CARRIER_MS - 1);
    packets[0]?.link.send({ data: Buffer.from('a'), peer: DNS });
    await client.next();
    clock.advance(IDLE_CARRIER_MS - 1);
    await client.send(frame(0, KEEP_ALIVE));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    assert.match(String(await packets[0]?.link.closed), /idle for 300 s/);
    assert.equal((await client.next()).head.status, END);
    packets[0]?.done.resolve();
    clock.advance(IDLE_CARRIER_MS - 60_000);
    await client.send(frame(0, KEEP_ALIVE));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(IDLE_CARRIER_MS - 60_000);
    await client.send(frame(0, KEEP_ALIVE));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(IDLE_CARRIER_MS + 30_000);
    assert.match(String(await ended), /idle for 300 s/);
    assert.equal(clock.timers, 0);
  });
});

const turns = async (count: number): Promise<false> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  return false;
};

describe('datagrams on a carrier', () => {
  const GLOBAL_ID = Buffer.alloc(8, 7);
  const OTHER: Endpoint = { host: '2001:db8::9', port: 999 };

  async function udp(...frames: Buffer[]) {
    const all = start();
    await all.client.send(...frames);
    await until(() => all.packets.length === 1);
    const link = all.packets[0]?.link;
    assert.ok(link);
    return { ...all, link };
  }

  test('go to the address of each and return with their source, with XUDP', async () => {
    const { client, link, finish } = await udp(
      frame(0, NEW, 'one', addressed('udp', DNS, GLOBAL_ID)),
      frame(0, KEEP, 'two', addressed('udp', OTHER)),
      frame(0, KEEP, 'three'),
    );
    const got = [await link.receive(), await link.receive(), await link.receive()];
    assert.deepEqual(
      got.map((packet) => [String(packet?.data), packet?.peer]),
      [
        ['one', DNS],
        ['two', OTHER],
        ['three', DNS],
      ],
    );
    for (const peer of [OTHER, DNS, { host: 'a.example', port: 1 }]) {
      link.send({ data: Buffer.from('x'), peer });
      const { head, data } = await client.next();
      assert.deepEqual([head.status === KEEP && head.peer, data], [peer, 'x']);
    }
    await finish();
  });

  test('come from the destination only without XUDP, which carries no source', async () => {
    const { client, link, finish } = await udp(frame(1, NEW, 'one', addressed('udp', DNS)));
    link.send({ data: Buffer.from('spoof'), peer: OTHER });
    link.send({ data: Buffer.from('true'), peer: { ...DNS } });
    const { head, data } = await client.next();
    assert.deepEqual([head.status === KEEP && head.peer, data], [undefined, 'true']);
    assert.equal(link.dropped, 1);
    await finish();
  });

  test('that a client would break off for are dropped', async () => {
    for (const [first, limit] of [
      [addressed('udp', DNS), 2048],
      [addressed('udp', DNS, GLOBAL_ID), 8192],
    ] as const) {
      const { client, link, finish } = await udp(frame(1, NEW, 'q', first));
      link.send({ data: Buffer.alloc(limit + 1), peer: DNS });
      link.send({ data: Buffer.alloc(limit), peer: DNS });
      assert.equal((await client.next()).data.length, limit);
      assert.equal(link.dropped, 1);
      await finish();
    }
  });

  test('may be empty', async () => {
    const { link, finish } = await udp(frame(1, NEW, '', addressed('udp', DNS)));
    assert.equal((await link.receive())?.data.length, 0);
    await finish();
  });

  test('end with the client, which gets an End when they end here', async () => {
    const { client, packets, link, finish } = await udp(
      frame(1, NEW, 'q', addressed('udp', DNS)),
      frame(1, END),
    );
    await link.receive();
    assert.equal(await link.receive(), undefined);
    await client.send(frame(2, NEW, 'q', addressed('udp', DNS)));
    await until(() => packets.length === 2);
    packets[1]?.link.close();
    assert.deepEqual((await client.next()).head, endOf(2));
    await finish();
  });
});

describe('what a read brings is handled in turns', () => {
  /** Units of a turn. */
  const UNITS = GRANTS_A_TURN * GRANT_UNITS;

  test('thousands of frames in several', async () => {
    const { client, streams, finish } = start();
    const many = Buffer.concat(Array.from({ length: 10 * UNITS }, () => frame(0, KEEP_ALIVE)));
    void client.send(many, frame(1, NEW, 'x', addressed('tcp', SITE)));
    let turns = 0;
    while (streams.length === 0) {
      await settle();
      turns++;
    }
    assert.ok(turns >= 10, `${turns} turns`);
    await finish();
  });

  test('flows that are opened and ended on many carriers as few as on one', async () => {
    const carriers = Array.from({ length: 20 }, () => start());
    const one = Array.from({ length: 20 }, (_, id) =>
      Buffer.concat([frame(id, NEW, '', addressed('tcp', SITE)), frame(id, END)]),
    );
    for (const { client } of carriers) void client.send(...one);
    const opened = (): number => carriers.reduce((sum, { streams }) => sum + streams.length, 0);
    let turns = 0;
    while (opened() < 400) {
      await settle();
      turns++;
    }
    const flowsOfATurn = UNITS / UnitCost.flow;
    assert.ok(turns >= 400 / flowsOfATurn - 2, `${turns} turns`);
    for (const { finish } of carriers) await finish();
  });
});

describe('the flows of a client that may open no more', () => {
  const refused = (id: number) => endOf(id, true);

  test('go on, are joined by no other, and the carrier ends with the last one', async () => {
    const account = { isValid: true };
    const { client, streams, packets, opened, ended } = start(account);
    await client.open(1, SITE, 'hello');
    const [link] = await opened(1);
    assert.ok(link);
    assert.equal(await read(link), 'hello');
    account.isValid = false;
    await client.open(2, SITE, 'let me out');
    assert.deepEqual((await client.next()).head, refused(2));
    await client.send(frame(3, NEW, 'let me out', addressed('udp', DNS)));
    assert.deepEqual((await client.next()).head, refused(3));
    assert.deepEqual([streams.length, packets.length], [1, 0]);
    await client.send(frame(1, KEEP, 'still here'));
    assert.equal(await read(link), 'still here');
    await link.write(Buffer.from('the end'));
    await link.closeWrite();
    link.destroy();
    streams[0]?.done.resolve();
    assert.equal(await client.data(1, 7), 'the end');
    assert.deepEqual((await client.next()).head, { ...refused(1), failed: false });
    assert.equal(await client.link.read(), undefined);
    assert.equal(await ended, undefined);
  });

  test('may be opened again when the account is back', async () => {
    const account = { isValid: true };
    const { client, opened, finish } = start(account);
    await client.open(1, SITE);
    await opened(1);
    account.isValid = false;
    await client.open(2, SITE);
    assert.deepEqual((await client.next()).head, refused(2));
    account.isValid = true;
    await client.open(3, SITE);
    assert.equal((await opened(2)).length, 2);
    await finish();
  });

  test('a carrier without flows ends when that is asked for, unless more may be opened', async () => {
    const account = { isValid: true };
    const { client, carrier, ended } = start(account);
    carrier.endIfUnused();
    await client.send(frame(7, KEEP_ALIVE));
    await settle();
    account.isValid = false;
    carrier.endIfUnused();
    assert.equal(await client.link.read(), undefined);
    assert.equal(await ended, undefined);
  });

  test('in a drain flows are opened beside others, and the carrier ends with the last one', async () => {
    const account = { isValid: true, draining: true };
    const { client, carrier, streams, opened, ended } = start(account);
    // Its first flow is on its way.
    carrier.endIfUnused();
    await client.open(1, SITE);
    await opened(1);
    await client.open(2, SITE);
    await opened(2);
    for (const { link, done } of streams) {
      link.destroy();
      done.resolve();
    }
    assert.equal((await client.next()).head.status, END);
    assert.equal((await client.next()).head.status, END);
    assert.equal(await client.link.read(), undefined);
    assert.equal(await ended, undefined);
  });

  test('a refusal that waits for a full carrier is sent before the end', async () => {
    const account = { isValid: true };
    const { client, streams, opened, ended } = start(account);
    await client.open(1, SITE);
    const [link] = await opened(1);
    await link?.write(Buffer.alloc(STREAM_BYTES));
    const full = link?.write(Buffer.alloc(1));
    assert.ok(full);
    account.isValid = false;
    await client.open(2, SITE);
    await settle();
    link?.destroy(new Error('over'));
    await assert.rejects(full);
    streams[0]?.done.resolve();
    await settle();
    const ends: unknown[] = [];
    for (;;) {
      const seen = await client.next().catch(() => undefined);
      if (!seen) break;
      if (seen.head.status === END) ends.push(seen.head);
    }
    assert.deepEqual(ends, [refused(2), refused(1)]);
    assert.equal(await ended, undefined);
  });
});
