import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { atOnce, FIRST_PAYLOAD_MS } from '@weir/io/time';
import { WeirError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { parseUuid } from '../../../../src/protocols/users/uuid.ts';
import { MAX_LINKS } from '../../../../src/protocols/outbounds/destination-links.ts';
import { createVlessInbound, vlessUsers } from '../../../../src/protocols/vless/inbound.ts';
import { createVlessOutbound, ResponseLink } from '../../../../src/protocols/vless/outbound.ts';
import { VlessFraming } from '../../../../src/protocols/vless/wire.ts';
import { until } from '../../../../../io/test/conformance/packet-link.ts';
import { chunksOf, cuts, nearly } from '../../../../../../test/support/data/chunks.ts';
import {
  addressed,
  END,
  frame,
  KEEP,
  MuxClient,
  NEW,
} from '../../../../../../test/support/peers/mux-client.ts';
import {
  bytes,
  connectTo,
  neverAborted,
  onLoopback,
} from '../../../../../../test/support/protocols/socks/harness.ts';
import { readAll, readExactly } from '../../../../../../test/support/read-link.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import { clientOf, serverOf } from '../../../../../../test/support/protocols/tunnel-harness.ts';

/** As v2ray 4.34 sends them. */
const ID = 'b831381d63244d53ad4f8cda48b30811';
const TCP = bytes(`00 ${ID} 00 01 0050 02 09 'a.example' 'hello'`);
const UDP = bytes(`00 ${ID} 00 02 0035 01 c0000207 0005 'query'`);
const MUX = bytes(`00 ${ID} 00 03`);

const DNS: Endpoint = { host: '192.0.2.7', port: 53 };

const server = (users: readonly { readonly id: string }[] = [{ id: ID }]) =>
  serverOf((context) => createVlessInbound(atOnce(vlessUsers({ users })), context));
const client = () => clientOf((context) => createVlessOutbound({ id: ID }, context));

describe('a VLESS server', () => {
  test('answers alone when its destination was reached and is silent', async () => {
    const fixture = server();
    const { client } = connectTo(fixture);
    await client.write(TCP.subarray(0, -5));
    await settle();
    fixture.clock.advance(FIRST_PAYLOAD_MS);
    assert.deepEqual(await readExactly(client, 2), bytes('00 00'));
    await client.write(Buffer.from('hello'));
    assert.deepEqual(await readExactly(client, 5), bytes(`'hello'`));
    client.destroy();
  });

  test('skips addons, but not those that ask for a flow', async () => {
    const withAddons = (addons: string): Buffer => {
      const length = bytes(addons).length.toString(16).padStart(2, '0');
      return bytes(`00 ${ID} ${length} ${addons} 01 0050 01 c0000207 'hello'`);
    };
    for (const addons of ['12 03 aabbcc', '0a00', 'ff'.repeat(255)]) {
      const { client } = connectTo(server());
      await client.write(withAddons(addons));
      assert.deepEqual(await readExactly(client, 7), bytes(`00 00 'hello'`));
      client.destroy();
    }
    const { client, served } = connectTo(server());
    await client.write(withAddons(`0a 10 'xtls-rprx-vision'`));
    await client.closeWrite();
    assert.equal(await client.read(), undefined);
    assert.match(
      String(await served),
      /RejectedClientError.*a flow .*leave "flow" empty in the client$/,
    );
  });

  test('carries many flows on one connection, each with the session of it', async () => {
    const fixture = server();
    const { client: link, served } = connectTo(fixture);
    await link.write(MUX);
    const mux = new MuxClient(link);
    await mux.open(1, { host: 'a.example', port: 80 }, 'one');
    assert.deepEqual(await readExactly(link, 2), bytes('00 00'));
    assert.equal(await mux.data(1, 3), 'one');
    await mux.send(frame(2, NEW, 'two', addressed('udp', DNS)));
    assert.equal(await mux.data(2, 3), 'two');
    await mux.send(frame(1, KEEP, 'more'));
    assert.equal(await mux.data(1, 4), 'more');
    await mux.send(frame(1, END));
    assert.equal((await mux.next()).head.status, END);
    const { streams, associations } = fixture.dispatcher;
    for (const { origin } of [...streams, ...associations]) {
      assert.equal(origin.session, fixture.session);
    }
    assert.deepEqual(streams[0]?.destination, { host: 'a.example', port: 80 });
    await link.closeWrite();
    assert.equal(await served, undefined);
    assert.equal(fixture.clock.timers, 0);
  });
});

describe('a VLESS client', () => {
  test('reads an answer in any pieces, or fails by name', async () => {
    await fc.assert(
      fc.asyncProperty(
        nearly(bytes(`00 00 'hello'`), bytes(`00 03 aabbcc 'hello'`)),
        cuts,
        async (all, at) => {
          const [near, far] = linkPair();
          const link = new ResponseLink(near);
          for (const chunk of chunksOf(all, at)) void far.write(chunk);
          await far.closeWrite();
          const skipped = 2 + (all[1] ?? 0);
          if (all.length < skipped || all[0] !== 0) {
            await assert.rejects(readAll(link), WeirError);
          } else {
            assert.deepEqual(await readAll(link), all.subarray(skipped));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('loses nothing of an answer when a read is called off in the middle', async () => {
    const [near, far] = linkPair();
    const link = new ResponseLink(near);
    const abort = new AbortController();
    const reading = assert.rejects(link.read(abort.signal), /enough/);
    await far.write(bytes('00'));
    await settle();
    abort.abort(new Error('enough'));
    await reading;
    await far.write(bytes(`00 'x'`));
    assert.equal(String(await link.read()), 'x');
  });
});

describe('datagrams of a VLESS client', () => {
  const OTHER: Endpoint = { host: '2001:db8::7', port: 54 };
  const HEAD = UDP.length - 7;
  const packet = (text: string, peer: Endpoint) => ({ data: Buffer.from(text), peer });

  /** The server's end of the stream that was dialled as number `index`. */
  async function dialled({ dialled }: { dialled: ByteLink[] }, index: number): Promise<ByteLink> {
    await until(() => dialled.length > index);
    const link = dialled[index];
    assert.ok(link);
    return link;
  }

  test('open a stream for each destination', async () => {
    const fixture = client();
    const link = await fixture.outbound.associate(neverAborted());
    link.send(packet('query', DNS));
    link.send(packet('six', OTHER));
    link.send(packet('again', { ...DNS }));
    const [first, second] = [await dialled(fixture, 0), await dialled(fixture, 1)];
    assert.deepEqual(
      await readExactly(first, UDP.length + 7),
      Buffer.concat([UDP, bytes(`0005 'again'`)]),
    );
    assert.deepEqual(
      await readExactly(second, 43),
      bytes(`00 ${ID} 00 02 0036 03 20010db8000000000000000000000007 0003 'six'`),
    );
    await second.write(bytes(`00 00 0001 'b'`));
    assert.deepEqual((await link.receive())?.peer, OTHER);
    await first.write(bytes(`00 00 0001 'a'`));
    assert.deepEqual((await link.receive())?.peer, DNS);
    assert.equal(fixture.dialled.length, 2);
    link.close();
    await Promise.all([first.closed, second.closed]);
    assert.equal(fixture.clock.timers, 0);
  });

  test('are opened with the stream of the first one, where that waits', async () => {
    const fixture = client();
    const link = await fixture.outbound.associate({ ...neverAborted(), first: DNS });
    assert.equal(fixture.dialled.length, 1);
    link.send(packet('query', DNS));
    const first = await dialled(fixture, 0);
    assert.deepEqual(await readExactly(first, UDP.length), UDP);
    assert.equal(fixture.dialled.length, 1);
    link.close();
    await first.closed;
  });

  test('end with an association whose server is no longer reached, once none of its streams is open', async () => {
    let isUp = true;
    const ends: ByteLink[] = [];
    const fixture = clientOf(
      (context) => createVlessOutbound({ id: ID }, context),
      ({ reach, origin }) => {
        assert.equal(origin?.inbound, 'in');
        reach?.trying();
        if (!isUp) return Promise.reject(new DialError('refused', 'connection refused'));
        reach?.reached();
        const [link, far] = linkPair();
        ends.push(far);
        return Promise.resolve({ link, wire: { bytesRead: 0, bytesWritten: 0 }, ...onLoopback });
      },
    );
    const origin = { inbound: 'in', source: undefined, user: undefined, session: undefined };
    const link = await fixture.outbound.associate({ ...neverAborted(), origin, first: DNS });
    isUp = false;
    link.send(packet('x', OTHER));
    await settle();
    // The first stream may still work.
    link.send(packet('y', DNS));
    const [first] = ends;
    assert.ok(first);
    await readExactly(first, HEAD + 3);
    first.destroy(new Error('the server has died'));
    await settle();
    link.send(packet('z', { host: '192.0.2.9', port: 1 }));
    await assert.rejects(link.receive(), /connection refused/);
    assert.match(String(await link.closed), /connection refused/);
    assert.equal(fixture.clock.timers, 0);
    await assert.rejects(fixture.outbound.associate({ ...neverAborted(), origin, first: DNS }), {
      code: 'refused',
    });
  });

  test('have a bound on their streams: the one that was silent longest goes', async () => {
    const fixture = client();
    const link = await fixture.outbound.associate(neverAborted());
    for (let port = 0; port < MAX_LINKS; port++) {
      link.send(packet('x', { host: '192.0.2.1', port: 1000 + port }));
      fixture.clock.advance(1);
    }
    link.send(packet('y', { host: '192.0.2.1', port: 1000 }));
    link.send(packet('z', { host: '192.0.2.2', port: 1 }));
    await until(() => fixture.dialled.length === MAX_LINKS + 1);
    await fixture.dialled[1]?.closed;
    let open = 0;
    for (const stream of fixture.dialled) void stream.closed.then(() => open--);
    open += fixture.dialled.length;
    await settle();
    assert.equal(open, MAX_LINKS);
    link.close();
  });

  test('give up streams that are silent, those of resolvers first', async () => {
    const fixture = client();
    const link = await fixture.outbound.associate(neverAborted());
    link.send(packet('query', DNS));
    link.send(packet('six', OTHER));
    const [dns, other] = [await dialled(fixture, 0), await dialled(fixture, 1)];
    await readExactly(dns, HEAD);
    fixture.clock.advance(15_000);
    await dns.closed;
    fixture.clock.advance(200_000);
    await other.write(bytes(`00 00 0001 'b'`));
    await link.receive();
    fixture.clock.advance(200_000);
    let gone = false;
    void other.closed.then(() => (gone = true));
    await settle();
    assert.equal(gone, false);
    fixture.clock.advance(110_000);
    await other.closed;
    link.send(packet('again', DNS));
    await dialled(fixture, 2);
    link.close();
  });

  test('try a destination again, though not at once, when its stream ended', async () => {
    const fixture = client();
    const link = await fixture.outbound.associate(neverAborted());
    link.send(packet('query', DNS));
    (await dialled(fixture, 0)).destroy();
    await settle();
    link.send(packet('lost', DNS));
    await settle();
    assert.equal(fixture.dialled.length, 1);
    assert.equal(link.dropped, 1);
    fixture.clock.advance(1_000);
    link.send(packet('again', DNS));
    const second = await dialled(fixture, 1);
    // One that was answered may be opened again at once: its server closes idle streams.
    await second.write(bytes(`00 00 0001 'a'`));
    await link.receive();
    second.destroy();
    await settle();
    link.send(packet('third', DNS));
    await dialled(fixture, 2);
    link.close();
  });

  test('open nothing for a flow that was given up before', async () => {
    const fixture = client();
    const signal = AbortSignal.abort(new Error('the client has left'));
    await assert.rejects(fixture.outbound.associate({ signal, first: DNS }), {
      name: 'DialError',
      code: 'aborted',
      message: 'proxy.example:443: the client has left',
    });
    assert.equal(fixture.dialled.length, 0);
    assert.equal(fixture.clock.timers, 0);
  });

  test('end a dial with the association', async () => {
    const aborted = Promise.withResolvers<void>();
    const { outbound, clock } = clientOf(
      (context) => createVlessOutbound({ id: ID }, context),
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.resolve();
            reject(new DialError('aborted', 'given up'));
          });
        }),
    );
    const link = await outbound.associate(neverAborted());
    link.send(packet('query', DNS));
    link.close();
    await aborted.promise;
    await settle();
    assert.equal(clock.timers, 0);
    assert.equal(link.dropped, 1);
  });
});

describe('the framing of VLESS datagrams', () => {
  test('reads what it writes, whatever its length', () => {
    const framing = new VlessFraming(DNS);
    for (const length of [0, 1, 255, 256, 300, 65_535]) {
      const data = Buffer.alloc(length, length);
      const framed = Buffer.concat(framing.encode({ data, peer: DNS }) ?? []);
      assert.deepEqual(
        Array.from(framing.decode(framed), (packet) => Buffer.from(packet.data)),
        [data],
      );
    }
  });

  test('writes answers of the destination, or of any address behind its name', () => {
    const named = new VlessFraming({ host: 'a.example', port: 53 });
    assert.ok(named.encode({ data: Buffer.alloc(65_535), peer: DNS }));
    assert.equal(named.encode({ data: Buffer.alloc(65_536), peer: DNS }), undefined);
    assert.equal(named.encode({ data: Buffer.alloc(1), peer: { ...DNS, port: 54 } }), undefined);
  });
});

describe('a UUID', () => {
  test('may be written in four forms, in any case', () => {
    const hyphenated = 'b831381d-6324-4D53-ad4f-8cda48b30811';
    for (const text of [
      hyphenated,
      ID,
      ID.toUpperCase(),
      `{${hyphenated}}`,
      `urn:uuid:${hyphenated}`,
    ]) {
      assert.equal(parseUuid(text), ID);
    }
  });

  test('is nothing else', () => {
    const hyphenated = 'b831381d-6324-4d53-ad4f-8cda48b30811';
    for (const text of [
      '',
      'test',
      ` ${ID}`,
      `${ID}\n`,
      `${hyphenated}\n`,
      `{${ID}}`,
      `{${hyphenated}`,
      `${hyphenated}}`,
      `urn:uuid:${ID}`,
      `URN:UUID:${hyphenated}`,
      `urn:uuid:{${hyphenated}}`,
      hyphenated.replace('b', 'g'),
      hyphenated.slice(1),
      `${hyphenated}0`,
      ID.slice(2),
      'b831381d63-24-4d53-ad4f-8cda48b30811',
    ]) {
      assert.equal(parseUuid(text), undefined, text);
    }
  });
});
