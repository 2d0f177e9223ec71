import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_RECEIVE_WINDOW } from '../../../../src/netstack/tcp/buffer-limits.ts';
import { MAX_DUPLICATE_ACKS, QUICK_ACKS } from '../../../../src/netstack/tcp/limits.ts';
import {
  Script,
  connected,
  established,
  type ScriptChoices,
} from '../../../support/netstack/tcp/script.ts';

/** ESTABLISHED, behind the segments that are acknowledged at once. */
function settled(choices: ScriptChoices = {}): { script: Script; at: number } {
  const script = established(choices);
  let at = 1;
  for (let count = 0; count < QUICK_ACKS; count++, at += 1460) {
    script.run(`
      < . ${at}:${at + 1460}(1460) ack 1
      > . 1:1(0) ack ${at + 1460}
      read 1460
    `);
  }
  return { script, at };
}

describe('delayed ACKs (RFC 9293 §3.8.6.3)', () => {
  test('a segment is acknowledged after 40 ms', () => {
    const { script, at } = settled();
    script.run(`
      < P. ${at}:${at + 100}(100) ack 1
      +39
      +1
      > . 1:1(0) ack ${at + 100}
    `);
  });

  test('every second full segment is acknowledged at once', () => {
    const { script, at } = settled();
    script.run(`
      < . ${at}:${at + 1460}(1460) ack 1
      < . ${at + 1460}:${at + 2920}(1460) ack 1
      > . 1:1(0) ack ${at + 2920}
      +1000
    `);
  });

  test('full is what the peer sends at most: small segments add up to it', () => {
    const { script, at } = settled();
    script.run(`
      < P. ${at}:${at + 1000}(1000) ack 1
      < P. ${at + 1000}:${at + 2000}(1000) ack 1
      < P. ${at + 2000}:${at + 3000}(1000) ack 1
      > . 1:1(0) ack ${at + 3000}
    `);
  });

  test('a large segment that the device has merged is acknowledged at once', () => {
    const { script, at } = settled();
    script.run(`
      < . ${at}:${at + 14_600}(14600) ack 1
      > . 1:1(0) ack ${at + 14_600}
    `);
  });

  test('data takes the ACK along', () => {
    const { script, at } = settled();
    script.run(`
      < P. ${at}:${at + 100}(100) ack 1
      write 50
      > P. 1:51(50) ack ${at + 100}
      < . ${at + 100}:${at + 100}(0) ack 51
      +1000
    `);
  });
});

