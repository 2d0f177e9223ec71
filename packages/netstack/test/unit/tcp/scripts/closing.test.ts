import { describeScripts } from '../../../../../../test/support/netstack/tcp/script.ts';

describeScripts('closing a connection (RFC 9293 §3.6)', {
  'this side first (figure 12): FIN-WAIT-1, FIN-WAIT-2, TIME-WAIT': `
    established | close | > F. 1:1(0) ack 1 | state FIN-WAIT-1 | < . 1:1(0) ack 2
    state FIN-WAIT-2 | events finished | < F. 1:1(0) ack 2 | > . 2:2(0) ack 2 | state TIME-WAIT
    events end closed | +59999 | state TIME-WAIT | +1 | state CLOSED | events`,
  'the peer first: CLOSE-WAIT, LAST-ACK, CLOSED': `
    established | < F. 1:1(0) ack 1 | > . 1:1(0) ack 2 | state CLOSE-WAIT | events end | close
    > F. 1:1(0) ack 2 | state LAST-ACK | < . 2:2(0) ack 2 | state CLOSED
    events finished closed | +1000000`,
  'both at once (figure 13): CLOSING, TIME-WAIT': `
    established | close | > F. 1:1(0) ack 1 | < F. 1:1(0) ack 1 | > . 2:2(0) ack 2
    state CLOSING | < . 2:2(0) ack 2 | state TIME-WAIT | events end finished closed`,
  'the FIN of the peer acknowledges this one: FIN-WAIT-1, TIME-WAIT': `
    established | close | > F. 1:1(0) ack 1 | < F. 1:1(0) ack 2 | > . 2:2(0) ack 2
    state TIME-WAIT`,
  'data goes on after the FIN of the peer: half-close': `
    established | < FP. 1:101(100) ack 1 | > . 1:1(0) ack 102 | read 100 | write 1000
    > P. 1:1001(1000) ack 102 | < . 102:102(0) ack 1001 | write 500
    > P. 1001:1501(500) ack 102 | close | > F. 1501:1501(0) ack 102 | < . 102:102(0) ack 1502
    state CLOSED`,
  'data is received after this side has sent its FIN: half-close': `
    in FIN-WAIT-2 | < P. 101:1101(1000) ack 102 | > . 102:102(0) ack 1101 | +3600000
    < P. 1101:2101(1000) ack 102 | > . 102:102(0) ack 2101 | read 2000
    < F. 2101:2101(0) ack 102 | > . 102:102(0) ack 2102 | state TIME-WAIT`,
  'the FIN goes with the last data, and waits for the window': `
    established | < . 1:1(0) ack 1 win 1000 | write 1000 | > P. 1:1001(1000) ack 1 | close
    state ESTABLISHED | < . 1:1(0) ack 1001 win 1000 | > F. 1001:1001(0) ack 1
    state FIN-WAIT-1`,
  'nothing is sent after the FIN': 'in FIN-WAIT-2 | write 100',
  'a FIN that was lost is sent again': `
    established | close | > F. 1:1(0) ack 1 | +300 | > F. 1:1(0) ack 1 | < . 1:1(0) ack 2
    state FIN-WAIT-2`,
  'the peer sends its FIN again: its ACK was lost':
    'in CLOSE-WAIT | < F. 101:101(0) ack 101 | > . 101:101(0) ack 102 | state CLOSE-WAIT',
  'a FIN behind a gap is reached when the gap is filled': `
    established | < FP. 101:201(100) ack 1 | > . 1:1(0) ack 1 | state ESTABLISHED
    < . 1:101(100) ack 1 | > . 1:1(0) ack 202 | state CLOSE-WAIT | events readable end
    read 200`,
  'a FIN alone behind a gap is reached, too': `
    established | < F. 101:101(0) ack 1 | > . 1:1(0) ack 1 | < P. 1:101(100) ack 1
    > . 1:1(0) ack 102 | state CLOSE-WAIT`,
  'data behind the FIN is not taken, and gets an ACK': `
    established | < F. 101:101(0) ack 1 | > . 1:1(0) ack 1 | < P. 201:301(100) ack 1
    > . 1:1(0) ack 1`,
  'data beyond the FIN does not exist': `
    established | < F. 101:101(0) ack 1 | > . 1:1(0) ack 1 | < P. 1:301(300) ack 1
    > . 1:1(0) ack 102 | read 100 | ended yes`,
  'the end of stream comes after the last byte was read':
    'established | < FP. 1:101(100) ack 1 | > . 1:1(0) ack 102 | ended no | read 100 | ended yes',
});

describeScripts('TIME-WAIT (RFC 9293 §3.10.7.4)', {
  'the FIN again: an ACK, and the time begins anew': `
    in FIN-WAIT-2 | < F. 101:101(0) ack 102 | > . 102:102(0) ack 102 | +50000
    < F. 101:101(0) ack 102 | > . 102:102(0) ack 102 | +59999 | state TIME-WAIT | +1
    state CLOSED`,
  'a RST with the next number ends it, another does not': `
    in FIN-WAIT-2 | < F. 101:101(0) ack 102 | > . 102:102(0) ack 102 | < R 103:103(0)
    < R 101:101(0) | state TIME-WAIT | < R 102:102(0) | state CLOSED`,
  'it is reported as closed when the ACK of the FIN has left': `
    in FIN-WAIT-2 | room 0 | < F. 101:101(0) ack 102 | state TIME-WAIT | events end | room 9
    > . 102:102(0) ack 102 | events closed`,
});
