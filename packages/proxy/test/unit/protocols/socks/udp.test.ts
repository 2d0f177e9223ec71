import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Endpoint, decodeAddressField, SOCKS_ADDRESS } from '@weir/io/addresses';
import { type ByteLink, type Carrier, linkPair } from '@weir/io/links';
import { UdpLink } from '../../../../../io/src/net/sockets/node/udp-socket.ts';
import { encodeAddressed } from '../../../../src/protocols/socks/wire.ts';
import type { SocksInboundSettings } from '../../../../src/protocols/socks/settings.ts';
import { until } from '../../../../../io/test/conformance/packet-link.ts';
import {
  bytes,
  connectTo,
  inbound,
  type InboundFixture,
  onLoopback,
  onUnixSocket,
  plainSettings,
} from '../../../../../../test/support/protocols/socks/harness.ts';
import { readExactly } from '../../../../../../test/support/read-link.ts';
import { hasIPv6 } from '../../../../../../test/support/ports.ts';

/** A client with an association and a UDP socket of its own. */
interface Associated {
  readonly fixture: InboundFixture;
  readonly control: ByteLink;
  readonly served: Promise<Error | undefined>;
  readonly relay: Endpoint;
  readonly socket: UdpLink;
}

interface Wishes {
  readonly settings?: Partial<SocksInboundSettings>;
  readonly ends?: Pick<Carrier, 'remote' | 'local'>;
  /** What the request states as the source, given the client's socket. */
  readonly stated?: (socket: UdpLink) => Endpoint;
  readonly family?: 4 | 6;
}

async function associate({
  settings = {},
  ends = onLoopback,
  stated = () => ({ host: '0.0.0.0', port: 0 }),
  family = 4,
}: Wishes = {}): Promise<Associated> {
  const fixture = inbound({ ...plainSettings, ...settings });
  const socket = await UdpLink.bind({ family, address: family === 4 ? '127.0.0.1' : '::1' });
  const { client: control, served } = connectTo(fixture, ends);
  const request = encodeAddressed([5, 3, 0], stated(socket));
  assert.ok(request);
  await control.write(Buffer.concat([bytes('05 01 00'), request]));
  assert.equal((await readExactly(control, 2)).toString('hex'), '0500');
  const [version, reply] = await readExactly(control, 3);
  assert.deepEqual([version, reply], [5, 0]);
  const address = await control.read();
  assert.ok(address);
  const bound = decodeAddressField(address, 0, SOCKS_ADDRESS);
  assert.ok(bound?.endpoint && bound.end === address.length);
  return { fixture, control, served, relay: bound.endpoint, socket };
}

const query = bytes(`0000 00 01 c0000207 0035 'query'`);
const text = (data: Uint8Array | undefined): string => Buffer.from(data ?? []).toString('latin1');

async function finish({ control, served, socket }: Associated): Promise<Error | undefined> {
  await control.closeWrite();
  const error = await served;
  socket.close();
  await socket.closed;
  return error;
}

/** Sends a query to where the client may send and expects its echo. */
async function echoes({ socket, relay }: Associated, to: Endpoint = relay): Promise<void> {
  socket.send({ data: query, peer: to });
  assert.equal(text((await socket.receive())?.data), text(query));
}

