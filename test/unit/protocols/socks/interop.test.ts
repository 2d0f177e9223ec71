import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError, type DialErrorCode } from '../../../../src/net/errors.ts';
import type { Outbound } from '../../../../src/protocols/contract.ts';
import type {
  SocksInboundSettings,
  SocksOutboundSettings,
} from '../../../../src/protocols/socks/settings.ts';
import {
  carrierOf,
  connectTo,
  inbound,
  type InboundFixture,
  neverAborted,
  onLoopback,
  outbound,
  plainSettings,
  withAccounts,
} from '../../../support/protocols/socks/harness.ts';
import { readAll } from '../../../support/read-link.ts';

const anonymous: SocksOutboundSettings = { account: undefined };

/** An outbound whose server is an inbound of our own, in one process. */
function chain(
  settings: SocksInboundSettings = plainSettings,
  account: SocksOutboundSettings = anonymous,
): { readonly server: InboundFixture; readonly client: Outbound } {
  const server = inbound(settings);
  const { outbound: client } = outbound(account, () =>
    carrierOf(connectTo(server, onLoopback).client),
  );
  return { server, client };
}

describe('our outbound and our inbound understand each other', () => {
  for (const destination of [
    { host: '192.0.2.7', port: 443 },
    { host: '2001:db8::7', port: 65_535 },
    { host: 'www.example', port: 0 },
    { host: 'x'.repeat(255), port: 80 },
    { host: 'bücher.example', port: 80 },
  ]) {
    test(`a stream to ${destination.host.slice(0, 20)} port ${destination.port} arrives whole`, async () => {
      const { server, client } = chain();
      const link = await client.connect(destination, neverAborted());
      assert.deepEqual(server.dispatcher.streams[0]?.destination, destination);
      await link.write(Buffer.from('there and '));
      await link.write(Buffer.from('back again'));
      await link.closeWrite();
      assert.equal((await readAll(link)).toString(), 'there and back again');
    });
  }

  test('a password opens the door and names the user', async () => {
    const { server, client } = chain(withAccounts(['kim', 'sesame']), {
      account: { user: 'kim', pass: 'sesame' },
    });
    await client.connect({ host: 'a.example', port: 80 }, neverAborted());
    assert.equal(server.dispatcher.streams[0]?.origin.user, 'kim');
  });

  for (const [title, settings, account] of [
    ['a wrong password', withAccounts(['kim', 'sesame']), { user: 'kim', pass: 'no' }],
    ['no password where one is asked for', withAccounts(['kim', 'sesame']), undefined],
    ['a password where none is taken', plainSettings, { user: 'kim', pass: 'sesame' }],
  ] as const) {
    test(`${title} is an error of the upstream`, async () => {
      const { client } = chain(settings, { account });
      await assert.rejects(client.connect({ host: 'a.example', port: 80 }, neverAborted()), {
        name: 'DialError',
        code: 'upstream',
      });
    });
  }

  const through: [DialErrorCode, DialErrorCode][] = [
    ['refused', 'refused'],
    ['unreachable_host', 'unreachable_host'],
    ['unreachable_network', 'unreachable_network'],
    ['not_found', 'unreachable_host'],
    ['unresolved', 'unreachable_host'],
    ['timed_out', 'timed_out'],
    ['blocked', 'blocked'],
    ['unsupported', 'unsupported'],
    ['upstream', 'upstream'],
    ['aborted', 'upstream'],
    ['failed', 'upstream'],
  ];
  for (const [there, here] of through) {
    test(`a dial that failed there as ${there} fails here as ${here}`, async () => {
      const { server, client } = chain();
      server.dispatcher.failure = new DialError(there, 'no');
      await assert.rejects(client.connect({ host: 'a.example', port: 80 }, neverAborted()), {
        name: 'DialError',
        code: here,
      });
    });
  }

  test('datagrams go to any peer and come back with its name', async () => {
    const { server, client } = chain();
    const link = await client.associate(neverAborted());
    const peers = [
      { host: '192.0.2.7', port: 53 },
      { host: '2001:db8::7', port: 53 },
      { host: 'dns.example', port: 53 },
    ];
    for (const [index, peer] of [...peers, ...peers].entries()) {
      link.send({ data: Buffer.from(`question ${index}`), peer });
      const packet = await link.receive();
      assert.equal(Buffer.from(packet?.data ?? []).toString(), `question ${index}`);
      assert.deepEqual(packet?.peer, peer);
    }
    assert.equal(server.attached.length, 1);
    link.close();
    assert.equal(await link.closed, undefined);
  });

  test('a response from another peer keeps its own source', async () => {
    const { server, client } = chain();
    server.dispatcher.answerFrom = { host: '198.51.100.9', port: 4242 };
    const link = await client.associate(neverAborted());
    link.send({ data: Buffer.from('stun'), peer: { host: '192.0.2.7', port: 3478 } });
    assert.deepEqual((await link.receive())?.peer, { host: '198.51.100.9', port: 4242 });
    link.close();
  });

  test('a server without UDP is an error of its own', async () => {
    const { client } = chain({ ...plainSettings, udp: false });
    await assert.rejects(client.associate(neverAborted()), {
      name: 'DialError',
      code: 'unsupported',
    });
  });
});
