import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_CHALLENGE_ACKS } from '../../../../src/netstack/tcp/limits.ts';
import { AT, established, inState, SYNCHRONIZED } from '../../../support/netstack/tcp/script.ts';

const WINDOW = 65_535;

for (const state of SYNCHRONIZED) {
  const { next, received, una } = AT[state];
  const ack = `> . ${next}:${next}(0) ack ${received}`;

  describe(`in ${state} (RFC 9293 §3.10.7.4)`, () => {
    test('first: what lies before the window gets an ACK', () => {
      inState(state).run(`
        < P. 1:101(100) ack ${una}
        ${ack}
        < . ${received - 1}:${received - 1}(0) ack ${una}
        ${ack}
        state ${state}
      `);
    });

    test('first: what lies behind the window gets an ACK', () => {
      const edge = received + WINDOW + 1;
      inState(state).run(`
        < P. ${edge}:${edge + 10}(10) ack ${una}
        ${ack}
        state ${state}
      `);
    });

    test('first: segments without data outside of the window get one ACK in a while', () => {
      inState(state).run(`
        < . ${received - 1}:${received - 1}(0) ack ${una}
        ${ack}
        < . ${received - 1}:${received - 1}(0) ack ${una}
        < . ${received - 1}:${received - 1}(0) ack ${una}
        +100
        < . ${received - 1}:${received - 1}(0) ack ${una}
        ${ack}
      `);
    });

    test('second: a RST with the next number ends it', () => {
      const isComplete = state === 'CLOSING' || state === 'LAST-ACK';
      inState(state).run(
        `
        < R ${received}:${received}(0)
        state CLOSED
        failure ${isComplete ? '' : 'reset'}
        events ${isComplete ? '' : 'failed '}closed
      `.replace('failure \n', '\n'),
      );
    });

    test('second: a RST elsewhere in the window gets a challenge ACK (RFC 5961 §3.2)', () => {
      inState(state).run(`
        < R ${received + 1}:${received + 1}(0)
        ${ack}
        < R. ${received + 1000}:${received + 1000}(0) ack ${una}
        ${ack}
        state ${state}
      `);
    });

    test('second: a RST outside of the window is dropped', () => {
      inState(state).run(`
        < R ${received - 2}:${received - 2}(0)
        < R ${received + WINDOW + 1}:${received + WINDOW + 1}(0)
        < R ${received + 1e9}:${received + 1e9}(0)
        state ${state}
      `);
    });

    test('fourth: a SYN gets a challenge ACK, wherever it is (RFC 5961 §4.2)', () => {
      inState(state).run(`
        < S ${received}:${received}(0)
        ${ack}
        < S ${received + 5}:${received + 5}(0)
        ${ack}
        < S ${received + 1e9}:${received + 1e9}(0)
        ${ack}
        < S. 0:0(0) ack 1
        ${ack}
        state ${state}
      `);
    });

    test('challenge ACKs are limited (RFC 5961 §7)', () => {
      const script = inState(state);
      for (let count = 0; count < MAX_CHALLENGE_ACKS; count++) {
        script.run(`
          < S ${received}:${received}(0)
          ${ack}
        `);
      }
      script.run(`
        < S ${received}:${received}(0)
        < R ${received + 1}:${received + 1}(0)
        state ${state}
      `);
      script.driven.now += 1000;
      script.run(`
        < S ${received}:${received}(0)
        ${ack}
      `);
    });

    test('fifth: a segment without ACK is dropped', () => {
      inState(state).run(`
        < P ${received}:${received + 10}(10)
        < F ${received}:${received}(0)
        state ${state}
      `);
    });

    test('fifth: an ACK of data never sent gets an ACK, and nothing of it is used', () => {
      inState(state).run(`
        < P. ${received}:${received + 10}(10) ack ${next + 1}
        ${ack}
        state ${state}
        read 0
      `);
    });

    test('fifth: an ACK that is too old gets an ACK (RFC 5961 §5.2)', () => {
      inState(state).run(`
        < P. ${received}:${received + 10}(10) ack ${una - WINDOW - 1}
        ${ack}
        state ${state}
        read 0
      `);
    });

    test('an abort resets the peer (§3.10.5)', () => {
      const isComplete = state === 'CLOSING' || state === 'LAST-ACK';
      inState(state).run(`
        abort
        ${isComplete ? '' : `> R. ${next}:${next}(0) ack ${received}`}
        state CLOSED
        failure aborted
        events failed closed
      `);
    });

    test('ICMP does not end it (RFC 5927 §5.2)', () => {
      const script = inState(state);
      const { connection, now } = script.driven;
      connection.onUnreachable(1_000_000 + una, now);
      script.run(`state ${state}`);
    });
  });
}

describe('data after the FIN of the peer (RFC 9293 §3.10.7.4, seventh)', () => {
  for (const state of ['CLOSE-WAIT', 'CLOSING', 'LAST-ACK'] as const) {
    const { next, received, una } = AT[state];
    test(`is not taken in ${state}`, () => {
      inState(state).run(`
        < P. ${received}:${received + 10}(10) ack ${una}
        > . ${next}:${next}(0) ack ${received}
        read 0
        < F. ${received + 1}:${received + 1}(0) ack ${una}
        > . ${next}:${next}(0) ack ${received}
      `);
    });
  }
});

test('a RST with the number of the FIN counts where the FIN was reached, as macOS sends it', () => {
  inState('CLOSE-WAIT').run(`
    < R 101:101(0)
    failure reset
  `);
});

test('what was received before a RST can still be read', () => {
  established().run(`
    < P. 1:101(100) ack 1
    > . 1:1(0) ack 101
    < R 101:101(0)
    read 100
  `);
});

test('urgent data is data like any other (§3.8.5)', () => {
  established().run(`
    < PU. 1:101(100) ack 1
    > . 1:1(0) ack 101
    read 100
  `);
});

test('a connection that has ended takes nothing and sends nothing', () => {
  const script = inState('ESTABLISHED').run(`
    < R 101:101(0)
    < P. 101:201(100) ack 101
    < S 0:0(0)
    write 100
    close
    abort
    +1000000
    read 0
    events failed closed
  `);
  assert.equal(script.driven.connection.nextTimeout(), Infinity);
});
