import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Script, established } from '../../../support/netstack/tcp/script.ts';

describe('a path that is restored', () => {
  test('gets the SYN at once, and the next waits begin anew', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      +1000
      > S 0:0(0)
      +2000
      > S 0:0(0)
      +1500
      restored
      > S 0:0(0)
      +999
      +1
      > S 0:0(0)
      +2000
      > S 0:0(0)
      < S. 0:0(0) ack 1 <mss 1460>
      > . 1:1(0) ack 1
      state ESTABLISHED
    `);
  });

  test('gives a SYN all of its repetitions', () => {
    const script = new Script({ role: 'active' });
    script.driven.advance(60_000);
    script.driven.out.take();
    script.run(`
      restored
      > S 0:0(0)
    `);
    script.driven.advance(122_999);
    assert.equal(script.driven.out.take().length, 6);
    script.run(`
      state SYN-SENT
      +1
      failure timeout
      events failed closed
    `);
  });

  test('gets a SYN that has yet to leave only once', () => {
    const script = new Script({ role: 'active' });
    script.driven.out.take();
    script.driven.out.room = 0;
    script.driven.advance(1000);
    script.driven.connection.onPathRestored(script.driven.now);
    script.driven.settle();
    script.driven.out.room = Infinity;
    script.driven.settle();
    script.run('> S 0:0(0)');
  });

  test('gets the SYN-ACK at once', () => {
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
      +1000
      > S. 0:0(0) ack 1
      +500
      restored
      > S. 0:0(0) ack 1
    `);
  });

  test('gets the first segment of what timed out, and the timeout is as at first', () => {
    const script = established().run(`
      write 3000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > P. 2921:3001(80) ack 1
    `);
    script.driven.advance(40_000);
    const timeouts = script.driven.out.take().length;
    assert.ok(timeouts > 4, `${timeouts} timeouts`);
    script.run(`
      restored
      > . 1:1461(1460) ack 1
    `);
    const wait = script.driven.connection.nextTimeout() - script.driven.now;
    assert.ok(wait <= 1000, `${wait} ms`);
    script.run(`
      < . 1:1(0) ack 1461
      > . 1461:2921(1460) ack 1
      > P. 2921:3001(80) ack 1
    `);
  });

  test('gets a probe of a window that was probed in vain', () => {
    const script = established().run(`
      < . 1:1(0) ack 1 win 0
      write 100
    `);
    script.driven.advance(30_000);
    script.driven.out.take();
    script.run(`
      restored
      > . 0:0(0) ack 1
      +199
      +1
      > . 0:0(0) ack 1
    `);
  });

  test('gets a keep-alive that had no answer', () => {
    established({ settings: { keepAlive: 60_000 } }).run(`
      +60000
      > . 0:0(0) ack 1
      +5000
      restored
      > . 0:0(0) ack 1
      +5000
      > . 0:0(0) ack 1
    `);
  });

  test('gets nothing where nothing has waited in vain', () => {
    established().run(`
      restored
      write 100
      > P. 1:101(100) ack 1
      restored
      < . 1:1(0) ack 101
      restored
      close
      > F. 101:101(0) ack 1
      < R. 1:1(0) ack 102
      restored
      state CLOSED
    `);
  });
});