describe('a UDP association', () => {
  test('relays on the local address of the control connection', async () => {
    const association = await associate();
    assert.equal(association.relay.host, '127.0.0.1');
    await echoes(association);
    const [request] = association.fixture.dispatcher.associations;
    assert.equal(request?.origin.source, '127.0.0.1');
    assert.equal(await finish(association), undefined);
  });

  test('books the bytes of its relay to the session', async () => {
    const association = await associate();
    await echoes(association);
    await finish(association);
    const [wire] = association.fixture.attached;
    assert.deepEqual([wire?.bytesRead, wire?.bytesWritten], [query.length, query.length]);
  });

  test('reports the udp_bind address, the wildcard as it is', async () => {
    const association = await associate({ settings: { udpBind: '0.0.0.0' } });
    assert.equal(association.relay.host, '0.0.0.0');
    await echoes(association, { host: '127.0.0.1', port: association.relay.port });
    await finish(association);
  });

  test('serves an IPv4 client on a dual-stack relay', { skip: !hasIPv6 }, async () => {
    const association = await associate({ settings: { udpBind: '::' } });
    assert.equal(association.relay.host, '::');
    await echoes(association, { host: '127.0.0.1', port: association.relay.port });
    await finish(association);
  });

  test('serves an IPv6 client on a dual-stack relay', { skip: !hasIPv6 }, async () => {
    const association = await associate({
      settings: { udpBind: '::' },
      family: 6,
      ends: { remote: { host: '::1', port: 50_000 }, local: { host: '::1', port: 1080 } },
    });
    await echoes(association, { host: '::1', port: association.relay.port });
    await finish(association);
  });

  test('takes no datagrams from another address', async () => {
    const association = await associate();
    const { fixture, relay } = association;
    const other = await UdpLink.bind({ family: 4, address: '127.0.0.2' });
    other.send({ data: query, peer: relay });
    const client = fixture.dispatcher.associations[0]?.client;
    await until(() => client?.dropped === 1);
    // The other host did not become the client either.
    await echoes(association);
    other.close();
    await finish(association);
  });

  test('keeps to the port of the first datagram', async () => {
    const association = await associate();
    await echoes(association);
    const other = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
    other.send({ data: query, peer: association.relay });
    const client = association.fixture.dispatcher.associations[0]?.client;
    await until(() => client?.dropped === 1);
    await echoes(association);
    other.close();
    await finish(association);
  });

  test('is not fixed to a port by a datagram that means nothing', async () => {
    const association = await associate();
    const other = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
    other.send({ data: bytes('00 00'), peer: association.relay });
    const client = association.fixture.dispatcher.associations[0]?.client;
    await until(() => client?.dropped === 1);
    await echoes(association);
    other.close();
    await finish(association);
  });

  test('ignores a stated port: v2ray states the destination of its first datagram', async () => {
    const association = await associate({ stated: () => ({ host: '127.0.0.1', port: 53 }) });
    await echoes(association);
    await finish(association);
  });

  test('drops fragments', async () => {
    const association = await associate();
    const fragment = Buffer.from(query);
    fragment[2] = 1;
    association.socket.send({ data: fragment, peer: association.relay });
    await echoes(association);
    assert.equal(association.fixture.dispatcher.associations[0]?.client.dropped, 1);
    await finish(association);
  });

  test('sends responses with their source', async () => {
    const association = await associate();
    association.fixture.dispatcher.answerFrom = { host: '2001:db8::9', port: 4242 };
    association.socket.send({ data: query, peer: association.relay });
    assert.equal(
      text((await association.socket.receive())?.data),
      text(bytes(`0000 00 04 20010db8000000000000000000000009 1092 'query'`)),
    );
    await finish(association);
  });

  test('drops responses while the address of the client is unknown', async () => {
    const association = await associate();
    const client = association.fixture.dispatcher.associations[0]?.client;
    client?.send({ data: query, peer: { host: '192.0.2.7', port: 53 } });
    assert.equal(client?.dropped, 1);
    await finish(association);
  });

  test('on a unix socket serves exactly the source that was stated', async () => {
    const association = await associate({
      ends: onUnixSocket,
      settings: { udpBind: '127.0.0.1' },
      stated: (socket) => socket.local,
    });
    const other = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
    other.send({ data: query, peer: association.relay });
    const [request] = association.fixture.dispatcher.associations;
    await until(() => request?.client.dropped === 1);
    await echoes(association);
    assert.equal(request?.origin.source, undefined);
    other.close();
    await finish(association);
  });

  test('ignores what is sent on the control connection', async () => {
    const association = await associate();
    await association.control.write(Buffer.alloc(100_000, 'keep-alive?'));
    await echoes(association);
    assert.equal(await finish(association), undefined);
  });

  test('ends with its control connection', async () => {
    const association = await associate();
    const [request] = association.fixture.dispatcher.associations;
    await finish(association);
    assert.equal(await request?.client.closed, undefined);
    const again = await UdpLink.bind({ ...association.relay, address: '127.0.0.1', family: 4 });
    again.close();
  });

  test('ends when its control connection is reset', async () => {
    const association = await associate();
    const [request] = association.fixture.dispatcher.associations;
    const cause = new Error('killed');
    association.control.destroy(cause);
    await association.served;
    assert.equal(await request?.client.closed, cause);
    association.socket.close();
  });

  test('that the engine ends takes its control connection along', async () => {
    const association = await associate();
    association.fixture.dispatcher.associations[0]?.client.close();
    assert.equal(await association.served, undefined);
    await association.control.closed;
    association.socket.close();
  });

  test('has no handshake limit', async () => {
    const association = await associate();
    association.fixture.clock.advance(3_600_000);
    await echoes(association);
    await finish(association);
  });

  test('whose reply cannot be sent leaves no socket behind', async () => {
    const fixture = inbound();
    const [client, link] = linkPair();
    const gone = new Error('gone');
    const failing: ByteLink = {
      read: (signal) => link.read(signal),
      unread: (chunk) => link.unread(chunk),
      // The choice of a method has two bytes and arrives, the reply does not.
      write: (chunk) => (chunk.length > 2 ? Promise.reject(gone) : link.write(chunk)),
      writeOutput: (chunks) => link.writeOutput(chunks),
      closeWrite: () => link.closeWrite(),
      destroy: (cause) => link.destroy(cause),
      resetAfterData: (cause) => link.resetAfterData(cause),
      closed: link.closed,
    };
    await client.write(bytes('05 01 00 05 03 00 01 00000000 0000'));
    const wire = { bytesRead: 0, bytesWritten: 0 };
    const serving = fixture.handler.serve({ link: failing, wire, ...onLoopback }, fixture.session);
    await assert.rejects(serving, gone);
    const [relay] = fixture.attached;
    assert.ok(relay && 'closed' in relay);
    assert.equal(await relay.closed, undefined);
    assert.equal(fixture.dispatcher.associations.length, 0);
  });
});
