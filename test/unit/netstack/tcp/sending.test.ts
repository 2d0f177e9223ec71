import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KEEP_ALIVE_PROBES, USER_TIMEOUT } from '../../../../src/netstack/tcp/limits.ts';
import {
  Script,
  connected,
  established,
  type ScriptChoices,
} from '../../../support/netstack/tcp/script.ts';

describe('segments of data', () => {
  test('full ones, and the rest with PSH', () => {
    established().run(`
      write 3000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > P. 2921:3001(80) ack 1
    `);
  });

  test('what is queued leaves in full segments, however it was written', () => {
    const script = established();
    const { connection } = script.driven;
    for (let count = 0; count < 30; count++) connection.write(Buffer.alloc(100));
    script.driven.settle();
    assert.deepEqual(
      script.driven.out.take().map(({ payload }) => payload.length),
      [1460, 1460, 80],
    );
  });

  test('small ones are not held back: there is no Nagle', () => {
    established().run(`
      write 10
      > P. 1:11(10) ack 1
      write 10
      > P. 11:21(10) ack 1
    `);
  });

  test('the MSS of the peer holds, less the timestamps (RFC 6691)', () => {
    new Script({ now: 10 }).run(`
      accept
      < S 0:0(0) <mss 1000,TS val 1 ecr 0>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1 <TS val 1 ecr 10>
      write 1000
      > . 1:989(988) ack 1
      > P. 989:1001(12) ack 1
    `);
  });

  test('536 bytes for a peer that announces no MSS (RFC 9293 §3.7.1)', () => {
    new Script().run(`
      accept
      < S 0:0(0)
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      write 600
      > . 1:537(536) ack 1
      > P. 537:601(64) ack 1
    `);
  });

  test('a tiny MSS is not followed below 48 bytes', () => {
    new Script().run(`
      accept
      < S 0:0(0) <mss 1>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      write 48
      > P. 1:49(48) ack 1
    `);
  });

  test('with segmentation offload one segment carries several', () => {
    const path = { segmentBytes: 1460, announcedMss: 1460, largestPayload: 65_000 };
    established({ path }).run(`
      write 10000
      > P. 1:10001(10000) ack 1 win 65535 <gso 1460>
      < . 1:1(0) ack 10001
      write 1000
      > P. 10001:11001(1000) ack 1 win 65535
    `);
  });

  test('a path with a smaller MTU: what was too large is sent again in smaller segments', () => {
    const script = established().run(`
      write 1460
      > P. 1:1461(1460) ack 1
    `);
    const { driven } = script;
    assert.ok(driven.connection.isInFlight(1_000_001));
    assert.ok(!driven.connection.isInFlight(1_000_000));
    assert.ok(!driven.connection.isInFlight(1_001_461));
    driven.connection.onPathMtu(1000, driven.now);
    driven.settle();
    script.run(`
      > . 1:1001(1000) ack 1
      > P. 1001:1461(460) ack 1
    `);
  });

  test('an output that is full is waited for', () => {
    const script = established();
    const { driven } = script;
    driven.out.room = 1;
    driven.connection.write(Buffer.alloc(3000));
    assert.equal(driven.connection.transmit(0, driven.out, 65_536), true);
    assert.equal(driven.out.take().length, 1);
    assert.equal(driven.connection.transmit(0, driven.out, 65_536), true);
    driven.out.room = Infinity;
    assert.equal(driven.connection.transmit(0, driven.out, 65_536), false);
    assert.equal(driven.out.take().length, 2);
  });

  test('the budget of a turn is kept', () => {
    const { driven } = established();
    driven.connection.write(Buffer.alloc(10_000));
    assert.equal(driven.connection.transmit(0, driven.out, 2000), true);
    assert.equal(driven.out.take().length, 2);
    assert.equal(driven.connection.transmit(0, driven.out, 100_000), false);
    assert.equal(driven.out.take().length, 5);
  });
});

