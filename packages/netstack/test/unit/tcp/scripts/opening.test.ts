import { describeScripts } from '../../../../../../test/support/netstack/tcp/script.ts';

describeScripts('LISTEN (RFC 9293 §3.10.7.2)', {
  'a RST is ignored': '< R 0:0(0) | < R. 0:0(0) ack 77 | state LISTEN',
  'an ACK gets a RST with its number': '< . 5:5(0) ack 77 | > R 77:77(0) | state LISTEN',
  'a SYN is a request, and gets no response before it is accepted': `
    < S 0:0(0) <mss 1000> | events requested | state SYN-RECEIVED | +5000 | accept
    > S. 0:0(0) ack 1 win 65535 <mss 1460> | < . 1:1(0) ack 1 | events established
    state ESTABLISHED`,
  ...Object.fromEntries(
    [
      ['mss 1460', 'mss 1460'],
      ['mss 1460,sackOK', 'mss 1460,sackOK'],
      ['mss 1460,wscale 0', 'mss 1460,wscale 7'],
      ['mss 1460,TS val 9 ecr 0', 'mss 1460,TS val 500 ecr 9'],
      ['mss 1460,sackOK,TS val 9 ecr 0,wscale 14', 'mss 1460,sackOK,TS val 500 ecr 9,wscale 7'],
    ].map(([offered, response]) => [
      `the SYN-ACK offers what the SYN has offered, and nothing else: ${offered}`,
      `with stamp=500 | accept | < S 0:0(0) <${offered}>
      > S. 0:0(0) ack 1 win 65535 <${response}>`,
    ]),
  ),
  'data with the SYN is not taken: it comes again behind the handshake': `
    accept | < S 0:100(100) <mss 1460> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1
    < P. 1:101(100) ack 1 | > . 1:1(0) ack 101 | read 100`,
});

describeScripts('a request that is held back', {
  'SYNs that are sent again are absorbed': `
    < S 0:0(0) <mss 1460> | +1000 | < S 0:0(0) <mss 1460> | +2000 | < S 0:0(0) <mss 1460>
    events requested | accept | > S. 0:0(0) ack 1`,
  'a RST of the client ends it': `
    < S 0:0(0) <mss 1460> | < R 1:1(0) | state CLOSED | failure refused
    events requested failed closed | accept`,
  'a RST with another number does not':
    '< S 0:0(0) <mss 1460> | < R 2:2(0) | < R 0:0(0) | state SYN-RECEIVED',
  'an ACK is of nothing that was sent: it gets a RST, and the request remains':
    '< S 0:0(0) <mss 1460> | < . 1:1(0) ack 1 | > R 1:1(0) | accept | > S. 0:0(0) ack 1',
  'another SYN with these ports takes the place of the first: its client has given up': `
    < S 0:0(0) <mss 1460> | < S 5000:5000(0) <mss 1460,sackOK> | events requested | accept
    > S. 0:0(0) ack 5001 win 65535 <mss 1460,sackOK> | < . 5001:5001(0) ack 1
    state ESTABLISHED`,
  'refused by a RST that the client takes for its own SYN': `
    < S 0:0(0) <mss 1460> | events requested | refuse reset | > R. 0:0(0) ack 1 | state CLOSED
    failure aborted | events failed closed`,
  'refused in silence: it ends at once, and the client gets nothing': `
    < S 0:0(0) <mss 1460> | events requested | refuse silent | state CLOSED | failure aborted
    events failed closed`,
  'an abort is a refusal':
    '< S 0:0(0) <mss 1460> | abort | > R. 0:0(0) ack 1 | events requested failed closed',
});

