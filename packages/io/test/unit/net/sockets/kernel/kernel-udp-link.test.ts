import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import {
  LEAST_UNSENT_BYTES,
  MAX_ALL_UNSENT_BYTES,
  MAX_UNSENT_OF_SOCKET,
  UNSENT_ROOM,
} from '../../../../../src/net/bounds/queue-bounds.ts';
import {
  AssociationSockets,
  KernelUdpLink,
} from '../../../../../src/net/sockets/kernel/kernel-udp-link.ts';
import { systemClock } from '../../../../../src/net/time/clock.ts';
import { KernelIo } from '../../../../../src/platform/sockets/kernel-io.ts';
import { EAGAIN } from '../../../../../src/platform/sockets/linux.ts';
import { checkedIo, noKernelSockets } from '../../../../../../../test/support/links/kernel-io.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

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

describe('kernel UDP sockets that the kernel takes nothing from', { skip: noKernelSockets }, () => {
  const PEER = { host: '127.0.0.1', port: 9 };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** Sockets whose sends fail with EAGAIN, or throw. */
  function stuck(onSend: () => number) {
    const { io: checked, calls } = checkedIo();
    checked.close();
    let isStuck = true;
    const io = new KernelIo(
      {
        ...calls,
        sendmmsg: (...all) => (isStuck ? onSend() : calls.sendmmsg(...all)),
        errno: () => (isStuck ? EAGAIN : calls.errno()),
      },
      systemClock,
    );
    const bind = (): KernelUdpLink => KernelUdpLink.bind(io, { family: 4, address: '127.0.0.1' });
    return { io, bind, free: () => (isStuck = false) };
  }

  test('keep a bounded number of bytes each and together, and give them back', async () => {
    const { io, bind } = stuck(() => -1);
    const large = Buffer.alloc(60_000);
    const links: KernelUdpLink[] = [];
    try {
      for (let i = 0; i < 80; i++) {
        const link = bind();
        links.push(link);
        link.send({ data: Buffer.from('x'), peer: PEER });
        await turn();
        for (let n = 0; n < 100; n++) link.send({ data: large, peer: PEER });
        assert.ok(UNSENT_ROOM.bytes <= (i + 1) * MAX_UNSENT_OF_SOCKET);
      }
      const together = MAX_ALL_UNSENT_BYTES + links.length * LEAST_UNSENT_BYTES;
      assert.ok(UNSENT_ROOM.bytes > MAX_ALL_UNSENT_BYTES / 2 && UNSENT_ROOM.bytes <= together);
      // The last one has a small part all the same.
      const [before, last] = [UNSENT_ROOM.bytes, links.at(-1)];
      last?.send({ data: Buffer.alloc(1200), peer: PEER });
      assert.ok(UNSENT_ROOM.bytes > before);
    } finally {
      for (const link of links) link.close();
      io.close();
    }
    assert.equal(UNSENT_ROOM.bytes, 0);
  });

  test('lose what was to be sent by a call that throws, and send what comes next', async () => {
    const { io, bind, free } = stuck(() => {
      throw new Error('injected');
    });
    const link = bind();
    const far = createSocket('udp4');
    far.bind(0, '127.0.0.1');
    await once(far, 'listening');
    const peer = { host: '127.0.0.1', port: far.address().port };
    try {
      // The 64th leaves at once.
      assert.throws(() => {
        for (let n = 0; n < 64; n++) link.send({ data: Buffer.from('lost'), peer });
      }, /injected/);
      free();
      const got = once(far, 'message');
      link.send({ data: Buffer.from('next'), peer });
      assert.equal(((await got) as [Buffer])[0].toString(), 'next');
    } finally {
      link.close();
      far.close();
      io.close();
    }
  });
});

describe('the sockets of UDP associations', { skip: noKernelSockets }, () => {
  const { io } = checkedIo();
  after(() => io.close());

  /** Room for a number of sockets, and a peer that they may send to. */
  function rig(room: number, flows?: { held: number }) {
    const clock = new ManualClock();
    const sockets: AssociationSockets = new AssociationSockets(
      {
        takeForAssociation: () => sockets.size < room,
        has: () => flows !== undefined && flows.held + sockets.size < 40,
      },
      clock,
      { makeRoom: (client) => flows !== undefined && client !== 'heavy' && flows.held-- > 0 },
    );
    const peer = KernelUdpLink.bind(io, { family: 4, address: '127.0.0.1' });
    const opened: KernelUdpLink[] = [peer];
    const bind = (association: string): KernelUdpLink => {
      const options = { family: 4, address: '127.0.0.1', association } as const;
      const link = KernelUdpLink.bind(io, options, sockets);
      opened.push(link);
      return link;
    };
    const converse = async (link: KernelUdpLink, exchanges: number): Promise<void> => {
      for (let i = 0; i < exchanges; i++) {
        link.send({ data: Buffer.from('question'), peer: peer.local });
        const question = await peer.receive();
        assert.ok(question);
        peer.send(question);
        await link.receive();
      }
    };
    const dispose = (): void => {
      for (const link of opened) link.close();
      assert.equal(sockets.size, 0);
    };
    return { clock, sockets, bind, converse, [Symbol.dispose]: dispose };
  }

  test('without room one that has brought nothing is closed with an error for another', async () => {
    using all = rig(4);
    const [first, second, third, other] = ['a', 'a', 'a', 'b'].map((client) => all.bind(client));
    assert.ok(first && second && third && other);
    await all.converse(first, 1);
    all.bind('b');
    assert.match(String(await second.closed), /gave way/);
    await assert.rejects(second.receive(), /too many open files/);
    assert.equal(all.sockets.size, 4);
    for (const each of [first, third, other]) await all.converse(each, 1);
  });

  test('without room a client with many flows gives way to the first associations of others', () => {
    const flows = { held: 40 };
    using all = rig(0, flows);
    assert.throws(() => all.bind('heavy'), { code: 'EMFILE' });
    all.bind('b');
    all.bind('c');
    assert.equal(flows.held, 38, 'no more than are needed');
  });

  test('without room, and with none that is idle, another one fails as the kernel would say it', async () => {
    using all = rig(2);
    for (const client of ['a', 'b']) await all.converse(all.bind(client), 2);
    assert.throws(() => all.bind('a'), { code: 'EMFILE' });
    all.clock.advance(60_000);
    all.bind('a');
    assert.equal(all.sockets.size, 2);
  });
});
