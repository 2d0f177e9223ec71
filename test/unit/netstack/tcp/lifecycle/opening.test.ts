import { describe, test } from 'node:test';
import { Script } from '../../../../support/netstack/tcp/script.ts';

describe('LISTEN (RFC 9293 §3.10.7.2)', () => {
  test('a RST is ignored', () => {
    new Script().run(`
      < R 0:0(0)
      < R. 0:0(0) ack 77
      state LISTEN
    `);
  });

  test('an ACK gets a RST with its number', () => {
    new Script().run(`
      < . 5:5(0) ack 77
      > R 77:77(0)
      state LISTEN
    `);
  });

  test('a SYN is a request, and gets no response before it is accepted', () => {
    new Script().run(`
      < S 0:0(0) <mss 1000>
      events requested
      state SYN-RECEIVED
      +5000
      accept
      > S. 0:0(0) ack 1 win 65535 <mss 1460>
      < . 1:1(0) ack 1
      events established
      state ESTABLISHED
    `);
  });

  test('the SYN-ACK offers what the SYN has offered, and nothing else', () => {
    const handshake = (offered: string, response: string): void => {
      new Script({ timestampOffset: 500 }).run(`
        accept
        < S 0:0(0) <${offered}>
        > S. 0:0(0) ack 1 win 65535 <${response}>
      `);
    };
    handshake('mss 1460', 'mss 1460');
    handshake('mss 1460,sackOK', 'mss 1460,sackOK');
    handshake('mss 1460,wscale 0', 'mss 1460,wscale 7');
    handshake('mss 1460,TS val 9 ecr 0', 'mss 1460,TS val 500 ecr 9');
    handshake(
      'mss 1460,sackOK,TS val 9 ecr 0,wscale 14',
      'mss 1460,sackOK,TS val 500 ecr 9,wscale 7',
    );
  });

  test('data with the SYN is not taken: it comes again behind the handshake', () => {
    new Script().run(`
      accept
      < S 0:100(100) <mss 1460>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      < P. 1:101(100) ack 1
      > . 1:1(0) ack 101
      read 100
    `);
  });
});