describeScripts('SYN-SENT (RFC 9293 §3.10.7.3)', {
  'the SYN offers everything': `
    with role=active stamp=7 now=1000
    > S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1007 ecr 0,wscale 7> | state SYN-SENT`,
  'a SYN-ACK establishes the connection': `
    with role=active | > S 0:0(0) | < S. 0:0(0) ack 1 <mss 1460> | > . 1:1(0) ack 1
    state ESTABLISHED | events established`,
  'an ACK of something else gets a RST, with SYN or without': `
    with role=active | > S 0:0(0)
    ${[0, 2, -1, 70_000]
      .flatMap((wrong) =>
        ['S.', '.'].map((flags) => `< ${flags} 0:0(0) ack ${wrong} | > R ${wrong}:${wrong}(0)`),
      )
      .join(' | ')}
    state SYN-SENT`,
  'a RST with the ACK of the SYN refuses the connection': `
    with role=active | > S 0:0(0) | < R. 0:0(0) ack 1 | state CLOSED | failure refused
    events failed closed`,
  'a RST without it, or with another ACK, is ignored': `
    with role=active | > S 0:0(0) | < R 0:0(0) | < R. 0:0(0) ack 2 | < R. 0:0(0) ack 0
    state SYN-SENT`,
  'an ACK without SYN, and nothing at all, are ignored':
    'with role=active | > S 0:0(0) | < . 0:0(0) ack 1 | < P 0:10(10) | state SYN-SENT',
  'data with the SYN-ACK is taken': `
    with role=active | > S 0:0(0) | < S. 0:10(10) ack 1 <mss 1460> | > . 1:1(0) ack 11
    state ESTABLISHED | events established readable | read 10`,
  'what was written before leaves with the ACK of the SYN': `
    with role=active | > S 0:0(0) | write 100 | close | < S. 0:0(0) ack 1 <mss 1460>
    > FP. 1:101(100) ack 1 | state FIN-WAIT-1`,
  'the SYN is sent again after 1, 2, 4, 8, 16 and 32 seconds; after 60 more it has failed': `
    with role=active | > S 0:0(0) | +999 | +1 | > S 0:0(0) | +2000 | > S 0:0(0) | +4000
    > S 0:0(0) | +8000 | > S 0:0(0) | +16000 | > S 0:0(0) | +32000 | > S 0:0(0) | +59999
    state SYN-SENT | +1 | state CLOSED | failure timeout | events failed closed`,
  'aborted: nothing is sent, for the peer knows of nothing (§3.10.5)':
    'with role=active | > S 0:0(0) | abort | state CLOSED | failure aborted',
  'ICMP ends it only for its own SYN': `
    with role=active own=5 | > S 0:0(0) | unreachable 1 | state SYN-SENT | unreachable 0
    failure unreachable`,
});

describeScripts('simultaneous open (RFC 9293 §3.5, figure 8)', {
  'both SYNs cross, and both SYN-ACKs': `
    with role=active | > S 0:0(0) | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1
    state SYN-RECEIVED | < S. 0:0(0) ack 1 | > . 1:1(0) ack 1 | state ESTABLISHED
    events established | < P. 1:11(10) ack 1 | > . 1:1(0) ack 11`,
  'an ACK alone is enough': `
    with role=active | > S 0:0(0) | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1
    state ESTABLISHED`,
  'a RST is a refusal': `
    with role=active | > S 0:0(0) | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1
    < R. 1:1(0) ack 1 | state CLOSED | failure refused`,
});

const REQUESTED = 'accept | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1';

describeScripts('SYN-RECEIVED (RFC 9293 §3.10.7.4)', {
  'the SYN again: the SYN-ACK again': `
    ${REQUESTED} | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1`,
  'an ACK of something else gets a RST': `
    ${REQUESTED} | < . 1:1(0) ack 2 | > R 2:2(0) | < . 1:1(0) ack 0 | > R 0:0(0)
    state SYN-RECEIVED`,
  'a RST ends it, if its number is the next one': `
    ${REQUESTED} | < R 2:2(0) | > . 1:1(0) ack 1      # a challenge ACK (RFC 5961 §3)
    < R 1:1(0) | state CLOSED | failure refused`,
  'the ACK may bring data and the FIN': `
    ${REQUESTED} | < FP. 1:101(100) ack 1 | > . 1:1(0) ack 102 | state CLOSE-WAIT
    events established readable end | read 100`,
  'data without an ACK is dropped': `
    ${REQUESTED} | < P 1:101(100) | state SYN-RECEIVED`,
  'the SYN-ACK is sent again five times; then the connection is forgotten without a RST': `
    ${REQUESTED} | +1000 | > S. 0:0(0) ack 1 | +2000 | > S. 0:0(0) ack 1 | +4000
    > S. 0:0(0) ack 1 | +8000 | > S. 0:0(0) ack 1 | +16000 | > S. 0:0(0) ack 1 | +32000
    state CLOSED | failure timeout`,
  'aborted by a RST': `
    ${REQUESTED} | abort | > R. 1:1(0) ack 1 | state CLOSED`,
});
