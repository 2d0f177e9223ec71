import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import {
  AssociationSockets,
  KernelUdpLink,
} from '../../../../../src/net/sockets/kernel/kernel-udp-link.ts';
import { checkedIo, noKernelSockets } from '../../../../../../../test/support/links/kernel-io.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

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
