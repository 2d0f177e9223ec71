import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LiveSessions } from '../../src/engine/live-sessions.ts';
import { systemClock } from '@weir/io/time';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { SessionListener, SessionServer } from '../../src/protocols/contract.ts';
import type { ListenSpec } from '../../src/spec.ts';
import { Tracker } from '../../src/tracker/tracker.ts';

/** A client with a live session. */
export interface SessionClientUnderTest {
  /** Requests the name of the server that serves it. */
  server(): Promise<string>;
  /** Ends the session; resolves when the listener has closed it. */
  end(): Promise<void>;
  /** Resolves when the listener has ended it. */
  readonly ended: Promise<void>;
}

/** How the suite uses one implementation of SessionServer and SessionListener. */
export interface SessionListenerHarness {
  readonly listen: ListenSpec;
  /** A server whose clients can ask for its name. */
  server(name: string): SessionServer;
  /** Connects a client; resolves when its session is open. */
  readonly connect: (
    listener: SessionListener,
    registry: LiveSessions,
  ) => Promise<SessionClientUnderTest>;
}

/** The promises of `SessionListener`. */
export function sessionListenerConformance(name: string, harness: SessionListenerHarness): void {
  const { listen, connect } = harness;

  async function start() {
    const tracker = new Tracker(systemClock);
    const createRegistry = (tag: string) => new LiveSessions(tag, tracker, new OwnListeners());
    const registry = createRegistry('first');
    const server = harness.server('first');
    const listener = await server.bind(listen, registry);
    return { tracker, createRegistry, registry, server, listener };
  }

  /** The place of a listener: where another one could be bound in its stead. */
  const placeOf = ({ endpoint }: SessionListener): ListenSpec =>
    endpoint ? { kind: 'ip', ...endpoint } : listen;

  const over = new Error('the test is over');

  describe(name, () => {
    test('opens sessions in its registry once it is served', async () => {
      const { listener, registry, tracker } = await start();
      assert.deepEqual([registry.count, tracker.sessions()], [0, []]);
      listener.serve();
      const client = await connect(listener, registry);
      assert.equal(await client.server(), 'first');
      assert.ok(registry.count > 0);
      await client.end();
      assert.deepEqual([registry.count, tracker.sessions()], [0, []]);
      listener.destroy(over);
      await listener.closed;
    });

    test('passes new clients to the next server and registry, and keeps live ones', async () => {
      const { listener, registry, createRegistry } = await start();
      listener.serve();
      const old = await connect(listener, registry);
      const [count, next] = [registry.count, createRegistry('second')];
      listener.swap(harness.server('second'), next);
      const young = await connect(listener, next);
      assert.equal(await old.server(), 'first');
      assert.equal(await young.server(), 'second');
      assert.deepEqual([registry.count, next.count > 0], [count, true]);
      listener.destroy(over);
      await Promise.all([old.ended, young.ended, listener.closed]);
      assert.deepEqual([registry.count, next.count], [0, 0]);
    });

    test('is released after the last session when it is retired, and at once without any', async () => {
      const { listener, registry, server } = await start();
      listener.serve();
      const client = await connect(listener, registry);
      const place = placeOf(listener);
      listener.retire();
      listener.retire();
      assert.equal(await client.server(), 'first');
      await client.end();
      await listener.closed;
      assert.equal(listener.keep(), false);
      const another = await server.bind(place, registry);
      another.serve();
      another.retire();
      await another.closed;
    });

    test('that is kept outlives its last session until it is swapped or retired', async () => {
      const { listener, registry } = await start();
      listener.serve();
      const first = await connect(listener, registry);
      listener.retire();
      assert.equal(listener.keep(), true);
      await first.end();
      listener.swap(harness.server('second'), registry);
      const second = await connect(listener, registry);
      assert.equal(await second.server(), 'second');
      await second.end();
      assert.equal(listener.keep(), true);
      listener.retire();
      await listener.closed;
    });

    test('may be destroyed before it is served, and again', async () => {
      const { listener, registry, server } = await start();
      const place = placeOf(listener);
      listener.destroy(over);
      listener.destroy(over);
      listener.retire();
      await listener.closed;
      const another = await server.bind(place, registry);
      assert.equal(another.address, listener.address);
      another.destroy(over);
      await another.closed;
    });

    test('is not bound where another one is', async () => {
      const { listener, registry, server } = await start();
      await assert.rejects(server.bind(placeOf(listener), registry), { code: 'bind' });
      listener.destroy(over);
      await listener.closed;
    });
  });
}
