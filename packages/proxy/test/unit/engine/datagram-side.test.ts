import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { Packet, ReplyPath } from '@weir/io/links';
import type {
  OpenSession,
  DatagramSessions,
  InboundHandler,
} from '../../../src/protocols/contract.ts';
import { Tracker } from '../../../src/tracker/tracker.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { DatagramSide } from '../../../src/engine/inbound-runtime.ts';

const replies: ReplyPath = {
  send: () => undefined,
  closed: new Promise(() => undefined),
  hold: () => () => undefined,
  acceptsClients: true,
};
const wire = { bytesRead: 0, bytesWritten: 0 };
const from = (host: string): Packet => ({ data: Buffer.alloc(1), peer: { host, port: 1 } });

/** Opens a session for each client and keeps it until it is ended. */
class Handler implements InboundHandler {
  readonly taken: string[] = [];
  readonly open = new Map<string, OpenSession>();
  retired = 0;
  #sessions: DatagramSessions | undefined;

  serve(): Promise<void> {
    return Promise.resolve();
  }

  serveDatagrams(sessions: DatagramSessions) {
    this.#sessions = sessions;
    return {
      receive: ({ peer: { host } }: Packet, _answers: ReplyPath, known: boolean): boolean => {
        if (known && !this.open.has(host)) return false;
        this.taken.push(host);
        const session = this.#sessions?.open({
          remote: { host, port: 1 },
          local: undefined,
          wire,
          destroy: () => this.end(host),
        });
        if (session && !this.open.has(host)) this.open.set(host, session);
        else session?.close();
        return true;
      },
      retire: () => void this.retired++,
    };
  }

  end(host: string): void {
    this.open.get(host)?.close();
    this.open.delete(host);
  }
}

test('clients of a replaced handler stay with it; new ones go to its successor', () => {
  const tracker = new Tracker(new ManualClock());
  let closed = 0;
  const side = new DatagramSide('in', tracker, new OwnListeners(), () => closed++);
  const [first, second, third] = [new Handler(), new Handler(), new Handler()];
  side.swap(first);
  side.receive(from('a'), replies);
  side.swap(second);
  side.receive(from('a'), replies);
  side.receive(from('b'), replies);
  side.swap(third);
  for (const host of ['a', 'b', 'c']) side.receive(from(host), replies);
  assert.deepEqual(
    [first, second, third].map(({ taken }) => taken),
    [['a', 'a', 'a'], ['b', 'b'], ['c']],
  );
  assert.equal(side.sessions, 3);
  assert.deepEqual(
    tracker.sessions().map(({ source }) => source),
    ['a', 'b', 'c'],
  );
  const before = closed;
  first.end('a');
  assert.deepEqual([side.sessions, closed - before], [2, 1]);
  side.receive(from('a'), replies);
  assert.deepEqual(third.taken, ['c', 'a']);
  side.destroy(new Error('over'));
  assert.deepEqual([side.sessions, tracker.sessions().length], [0, 0]);
});

test('a handler learns once that it opens no association any more', () => {
  const side = new DatagramSide(
    'in',
    new Tracker(new ManualClock()),
    new OwnListeners(),
    () => undefined,
  );
  const [first, second] = [new Handler(), new Handler()];
  side.swap(first);
  side.receive(from('a'), replies);
  assert.equal(first.retired, 0);
  side.swap(second);
  side.destroy(new Error('over'));
  assert.deepEqual([first.retired, second.retired], [1, 1]);
});

test('datagrams for a handler that serves none go nowhere', () => {
  const side = new DatagramSide(
    'in',
    new Tracker(new ManualClock()),
    new OwnListeners(),
    () => undefined,
  );
  side.receive(from('a'), replies);
  side.swap({ serve: () => Promise.resolve() });
  side.receive(from('a'), replies);
  assert.equal(side.sessions, 0);
});