describe('segments out of order (RFC 5681 §4.2)', () => {
  test('each gets a duplicate ACK at once, and filling the gap an ACK', () => {
    const { script, at } = settled();
    script.run(`
      < . ${at + 1460}:${at + 2920}(1460) ack 1
      > . 1:1(0) ack ${at}
      < . ${at + 2920}:${at + 4380}(1460) ack 1
      > . 1:1(0) ack ${at}
      < . ${at}:${at + 1460}(1460) ack 1
      > . 1:1(0) ack ${at + 4380}
      read 4380
    `);
  });

  test('duplicate ACKs are counted when the output was full', () => {
    const { script, at } = settled();
    script.driven.out.room = 0;
    script.run(`
      < . ${at + 1460}:${at + 2920}(1460) ack 1
      < . ${at + 2920}:${at + 4380}(1460) ack 1
      < . ${at + 4380}:${at + 5840}(1460) ack 1
    `);
    script.driven.out.room = Infinity;
    script.driven.settle();
    script.run(`
      > . 1:1(0) ack ${at}
      > . 1:1(0) ack ${at}
      > . 1:1(0) ack ${at}
    `);
  });

  test('no more than four leave in one turn', () => {
    const { script, at } = settled();
    const { driven } = script;
    driven.out.room = 0;
    for (let count = 1; count <= 20; count++) {
      script.run(`< . ${at + count * 100}:${at + count * 100 + 50}(50) ack 1`);
    }
    driven.out.room = Infinity;
    driven.settle();
    assert.equal(driven.out.take().length, MAX_DUPLICATE_ACKS);
  });

  test('SACK reports them, the newest first (RFC 2018 §4)', () => {
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK>
      > S. 0:0(0) ack 1 <mss 1460,sackOK>
      < . 1:1(0) ack 1
      < . 1001:2001(1000) ack 1
      > . 1:1(0) ack 1 <sack 1001:2001>
      < . 3001:4001(1000) ack 1
      > . 1:1(0) ack 1 <sack 3001:4001,sack 1001:2001>
      < . 1:1001(1000) ack 1
      > . 1:1(0) ack 2001 <sack 3001:4001>
      < . 2001:3001(1000) ack 1
      > . 1:1(0) ack 4001
      read 4000
    `);
  });

  test('SACK blocks leave on their own while there is data to send', () => {
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      write 100
      > P. 1:101(100) ack 1
      < . 1001:2001(1000) ack 101
      > . 101:101(0) ack 1 <sack 1001:2001>
    `);
  });

  test('a duplicate is reported (RFC 2883)', () => {
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      < P. 1:1001(1000) ack 1
      > . 1:1(0) ack 1001
      < P. 1:1501(1500) ack 1
      > . 1:1(0) ack 1501 <sack 1:1001>
    `);
  });

  test('only what is new of an overlapping segment is taken', () => {
    established().run(`
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 101
      < P. 51:151(100) ack 1
      > . 1:1(0) ack 151
      read 150
    `);
  });
});

describe('the receive window (RFC 9293 §3.8.6)', () => {
  const small = (): Script => established({ settings: { receiveBuffer: 10_000 } });

  test('it shrinks as data arrives, and opens as it is read', () => {
    new Script({ settings: { receiveBuffer: 10_000 } }).run(`
      accept
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1 win 10000
      < . 1:1(0) ack 1
      < . 1:5001(5000) ack 1
      > . 1:1(0) ack 5001 win 5000
      read 5000
      > . 1:1(0) ack 5001 win 10000
    `);
  });

  test('closed: data is not taken, but its ACK is (§3.10.7.4)', () => {
    small().run(`
      write 100
      > P. 1:101(100) ack 1
      < . 1:10001(10000) ack 1
      > . 101:101(0) ack 10001 win 0
      < P. 10001:10002(1) ack 101
      > . 101:101(0) ack 10001 win 0
      read 10000
      > . 101:101(0) ack 10001 win 10000
    `);
  });

  test('a probe of the closed window gets an ACK', () => {
    small().run(`
      < . 1:10001(10000) ack 1
      > . 1:1(0) ack 10001 win 0
      < . 10000:10000(0) ack 1
      > . 1:1(0) ack 10001 win 0
    `);
  });

  test('it opens by a segment or half at least: no silly window (§3.8.6.2.2)', () => {
    const script = small().run(`
      < . 1:9901(9900) ack 1
      > . 1:1(0) ack 9901 win 100
      < . 9901:10001(100) ack 1
      > . 1:1(0) ack 10001 win 0
    `);
    script.run(`
      read 10000
      > . 1:1(0) ack 10001 win 10000
    `);
  });

  test('a RST is valid at the closed window', () => {
    small().run(`
      < . 1:10001(10000) ack 1
      > . 1:1(0) ack 10001 win 0
      < R 10001:10001(0)
      failure reset
    `);
  });

  test('what reaches beyond the window is cut off there', () => {
    small().run(`
      < . 1:12001(12000) ack 1
      > . 1:1(0) ack 10001 win 0
      read 10000
      > . 1:1(0) ack 10001 win 10000
    `);
  });

  test('scaled by the announced shift, except in a SYN (RFC 7323 §2.2)', () => {
    new Script({ settings: { receiveBuffer: 1_000_000 } }).run(`
      accept
      < S 0:0(0) <mss 1460,wscale 2>
      > S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 7>
      < . 1:1(0) ack 1
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 101 win 2047
    `);
  });

  test('without scaling a segment that changes nothing gets no update of the window', () => {
    established({ settings: { receiveBuffer: MAX_RECEIVE_WINDOW } }).run(`
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 101
      read 100
      < . 101:101(0) ack 1
      < R 5000000:5000000(0)
      write 50
      > P. 1:51(50) ack 101
      < . 101:101(0) ack 51
      +1000
    `);
  });
});

describe('timestamps (RFC 7323)', () => {
  const stamped = (now = 1000): Script =>
    new Script({ now, timestampOffset: 0 }).run(`
      accept
      < S 0:0(0) <mss 1460,TS val 100 ecr 0>
      > S. 0:0(0) ack 1 <mss 1460,TS val ${now} ecr 100>
      < . 1:1(0) ack 1 <TS val 101 ecr ${now}>
      state ESTABLISHED
    `);

  test('each segment echoes the newest timestamp of an acknowledged one (§4.3)', () => {
    stamped().run(`
      < P. 1:101(100) ack 1 <TS val 110 ecr 1000>
      > . 1:1(0) ack 101 <TS val 1000 ecr 110>
      < P. 201:301(100) ack 1 <TS val 120 ecr 1000>
      > . 1:1(0) ack 101 <TS val 1000 ecr 110>
      < P. 101:201(100) ack 1 <TS val 130 ecr 1000>
      > . 1:1(0) ack 301 <TS val 1000 ecr 130>
    `);
  });

  test('PAWS: an older timestamp is an old duplicate (§5.3, R1)', () => {
    stamped().run(`
      < P. 1:101(100) ack 1 <TS val 99 ecr 1000>
      > . 1:1(0) ack 1
      read 0
      < P. 1:101(100) ack 1 <TS val 101 ecr 1000>
      > . 1:1(0) ack 101
      read 100
    `);
  });

  test('PAWS: timestamps wrap', () => {
    new Script({ now: 5 }).run(`
      accept
      < S 0:0(0) <mss 1460,TS val 4294967290 ecr 0>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1 <TS val 4294967295 ecr 5>
      < P. 1:101(100) ack 1 <TS val 3 ecr 5>
      > . 1:1(0) ack 101 <TS val 5 ecr 3>
      < P. 101:201(100) ack 1 <TS val 4294967295 ecr 5>
      > . 1:1(0) ack 101
    `);
  });

  test('PAWS does not hold for a RST (§5.2)', () => {
    stamped().run(`
      < R 1:1(0) <TS val 50 ecr 1000>
      failure reset
    `);
  });

  test('PAWS: after 24 days of silence an older timestamp is valid (§5.5)', () => {
    const script = stamped();
    script.driven.now += 24 * 24 * 3600 * 1000;
    script.run(`
      < P. 1:101(100) ack 1 <TS val 50 ecr 1000>
      > . 1:1(0) ack 101
      read 100
    `);
  });

  test('a segment without the option is dropped, but for a RST (§3.2)', () => {
    stamped().run(`
      < P. 1:101(100) ack 1
      read 0
      < R 1:1(0)
      failure reset
    `);
  });

  test('without the option of the SYN-ACK none is sent', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S. 0:0(0) ack 1 <mss 1460,sackOK>
      > . 1:1(0) ack 1 win 65535
    `);
  });
});