describe('a request that is held back', () => {
  test('SYNs that are sent again are absorbed', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      +1000
      < S 0:0(0) <mss 1460>
      +2000
      < S 0:0(0) <mss 1460>
      events requested
      accept
      > S. 0:0(0) ack 1
    `);
  });

  test('a RST of the client ends it', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      < R 1:1(0)
      state CLOSED
      failure refused
      events requested failed closed
      accept
    `);
  });

  test('a RST with another number does not', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      < R 2:2(0)
      < R 0:0(0)
      state SYN-RECEIVED
    `);
  });

  test('an ACK is of nothing that was sent: it gets a RST, and the request remains', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      < . 1:1(0) ack 1
      > R 1:1(0)
      accept
      > S. 0:0(0) ack 1
    `);
  });

  test('another SYN with these ports takes the place of the first: its client has given up', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      < S 5000:5000(0) <mss 1460,sackOK>
      events requested
      accept
      > S. 0:0(0) ack 5001 win 65535 <mss 1460,sackOK>
      < . 5001:5001(0) ack 1
      state ESTABLISHED
    `);
  });

  test('refused by a RST that the client takes for its own SYN', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      events requested
      refuse reset
      > R. 0:0(0) ack 1
      state CLOSED
      failure aborted
      events failed closed
    `);
  });

  test('refused in silence: it ends at once, and the client gets nothing', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      events requested
      refuse silent
      state CLOSED
      failure aborted
      events failed closed
    `);
  });

  test('an abort is a refusal', () => {
    new Script().run(`
      < S 0:0(0) <mss 1460>
      abort
      > R. 0:0(0) ack 1
      events requested failed closed
    `);
  });
});

describe('SYN-SENT (RFC 9293 §3.10.7.3)', () => {
  test('the SYN offers everything', () => {
    new Script({ role: 'active', timestampOffset: 7, now: 1000 }).run(`
      > S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1007 ecr 0,wscale 7>
      state SYN-SENT
    `);
  });

  test('a SYN-ACK establishes the connection', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S. 0:0(0) ack 1 <mss 1460>
      > . 1:1(0) ack 1
      state ESTABLISHED
      events established
    `);
  });

  test('an ACK of something else gets a RST, with SYN or without', () => {
    for (const flags of ['S.', '.']) {
      for (const wrong of [0, 2, -1, 70_000]) {
        new Script({ role: 'active' }).run(`
          > S 0:0(0)
          < ${flags} 0:0(0) ack ${wrong}
          > R ${wrong}:${wrong}(0)
          state SYN-SENT
        `);
      }
    }
  });

  test('a RST with the ACK of the SYN refuses the connection', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < R. 0:0(0) ack 1
      state CLOSED
      failure refused
      events failed closed
    `);
  });

  test('a RST without it, or with another ACK, is ignored', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < R 0:0(0)
      < R. 0:0(0) ack 2
      < R. 0:0(0) ack 0
      state SYN-SENT
    `);
  });

  test('an ACK without SYN, and nothing at all, are ignored', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < . 0:0(0) ack 1
      < P 0:10(10)
      state SYN-SENT
    `);
  });

  test('data with the SYN-ACK is taken', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S. 0:10(10) ack 1 <mss 1460>
      > . 1:1(0) ack 11
      state ESTABLISHED
      events established readable
      read 10
    `);
  });

  test('what was written before leaves with the ACK of the SYN', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      write 100
      close
      < S. 0:0(0) ack 1 <mss 1460>
      > FP. 1:101(100) ack 1
      state FIN-WAIT-1
    `);
  });

  test('the SYN is sent again after 1, 2, 4, 8, 16 and 32 seconds; after 60 more it has failed', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      +999
      +1
      > S 0:0(0)
      +2000
      > S 0:0(0)
      +4000
      > S 0:0(0)
      +8000
      > S 0:0(0)
      +16000
      > S 0:0(0)
      +32000
      > S 0:0(0)
      +59999
      state SYN-SENT
      +1
      state CLOSED
      failure timeout
      events failed closed
    `);
  });

  test('aborted: nothing is sent, for the peer knows of nothing (§3.10.5)', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      abort
      state CLOSED
      failure aborted
    `);
  });

  test('ICMP ends it only for its own SYN', () => {
    const script = new Script({ role: 'active', initialSequence: 5 }).run('> S 0:0(0)');
    const { connection, now } = script.driven;
    connection.onUnreachable(6, now);
    script.run('state SYN-SENT');
    connection.onUnreachable(5, now);
    script.run('failure unreachable');
  });
});

describe('simultaneous open (RFC 9293 §3.5, figure 8)', () => {
  test('both SYNs cross, and both SYN-ACKs', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
      state SYN-RECEIVED
      < S. 0:0(0) ack 1
      > . 1:1(0) ack 1
      state ESTABLISHED
      events established
      < P. 1:11(10) ack 1
      > . 1:1(0) ack 11
    `);
  });

  test('an ACK alone is enough', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
      state ESTABLISHED
    `);
  });

  test('a RST is a refusal', () => {
    new Script({ role: 'active' }).run(`
      > S 0:0(0)
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
      < R. 1:1(0) ack 1
      state CLOSED
      failure refused
    `);
  });
});

describe('SYN-RECEIVED (RFC 9293 §3.10.7.4)', () => {
  const requested = (): Script =>
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
    `);

  test('the SYN again: the SYN-ACK again', () => {
    requested().run(`
      < S 0:0(0) <mss 1460>
      > S. 0:0(0) ack 1
    `);
  });

  test('an ACK of something else gets a RST', () => {
    requested().run(`
      < . 1:1(0) ack 2
      > R 2:2(0)
      < . 1:1(0) ack 0
      > R 0:0(0)
      state SYN-RECEIVED
    `);
  });

  test('a RST ends it, if its number is the next one', () => {
    requested().run(`
      < R 2:2(0)
      > . 1:1(0) ack 1      # a challenge ACK (RFC 5961 §3)
      < R 1:1(0)
      state CLOSED
      failure refused
    `);
  });

  test('the ACK may bring data and the FIN', () => {
    requested().run(`
      < FP. 1:101(100) ack 1
      > . 1:1(0) ack 102
      state CLOSE-WAIT
      events established readable end
      read 100
    `);
  });

  test('data without an ACK is dropped', () => {
    requested().run(`
      < P 1:101(100)
      state SYN-RECEIVED
    `);
  });

  test('the SYN-ACK is sent again five times; then the connection is forgotten without a RST', () => {
    requested().run(`
      +1000
      > S. 0:0(0) ack 1
      +2000
      > S. 0:0(0) ack 1
      +4000
      > S. 0:0(0) ack 1
      +8000
      > S. 0:0(0) ack 1
      +16000
      > S. 0:0(0) ack 1
      +32000
      state CLOSED
      failure timeout
    `);
  });

  test('aborted by a RST', () => {
    requested().run(`
      abort
      > R. 1:1(0) ack 1
      state CLOSED
    `);
  });
});
