import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../src/net/addresses/addresses.ts';
import type { PacketLink } from '../../src/net/links/link.ts';

/** A link under test with a peer at its other side. */
export interface PacketLinkFixture {
  readonly link: PacketLink;
  /** Datagrams that the link keeps for a reader. */
  readonly queue: number;
  /** The address of the other side, as the link reports it. */
  readonly peer: Endpoint;
  /** Sends one datagram to the link. */
  deliver(data: Uint8Array): void;
  /** The next datagram that the link sent to the peer. */
  arrived(): Promise<Uint8Array>;
  /** Releases the other side; the suite closes the link. */
  dispose(): void | Promise<void>;
}

/** Waits for something that other parties bring about; the test runner's limit is the only one. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const datagram = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);

/** Checks the promise that `packages/io/src/net/links/link.ts` writes beside PacketLink. */
export function packetLinkConformance(name: string, make: () => Promise<PacketLinkFixture>): void {
  const check = (title: string, body: (fixture: PacketLinkFixture) => Promise<void>): void => {
    test(title, async () => {
      const fixture = await make();
      try {
        await body(fixture);
      } finally {
        fixture.link.close();
        await fixture.link.closed;
        await fixture.dispose();
      }
    });
  };

  describe(`${name} keeps the contract of a PacketLink`, () => {
    check('datagrams arrive whole, in order and with their source', async (fixture) => {
      const sent = [datagram(1), datagram(2, 2), new Uint8Array(1400).fill(3), datagram()];
      for (const data of sent) fixture.deliver(data);
      for (const data of sent) {
        const packet = await fixture.link.receive();
        assert.deepEqual([...(packet?.data ?? [])], [...data]);
        assert.deepEqual({ ...packet?.peer }, { ...fixture.peer });
      }
      assert.equal(fixture.link.dropped, 0);
    });

    check('a receive that is pending gets the datagram that comes', async (fixture) => {
      const pending = fixture.link.receive();
      fixture.deliver(datagram(7));
      assert.deepEqual([...((await pending)?.data ?? [])], [7]);
    });

    check('a second receive while one is pending is refused', async (fixture) => {
      const pending = fixture.link.receive();
      await assert.rejects(fixture.link.receive());
      fixture.deliver(datagram(8));
      assert.deepEqual([...((await pending)?.data ?? [])], [8]);
    });

    check('datagrams are sent whole and in order without waiting', async (fixture) => {
      const sent = [datagram(1), new Uint8Array(1400).fill(2), datagram()];
      for (const data of sent) fixture.link.send({ data, peer: fixture.peer });
      for (const data of sent) assert.deepEqual([...(await fixture.arrived())], [...data]);
      assert.equal(fixture.link.dropped, 0);
    });

    check('received data belongs to the receiver', async (fixture) => {
      fixture.deliver(datagram(1, 1, 1, 1));
      const first = await fixture.link.receive();
      fixture.deliver(datagram(2, 2, 2, 2));
      const second = await fixture.link.receive();
      assert.deepEqual([...(first?.data ?? [])], [1, 1, 1, 1]);
      first?.data.fill(9);
      assert.deepEqual([...(second?.data ?? [])], [2, 2, 2, 2]);
    });

    check('a full queue drops the newest datagrams and counts them', async (fixture) => {
      const extra = 5;
      for (let index = 0; index < fixture.queue + extra; index++) {
        fixture.deliver(datagram(index & 0xff));
        // The kernel's own buffers are not what is tested here.
        if (index % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => fixture.link.dropped >= extra);
      for (let index = 0; index < fixture.queue; index++) {
        assert.equal((await fixture.link.receive())?.data[0], index & 0xff);
      }
      assert.equal(fixture.link.dropped, extra);
      const next = fixture.link.receive();
      fixture.deliver(datagram(0xee));
      assert.equal((await next)?.data[0], 0xee, 'the queue has room again');
    });

    check('receiveAll passes on what waits and all that comes', async (fixture) => {
      const { link } = fixture;
      fixture.deliver(datagram(1));
      fixture.deliver(datagram(2));
      // The first has arrived; the second may come before the next line or after it.
      const first = await link.receive();
      const got = [...(first?.data ?? [])];
      const all = link.receiveAll(({ data }) => void got.push(...data));
      await assert.rejects(link.receive(), /already pending/);
      await until(() => got.length === 2);
      // More at once than the queue has room for.
      const many = Math.min(fixture.queue * 2, 200);
      for (let index = 0; index < many; index++) {
        fixture.deliver(datagram(index));
        if (index % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => got.length === 2 + many);
      assert.deepEqual(got, [1, 2, ...Array.from({ length: many }, (_, index) => index)]);
      assert.equal(link.dropped, 0);
      link.close();
      await all;
    });

    check('receiveAll rejects with what its function throws', async (fixture) => {
      const { link } = fixture;
      const all = link.receiveAll(() => {
        throw new Error('enough');
      });
      fixture.deliver(datagram(1));
      await assert.rejects(all, /enough/);
    });

    check('a destination that cannot be reached costs one datagram', async (fixture) => {
      fixture.link.send({ data: datagram(1), peer: { host: 'x'.repeat(300), port: 53 } });
      fixture.link.send({ data: datagram(2), peer: fixture.peer });
      assert.deepEqual([...(await fixture.arrived())], [2]);
      assert.equal(fixture.link.dropped, 1);
    });

    check('close ends the pending receive and every later one', async (fixture) => {
      const pending = fixture.link.receive();
      fixture.link.close();
      assert.equal(await pending, undefined);
      assert.equal(await fixture.link.receive(), undefined);
      assert.equal(await fixture.link.receive(), undefined);
      assert.equal(await fixture.link.closed, undefined);
    });

    check('close drops what was not received', async (fixture) => {
      fixture.deliver(datagram(1));
      fixture.deliver(datagram(2));
      assert.equal((await fixture.link.receive())?.data[0], 1);
      fixture.link.close();
      assert.equal(await fixture.link.receive(), undefined);
    });

    check('close with a cause rejects the receives with it', async (fixture) => {
      const cause = new Error('the flow was killed');
      const pending = fixture.link.receive();
      fixture.link.close(cause);
      await assert.rejects(pending, cause);
      await assert.rejects(fixture.link.receive(), cause);
      assert.equal(await fixture.link.closed, cause);
    });

    check('close is idempotent and the first cause stays', async (fixture) => {
      fixture.link.close();
      fixture.link.close(new Error('too late'));
      fixture.link.close();
      assert.equal(await fixture.link.closed, undefined);
      assert.equal(await fixture.link.receive(), undefined);
    });

    check('sending on a closed link drops and counts', async (fixture) => {
      fixture.link.close();
      fixture.link.send({ data: datagram(1), peer: fixture.peer });
      await fixture.link.closed;
      fixture.link.send({ data: datagram(2), peer: fixture.peer });
      assert.equal(fixture.link.dropped, 2);
    });
  });
}
