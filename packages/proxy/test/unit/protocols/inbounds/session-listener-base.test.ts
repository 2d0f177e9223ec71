import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  SessionRegistry,
  SessionListener,
  SessionServer,
} from '../../../../src/protocols/contract.ts';
import { SessionListenerBase } from '../../../../src/protocols/inbounds/session-listener-base.ts';

const NO_SESSIONS: SessionRegistry = {
  open: () => assert.fail('no session is opened'),
  hold: () => assert.fail('nothing is held'),
};

class NamedServer implements SessionServer {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  bind(): Promise<SessionListener> {
    return Promise.resolve(new RecordingListener(this));
  }
}

/** A listener without sockets that records which steps its base takes. */
class RecordingListener extends SessionListenerBase<NamedServer> {
  readonly address = 'here';
  readonly endpoint = undefined;
  readonly closed = Promise.resolve();
  readonly steps: string[] = [];
  sessions = 0;

  constructor(server: NamedServer) {
    super(NamedServer, server, NO_SESSIONS);
  }

  get accepts(): boolean {
    return this.isServing;
  }

  protected get isIdle(): boolean {
    return this.sessions === 0;
  }

  protected onServe(): void {
    this.steps.push('serve');
  }

  protected onSwap(): void {
    this.steps.push(`swap to ${this.server.name}${this.isServing ? ', serving' : ''}`);
  }

  protected override onRetire(): void {
    this.steps.push('retire');
  }

  protected onRelease(cause?: Error): void {
    this.steps.push(cause ? `release: ${cause.message}` : 'release');
  }

  endSession(): void {
    this.sessions--;
    this.releaseIfIdle();
  }

  fail(): void {
    if (this.markReleased()) this.steps.push('failed');
  }
}

/** A listener that is served and has one session. */
function served(): RecordingListener {
  const listener = new RecordingListener(new NamedServer('first'));
  listener.serve();
  listener.sessions = 1;
  return listener;
}

const over = new Error('the test is over');

describe('the states of a listener that owns its sessions', () => {
  test('it is served once', () => {
    const listener = served();
    listener.serve();
    assert.deepEqual(listener.steps, ['serve']);
    assert.ok(listener.accepts);
  });

  test('a retired one is released after its last session, once', () => {
    const listener = served();
    listener.retire();
    assert.ok(!listener.accepts);
    listener.endSession();
    listener.destroy(over);
    listener.retire();
    assert.deepEqual(listener.steps, ['serve', 'retire', 'release']);
  });

  test('one that was never served is released without being retired', () => {
    const listener = new RecordingListener(new NamedServer('first'));
    listener.retire();
    listener.serve();
    assert.deepEqual(listener.steps, ['release']);
  });

  test('one that is serving outlives its last session', () => {
    const listener = served();
    listener.endSession();
    assert.deepEqual(listener.steps, ['serve']);
  });

  test('a kept one outlives its last session, and accepts clients after a swap', () => {
    const listener = served();
    listener.retire();
    assert.equal(listener.keep(), true);
    listener.endSession();
    assert.ok(!listener.accepts);
    listener.swap(new NamedServer('second'), NO_SESSIONS);
    assert.deepEqual(listener.steps, ['serve', 'retire', 'swap to second, serving']);
  });

  test('a kept one that is retired again is released without sessions', () => {
    const listener = served();
    listener.retire();
    listener.keep();
    listener.endSession();
    listener.retire();
    assert.deepEqual(listener.steps, ['serve', 'retire', 'retire', 'release']);
  });

  test('keeping one that is serving changes nothing', () => {
    const listener = served();
    assert.equal(listener.keep(), true);
    assert.ok(listener.accepts);
  });

  test('one that was swapped before it is served does not accept clients yet', () => {
    const listener = new RecordingListener(new NamedServer('first'));
    listener.swap(new NamedServer('second'), NO_SESSIONS);
    listener.serve();
    assert.deepEqual(listener.steps, ['swap to second', 'serve']);
  });

  test('a server of another protocol is not swapped in', () => {
    const listener = served();
    const other: SessionServer = { bind: () => Promise.reject(over) };
    assert.throws(() => listener.swap(other, NO_SESSIONS), TypeError);
    assert.equal(listener.server.name, 'first');
  });

  test('one that is destroyed is released at once, with the cause', () => {
    const listener = served();
    listener.destroy(over);
    listener.endSession();
    assert.equal(listener.keep(), false);
    assert.deepEqual(listener.steps, ['serve', 'release: the test is over']);
  });

  test('one that has failed is not released again', () => {
    const listener = served();
    listener.fail();
    listener.fail();
    listener.destroy(over);
    assert.equal(listener.keep(), false);
    assert.deepEqual(listener.steps, ['serve', 'failed']);
  });
});
