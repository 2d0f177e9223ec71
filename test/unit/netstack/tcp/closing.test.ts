import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { established, inState } from '../../../support/netstack/tcp/script.ts';

describe('closing a connection (RFC 9293 §3.6)', () => {
  test('this side first (figure 12): FIN-WAIT-1, FIN-WAIT-2, TIME-WAIT', () => {
    established().run(`
      close
      > F. 1:1(0) ack 1
      state FIN-WAIT-1
      < . 1:1(0) ack 2
      state FIN-WAIT-2
      events finished
      < F. 1:1(0) ack 2
      > . 2:2(0) ack 2
      state TIME-WAIT
      events end closed
      +59999
      state TIME-WAIT
      +1
      state CLOSED
      events
    `);
  });

  test('the peer first: CLOSE-WAIT, LAST-ACK, CLOSED', () => {
    established().run(`
      < F. 1:1(0) ack 1
      > . 1:1(0) ack 2
      state CLOSE-WAIT
      events end
      close
      > F. 1:1(0) ack 2
      state LAST-ACK
      < . 2:2(0) ack 2
      state CLOSED
      events finished closed
      +1000000
    `);
  });

  test('both at once (figure 13): CLOSING, TIME-WAIT', () => {
    established().run(`
      close
      > F. 1:1(0) ack 1
      < F. 1:1(0) ack 1
      > . 2:2(0) ack 2
      state CLOSING
      < . 2:2(0) ack 2
      state TIME-WAIT
      events end finished closed
    `);
  });

  test('the FIN of the peer acknowledges this one: FIN-WAIT-1, TIME-WAIT', () => {
    established().run(`
      close
      > F. 1:1(0) ack 1
      < F. 1:1(0) ack 2
      > . 2:2(0) ack 2
      state TIME-WAIT
    `);
  });

  test('data goes on after the FIN of the peer: half-close', () => {
    established().run(
      `
      < FP. 1:101(100) ack 1
      > . 1:1(0) ack 102
      read 100
      write 1000
      > P. 1:1001(1000) ack 102
      < . 102:102(0) ack 1001
      write 500
      > P. 1001:1501(500) ack 102
      close
      > F. 1501:1501(0) ack 102
      < . 102:102(0) ack 1502
      state CLOSED
    `,
    );
  });

  test('data is received after this side has sent its FIN: half-close', () => {
    inState('FIN-WAIT-2').run(`
      < P. 101:1101(1000) ack 102
      > . 102:102(0) ack 1101
      +3600000
      < P. 1101:2101(1000) ack 102
      > . 102:102(0) ack 2101
      read 2000
      < F. 2101:2101(0) ack 102
      > . 102:102(0) ack 2102
      state TIME-WAIT
    `);
  });

  test('the FIN goes with the last data, and waits for the window', () => {
    const script = established().run(`
      < . 1:1(0) ack 1 win 1000
    `);
    const { connection } = script.driven;
    connection.write(Buffer.alloc(1000));
    connection.closeWrite();
    script.driven.settle();
    assert.deepEqual(script.sent(), ['P. 1:1001(1000) ack 1 win 65535']);
    script.driven.out.take();
    script.run(`
      state ESTABLISHED
      < . 1:1(0) ack 1001 win 1000
      > F. 1001:1001(0) ack 1
      state FIN-WAIT-1
    `);
  });

  test('nothing is sent after the FIN', () => {
    inState('FIN-WAIT-2').run('write 100');
  });

  test('a FIN that was lost is sent again', () => {
    established().run(`
      close
      > F. 1:1(0) ack 1
      +300
      > F. 1:1(0) ack 1
      < . 1:1(0) ack 2
      state FIN-WAIT-2
    `);
  });

  test('the peer sends its FIN again: its ACK was lost', () => {
    inState('CLOSE-WAIT').run(`
      < F. 101:101(0) ack 101
      > . 101:101(0) ack 102
      state CLOSE-WAIT
    `);
  });

  test('a FIN behind a gap is reached when the gap is filled', () => {
    established().run(`
      < FP. 101:201(100) ack 1
      > . 1:1(0) ack 1
      state ESTABLISHED
      < . 1:101(100) ack 1
      > . 1:1(0) ack 202
      state CLOSE-WAIT
      events readable end
      read 200
    `);
  });

  test('a FIN alone behind a gap is reached, too', () => {
    established().run(`
      < F. 101:101(0) ack 1
      > . 1:1(0) ack 1
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 102
      state CLOSE-WAIT
    `);
  });

  test('data behind the FIN is not taken, and gets an ACK', () => {
    established().run(`
      < F. 101:101(0) ack 1
      > . 1:1(0) ack 1
      < P. 201:301(100) ack 1
      > . 1:1(0) ack 1
    `);
  });

  test('data beyond the FIN does not exist', () => {
    const script = established().run(`
      < F. 101:101(0) ack 1
      > . 1:1(0) ack 1
      < P. 1:301(300) ack 1
      > . 1:1(0) ack 102
      read 100
    `);
    assert.ok(script.driven.connection.isEnded);
  });

  test('the end of stream comes after the last byte was read', () => {
    const script = established().run(`
      < FP. 1:101(100) ack 1
      > . 1:1(0) ack 102
    `);
    assert.equal(script.driven.connection.isEnded, false);
    script.run('read 100');
    assert.equal(script.driven.connection.isEnded, true);
  });
});

describe('TIME-WAIT (RFC 9293 §3.10.7.4)', () => {
  test('the FIN again: an ACK, and the time begins anew', () => {
    inState('FIN-WAIT-2').run(`
      < F. 101:101(0) ack 102
      > . 102:102(0) ack 102
      +50000
      < F. 101:101(0) ack 102
      > . 102:102(0) ack 102
      +59999
      state TIME-WAIT
      +1
      state CLOSED
    `);
  });

  test('a RST with the next number ends it, another does not', () => {
    inState('FIN-WAIT-2').run(`
      < F. 101:101(0) ack 102
      > . 102:102(0) ack 102
      < R 103:103(0)
      < R 101:101(0)
      state TIME-WAIT
      < R 102:102(0)
      state CLOSED
    `);
  });

  test('it is reported as closed when the ACK of the FIN has left', () => {
    const script = inState('FIN-WAIT-2');
    const { driven } = script;
    driven.out.room = 0;
    script.run(`
      < F. 101:101(0) ack 102
      state TIME-WAIT
      events end
    `);
    driven.out.room = Infinity;
    driven.settle();
    script.run(`
      > . 102:102(0) ack 102
      events closed
    `);
  });
});
