import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { KernelUdpLink } from '../../../../src/net/kernel/kernel-udp-link.ts';
import { checkedIo, noKernelSockets } from '../../../support/kernel-io.ts';

describe('a kernel UDP socket on all addresses', { skip: noKernelSockets }, () => {
  const { io } = checkedIo();
  after(() => io.close());

  /** A client that takes datagrams of one server address alone, as connected sockets do. */
  async function connectedClient(host: string, port: number) {
    const client = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    client.connect(port, host);
    await once(client, 'connect');
    return {
      send: (text: string): void => client.send(text),
      received: async (): Promise<string> => {
        const [data] = (await once(client, 'message')) as [Buffer];
        return data.toString();
      },
      [Symbol.dispose]: () => client.close(),
    };
  }

  const cases = [
    { family: 4, address: '0.0.0.0', hosts: ['127.0.0.2', '127.0.0.3'] },
    { family: 6, address: '::', hosts: ['127.0.0.2', '::1'] },
  ] as const;
  for (const { family, address, hosts } of cases) {
    test(`${address} responds from the address that each client sent to`, async () => {
      const link = KernelUdpLink.bind(io, { family, address, respondsFromOwn: true });
      try {
        for (const host of hosts) {
          using client = await connectedClient(host, link.local.port);
          const received = client.received();
          client.send(`to ${host}`);
          const packet = await link.receive();
          assert.ok(packet);
          link.send(packet);
          assert.equal(await received, `to ${host}`);
        }
      } finally {
        link.close();
      }
    });
  }

  test('follows a client that turns to another address of the server', async () => {
    const link = KernelUdpLink.bind(io, { family: 4, address: '0.0.0.0', respondsFromOwn: true });
    const client = createSocket('udp4');
    client.bind(0, '127.0.0.1');
    await once(client, 'listening');
    try {
      for (const host of ['127.0.0.4', '127.0.0.5', '127.0.0.4']) {
        const response = once(client, 'message');
        client.send('x', link.local.port, host);
        const packet = await link.receive();
        assert.ok(packet);
        link.send(packet);
        const [, { address }] = (await response) as [Buffer, { address: string }];
        assert.equal(address, host);
      }
    } finally {
      client.close();
      link.close();
    }
  });
});