describe("the peer's window (RFC 9293 §3.8.6)", () => {
  const withWindow = (window: number, choices: ScriptChoices = {}): Script =>
    new Script(choices).run(`
      accept
      < S 0:0(0) win ${window} <mss 1460>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1 win ${window}
    `);

  test('it is never exceeded', () => {
    withWindow(3000).run(`
      write 10000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      < . 1:1(0) ack 2921 win 3000
      > . 2921:4381(1460) ack 1
      > . 4381:5841(1460) ack 1
    `);
  });

  test('a small rest of it is not used: no silly window (§3.8.6.2.1)', () => {
    withWindow(3000).run(`
      write 10000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      < . 1:1(0) ack 1461 win 1600
    `);
  });

  test('a window that stays small is used when nothing is in flight any more', () => {
    withWindow(3000).run(`
      write 4000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      < . 1:1(0) ack 1461 win 1560
      < . 1:1(0) ack 2921 win 100
      > . 2921:3021(100) ack 1
      < . 1:1(0) ack 3021 win 3000
      > P. 3021:4001(980) ack 1
    `);
  });

  test('closed: it is probed, ever less often, until it opens', () => {
    withWindow(1000).run(`
      write 2000
      > . 1:1001(1000) ack 1
      < . 1:1(0) ack 1001 win 0
      +200
      > . 1000:1000(0) ack 1
      < . 1:1(0) ack 1001 win 0
      +400
      > . 1000:1000(0) ack 1
      +800
      > . 1000:1000(0) ack 1
      < . 1:1(0) ack 1001 win 0
      +1600
      > . 1000:1000(0) ack 1
      < . 1:1(0) ack 1001 win 5000
      > P. 1001:2001(1000) ack 1
      < . 1:1(0) ack 2001 win 5000
      +100000
    `);
  });

  test('closed for ever: a peer that acknowledges the probes is waited for', () => {
    const script = withWindow(1000).run(`
      write 2000
      > . 1:1001(1000) ack 1
      < . 1:1(0) ack 1001 win 0
    `);
    for (let minutes = 0; minutes < 60; minutes++) {
      script.driven.advance(60_000);
      script.driven.out.take();
      script.run('< . 1:1(0) ack 1001 win 0');
    }
    script.run('state ESTABLISHED');
  });

  test('closed, and the probes without a response: the connection has failed', () => {
    const script = withWindow(1000).run(`
      write 2000
      > . 1:1001(1000) ack 1
      < . 1:1(0) ack 1001 win 0
    `);
    script.driven.advance(USER_TIMEOUT + 1000);
    assert.equal(script.driven.connection.failure, 'timeout');
    assert.equal(script.driven.out.take().at(-1)?.flags, 'R.');
  });

  test('closed from the start', () => {
    withWindow(0).run(`
      write 100
      +200
      > . 0:0(0) ack 1
      < . 1:1(0) ack 1 win 1000
      > P. 1:101(100) ack 1
    `);
  });

  test('it shrinks below what was sent: nothing more is sent, and the first is sent again', () => {
    withWindow(4380).run(`
      write 10000
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > . 2921:4381(1460) ack 1
      < . 1:1(0) ack 1 win 1000
      +300
      > . 1:1461(1460) ack 1
      < . 1:1(0) ack 4381 win 4380
      > . 4381:5841(1460) ack 1
      > . 5841:7301(1460) ack 1
      > . 7301:8761(1460) ack 1
    `);
  });

  test('closed over what is in flight: a peer that responds is waited for', () => {
    const script = withWindow(4380).run(`
      write 1460
      > P. 1:1461(1460) ack 1
      < . 1:1(0) ack 1 win 0
    `);
    for (let minutes = 0; minutes < 60; minutes++) {
      script.driven.advance(60_000);
      script.driven.out.take();
      script.run('< . 1:1(0) ack 1 win 0');
    }
    script.run('state ESTABLISHED');
    script.driven.advance(USER_TIMEOUT);
    script.driven.out.take();
    script.run('failure timeout');
  });

  test('an old segment does not change it (§3.10.7.4, SND.WL1 and SND.WL2)', () => {
    withWindow(3000).run(`
      < P. 1:101(100) ack 1 win 3000
      > . 1:1(0) ack 101
      < P. 201:301(100) ack 1 win 2000
      > . 1:1(0) ack 101
      < P. 101:201(100) ack 1 win 9000
      > . 1:1(0) ack 301
      write 3000
      > . 1:1461(1460) ack 301
    `);
  });

  test('of the SYN-ACK it is not scaled, of others it is (RFC 7323 §2.2)', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      write 10000
      < S. 0:0(0) ack 1 win 1460 <mss 1460,wscale 2>
      > . 1:1461(1460) ack 1
      < . 1:1(0) ack 1461 win 730
      > . 1461:2921(1460) ack 1
      > . 2921:4381(1460) ack 1
    `);
  });
});

describe('timeouts', () => {
  test('data that is never acknowledged: the user timeout ends it (RFC 9293 §3.8.3)', () => {
    const script = established().run(`
      write 100
      > P. 1:101(100) ack 1
    `);
    script.driven.advance(USER_TIMEOUT - 1);
    assert.equal(script.driven.connection.state, 'ESTABLISHED');
    script.driven.out.take();
    script.driven.advance(1);
    assert.equal(script.driven.connection.failure, 'timeout');
    assert.deepEqual(script.sent(), ['R. 101:101(0) ack 1 win 0']);
    script.driven.out.take();
    script.run('events failed closed');
  });

  test('each acknowledgment of something new starts the user timeout again', () => {
    const script = established();
    const { connection } = script.driven;
    connection.write(Buffer.alloc(14_600));
    script.driven.settle();
    for (let count = 1; count <= 9; count++) {
      script.driven.advance(USER_TIMEOUT - 1000);
      script.driven.out.take();
      script.driven.receive({
        flags: '.',
        sequence: (4_294_960_000 + 1) >>> 0,
        acknowledgment: 1_000_001 + count * 1460,
        window: 65_535,
        payload: new Uint8Array(0),
      });
    }
    assert.equal(connection.state, 'ESTABLISHED');
  });

  test('a silent peer is probed, and a response keeps the connection (§3.8.4)', () => {
    established({ settings: { keepAlive: 60_000 } }).run(`
      +59999
      +1
      > . 0:0(0) ack 1
      < . 1:1(0) ack 1
      +60000
      > . 0:0(0) ack 1
      +10000
      > . 0:0(0) ack 1
      < . 1:1(0) ack 1
      +59999
      state ESTABLISHED
      +1
      > . 0:0(0) ack 1
    `);
  });

  test('a peer that answers no probe is gone', () => {
    const script = established({ settings: { keepAlive: 60_000 } });
    script.driven.advance(60_000 + (KEEP_ALIVE_PROBES - 1) * 10_000);
    assert.equal(script.driven.out.take().length, KEEP_ALIVE_PROBES);
    script.run(`
      state ESTABLISHED
      +10000
      > R. 1:1(0) ack 1
      failure timeout
    `);
  });

  test('a peer that sends anything is not probed', () => {
    established({ settings: { keepAlive: 60_000 } }).run(`
      +50000
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 101
      +59999
      +1
      > . 0:0(0) ack 101
    `);
  });

  test('no keep-alive without the setting', () => {
    const script = connected();
    assert.equal(script.driven.connection.nextTimeout(), Infinity);
  });

  test('onTimeout does nothing before its time', () => {
    const { driven } = established({ settings: { keepAlive: 60_000 } });
    for (let now = 0; now < 60_000; now += 1000) driven.connection.onTimeout(now);
    driven.settle();
    assert.deepEqual(driven.out.sent, []);
  });
});

test('retransmissions and timeouts are traced', () => {
  const script = established().run(`
    write 100
    > P. 1:101(100) ack 1
    +300
    > P. 1:101(100) ack 1
    +500
    > P. 1:101(100) ack 1
  `);
  const kinds = script.driven.traced.map((event) =>
    event.kind === 'retransmission-timeout' ? event.count : event.kind,
  );
  assert.deepEqual(kinds, ['state', 'state', 1, 'retransmitted', 2, 'retransmitted']);
});

describe('what the application writes', () => {
  test('a writer is asked to wait, and called when half is acknowledged', () => {
    const script = established();
    const { connection, out } = script.driven;
    let written = 0;
    let more = true;
    while (more) {
      more = connection.write(Buffer.alloc(16_384));
      written += 16_384;
      assert.ok(written <= 1 << 20, 'the buffer is bounded');
    }
    script.driven.settle();
    script.driven.takeEvents();
    let acknowledged = 0;
    while (!script.driven.events.includes('writable')) {
      const last = out.take().at(-1);
      assert.ok(last !== undefined, 'nothing more to acknowledge');
      acknowledged = last.sequence + last.payload.length;
      script.driven.receive({
        flags: '.',
        sequence: (4_294_960_000 + 1) >>> 0,
        acknowledgment: acknowledged,
        window: 65_535,
        payload: new Uint8Array(0),
      });
    }
    assert.ok(connection.write(Buffer.alloc(1)));
  });

  test('nothing is written after closeWrite', () => {
    const { driven } = established();
    driven.connection.closeWrite();
    assert.equal(driven.connection.write(Buffer.alloc(1)), false);
  });
});