describe('sequence numbers wrap', () => {
  for (const peerSequence of [0xffff_ff00, 0xffff_ffff, 0x7fff_ff00]) {
    test(`of the peer, from ${peerSequence}`, () => {
      established({ peerSequence }).run(`
        < P. 1:201(200) ack 1
        > . 1:1(0) ack 201
        < P. 401:601(200) ack 1
        > . 1:1(0) ack 201
        < P. 201:401(200) ack 1
        > . 1:1(0) ack 601
        read 600
        < F. 601:601(0) ack 1
        > . 1:1(0) ack 602
      `);
    });
  }

  for (const initialSequence of [0xffff_ff00, 0xffff_ffff, 0x7fff_ff00]) {
    test(`of this side, from ${initialSequence}`, () => {
      connected({ initialSequence }).run(`
        write 1000
        > P. 1:1001(1000) ack 1
        < . 1:1(0) ack 1001
        write 1000
        > P. 1001:2001(1000) ack 1
        < . 1:1(0) ack 2001
        close
        > F. 2001:2001(0) ack 1
        < . 1:1(0) ack 2002
        state FIN-WAIT-2
      `);
    });
  }
});

test('a reader that comes later finds everything', () => {
  const script = established().run(`
    < P. 1:101(100) ack 1
    > . 1:1(0) ack 101
    events readable
    < P. 101:201(100) ack 1
    > . 1:1(0) ack 201
    events readable
    read 200
    events
  `);
  assert.equal(script.driven.connection.read(0), undefined);
});
