import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UdpLink } from '../../../../../../io/src/net/sockets/node/udp-socket.ts';
import {
  client,
  dialOptions,
} from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';
import { serverAddress } from '../../../../../src/protocols/shadowsocks/outbound.ts';

const METHOD = 'aes-128-gcm';
const SITE = { host: 'example.com', port: 5000 };

describe('the address of a server for its datagrams', () => {
  const [v6, v4] = ['2001:db8::1', '192.0.2.1'];

  test('is an IPv4 address when there is a choice and nothing else is known', async () => {
    assert.equal(await serverAddress([v6, v4], 'auto', undefined), v4);
    assert.equal(await serverAddress([v6], 'auto', undefined), v6);
    assert.equal(await serverAddress([], 'auto', undefined), undefined);
  });

  test('is the first one when the operator prefers a family', async () => {
    assert.equal(await serverAddress([v6, v4], 'prefer_ipv6', undefined), v6);
    assert.equal(await serverAddress([v4, v6], 'prefer_ipv4', undefined), v4);
  });

  test('is the one that a connection has reached, whatever the preference', async () => {
    assert.equal(await serverAddress([v4, v6], 'auto', v6), v6);
    assert.equal(await serverAddress([v6, '192.0.2.9', v4], 'prefer_ipv6', v4), v4);
  });

  test('has the family that was reached when the name has other addresses by now', async () => {
    assert.equal(await serverAddress([v4, v6], 'auto', '2001:db8::9'), v6);
    assert.equal(await serverAddress([v4], 'auto', '2001:db8::9'), v4);
  });
});

describe('datagrams to a server by a name with two families', () => {
  const ask = async (reached: string | undefined, family: 'auto' | 'prefer_ipv6') => {
    await using socket = await onLoopback();
    const { outbound } = client(METHOD, undefined, undefined, 'client', {
      family,
      server: { host: 'proxy.example', port: socket.port },
      resolver: { resolve: () => Promise.resolve(['::1', '127.0.0.1']) },
      remote: reached === undefined ? undefined : { host: reached, port: socket.port },
    });
    if (reached !== undefined) (await outbound.connect(SITE, dialOptions())).destroy();
    const packets = await outbound.associate(dialOptions());
    packets.send({ data: Buffer.from('query'), peer: SITE });
    const datagram = await socket.receive();
    // Both directions of the legacy edition look the same: an echo is a response.
    assert.ok(datagram);
    socket.send(datagram);
    const response = await packets.receive();
    packets.close();
    return response;
  };

  test('reach it by IPv4, and responses arrive', async () => {
    const response = await ask(undefined, 'auto');
    assert.deepEqual([String(response?.data), response?.peer], ['query', SITE]);
  });

  test('are sent to the address that the last connection reached', async () => {
    assert.equal(String((await ask('127.0.0.1', 'prefer_ipv6'))?.data), 'query');
  });
});

for (const host of ['::ffff:7f00:1', '0:0:0:0:0:ffff:7f00:1', '::ffff:127.0.0.1']) {
  test(`datagrams reach a server written as ${host}, and responses arrive`, async () => {
    await using socket = await onLoopback();
    const { outbound } = client(METHOD, undefined, undefined, 'client', {
      server: { host, port: socket.port },
    });
    const packets = await outbound.associate(dialOptions());
    packets.send({ data: Buffer.from('query'), peer: SITE });
    const datagram = await socket.receive();
    assert.ok(datagram);
    socket.send(datagram);
    assert.equal(String((await packets.receive())?.data), 'query');
    packets.close();
  });
}

async function onLoopback() {
  const link = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  return {
    port: link.local.port,
    receive: () => link.receive(),
    send: link.send.bind(link),
    async [Symbol.asyncDispose]() {
      link.close();
      await link.closed;
    },
  };
}
