import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError } from '@weir/io';
import type { FamilyPolicy, Resolver } from '@weir/io/addresses';
import { UdpLink } from '../../../../../io/src/net/sockets/node/udp-socket.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import { openFreedomPackets } from '../../../../src/protocols/freedom/outbound.ts';

/** Resolves names from a table; other names fail. */
class TableResolver implements Resolver {
  readonly asked: string[] = [];
  readonly #table: Readonly<Record<string, readonly string[]>>;

  constructor(table: Readonly<Record<string, readonly string[]>>) {
    this.#table = table;
  }

  resolve(host: string): Promise<readonly string[]> {
    this.asked.push(host);
    const addresses = this.#table[host];
    return addresses
      ? Promise.resolve(addresses)
      : Promise.reject(new DialError('not_found', `${host}: no address found`));
  }
}

async function start(
  table: Readonly<Record<string, readonly string[]>>,
  family: FamilyPolicy = 'auto',
) {
  const resolver = new TableResolver(table);
  const failures: DialError[] = [];
  const packets = await openFreedomPackets({
    resolver,
    family,
    onUnresolved: (error) => failures.push(error),
  });
  const peer = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  const close = (): void => {
    packets.close();
    peer.close();
  };
  return { resolver, failures, packets, peer, close };
}

describe('datagrams by freedom', () => {
  test('go to an IP peer and come back with its address', async () => {
    const { packets, peer, close } = await start({});
    packets.send({ data: Buffer.from('ping'), peer: peer.local });
    const ping = await peer.receive();
    assert.equal(ping?.data.toString(), 'ping');
    assert.ok(ping);
    peer.send({ data: Buffer.from('pong'), peer: ping.peer });
    const pong = await packets.receive();
    assert.equal(pong?.data.toString(), 'pong');
    assert.deepEqual(pong?.peer, peer.local);
    close();
  });

  test('any peer may respond: one port serves all of them', async () => {
    const { packets, peer, close } = await start({});
    const other = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
    packets.send({ data: Buffer.from('ping'), peer: peer.local });
    const ping = await peer.receive();
    assert.ok(ping);
    other.send({ data: Buffer.from('hello'), peer: ping.peer });
    assert.deepEqual((await packets.receive())?.peer, other.local);
    other.close();
    close();
  });

  test('a name is resolved once, and the datagrams that wait for it arrive in order', async () => {
    const { resolver, packets, peer, close } = await start({
      'peer.example': ['::1', '127.0.0.1'],
    });
    const target = { host: 'peer.example', port: peer.local.port };
    for (const text of ['1', '2', '3']) packets.send({ data: Buffer.from(text), peer: target });
    for (const text of ['1', '2', '3']) assert.equal((await peer.receive())?.data.toString(), text);
    packets.send({ data: Buffer.from('4'), peer: target });
    assert.equal((await peer.receive())?.data.toString(), '4');
    assert.deepEqual(resolver.asked, ['peer.example']);
    close();
  });

  test('names are resolved a few at a time, and datagrams to further ones are lost', async () => {
    const { resolver, packets, close } = await start({});
    const send = (name: number): void =>
      packets.send({ data: Buffer.of(1), peer: { host: `${name}.example`, port: 9 } });
    for (let name = 0; name < 1000; name++) send(name);
    const lost = packets.dropped;
    await settle();
    const few = resolver.asked.length;
    assert.deepEqual([few, lost, packets.dropped], [32, 968, 1000]);
    send(1000);
    await settle();
    assert.equal(resolver.asked.length, few + 1);
    close();
  });

  test('a name that does not resolve loses its datagrams, is reported, and may be resolved again', async () => {
    const { resolver, failures, packets, close } = await start({});
    packets.send({ data: Buffer.from('x'), peer: { host: 'nowhere.example', port: 9 } });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(packets.dropped, 1);
    assert.equal(failures[0]?.code, 'not_found');
    packets.send({ data: Buffer.from('x'), peer: { host: 'nowhere.example', port: 9 } });
    assert.equal(resolver.asked.length, 2);
    close();
  });

  for (const [policy, address] of [
    ['ipv6_only', '127.0.0.1'],
    ['ipv4_only', '::1'],
  ] as const) {
    test(`the policy ${policy} is for names, so that ${address} is reached`, async () => {
      const { packets, close } = await start({}, policy);
      const family = address === '::1' ? 6 : 4;
      const peer = await UdpLink.bind({ family, address });
      packets.send({ data: Buffer.from('ping'), peer: peer.local });
      assert.equal((await peer.receive())?.data.toString(), 'ping');
      peer.close();
      close();
    });
  }

  test('closing ends the receive that waits', async () => {
    const { packets, close } = await start({});
    const waiting = packets.receive();
    close();
    assert.equal(await waiting, undefined);
    assert.equal(await packets.closed, undefined);
  });
});
