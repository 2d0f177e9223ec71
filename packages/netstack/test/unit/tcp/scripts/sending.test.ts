import { describeScripts } from '../../../../../../test/support/netstack/tcp/script.ts';

describeScripts('segments of data', {
  'full ones, and the rest with PSH': `
    established | write 3000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > P. 2921:3001(80) ack 1`,
  'small ones are not held back: there is no Nagle':
    'established | write 10 | > P. 1:11(10) ack 1 | write 10 | > P. 11:21(10) ack 1',
  'the MSS of the peer holds, less the timestamps (RFC 6691)': `
    with now=10 | accept | < S 0:0(0) <mss 1000,TS val 1 ecr 0> | > S. 0:0(0) ack 1
    < . 1:1(0) ack 1 <TS val 1 ecr 10> | write 1000 | > . 1:989(988) ack 1
    > P. 989:1001(12) ack 1`,
  '536 bytes for a peer that announces no MSS (RFC 9293 §3.7.1)': `
    accept | < S 0:0(0) | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1 | write 600
    > . 1:537(536) ack 1 | > P. 537:601(64) ack 1`,
  'a tiny MSS is not followed below 48 bytes': `
    accept | < S 0:0(0) <mss 1> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1 | write 48
    > P. 1:49(48) ack 1`,
  'with segmentation offload one segment carries several': `
    with offload=1460 | established | write 10000
    > P. 1:10001(10000) ack 1 win 65535 <gso 1460> | < . 1:1(0) ack 10001 | write 1000
    > P. 10001:11001(1000) ack 1 win 65535`,
  'a path with a smaller MTU: what was too large is sent again in smaller segments': `
    established | write 1460 | > P. 1:1461(1460) ack 1 | mtu 1000 | > . 1:1001(1000) ack 1
    > P. 1001:1461(460) ack 1`,
  'an output that is full is waited for, and what is queued leaves in full segments': `
    established | room 0 | write 1000 | write 1000 | write 1000 | room 1 | > . 1:1461(1460) ack 1
    room 9 | > . 1461:2921(1460) ack 1 | > P. 2921:3001(80) ack 1`,
});

const window = (size: number): string => `
  accept | < S 0:0(0) win ${size} <mss 1460> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1 win ${size}`;

describeScripts("the peer's window (RFC 9293 §3.8.6)", {
  'it is never exceeded': `
    ${window(3000)} | write 10000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    < . 1:1(0) ack 2921 win 3000 | > . 2921:4381(1460) ack 1 | > . 4381:5841(1460) ack 1`,
  'a small rest of it is not used: no silly window (§3.8.6.2.1)': `
    ${window(3000)} | write 10000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    < . 1:1(0) ack 1461 win 1600`,
  'a window that stays small is used when nothing is in flight any more': `
    ${window(3000)} | write 4000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    < . 1:1(0) ack 1461 win 1560 | < . 1:1(0) ack 2921 win 100 | > . 2921:3021(100) ack 1
    < . 1:1(0) ack 3021 win 3000 | > P. 3021:4001(980) ack 1`,
  'closed: it is probed, ever less often, until it opens': `
    ${window(1000)} | write 2000 | > . 1:1001(1000) ack 1 | < . 1:1(0) ack 1001 win 0 | +200
    > . 1000:1000(0) ack 1 | < . 1:1(0) ack 1001 win 0 | +400 | > . 1000:1000(0) ack 1 | +800
    > . 1000:1000(0) ack 1 | < . 1:1(0) ack 1001 win 0 | +1600 | > . 1000:1000(0) ack 1
    < . 1:1(0) ack 1001 win 5000 | > P. 1001:2001(1000) ack 1 | < . 1:1(0) ack 2001 win 5000
    +100000`,
  'closed for ever: a peer that acknowledges the probes is waited for': `
    ${window(1000)} | write 2000 | > . 1:1001(1000) ack 1 | < . 1:1(0) ack 1001 win 0
    ${'+60000 | > * | < . 1:1(0) ack 1001 win 0 | '.repeat(60)} | state ESTABLISHED`,
  'closed, and the probes without a response: the connection has failed': `
    ${window(1000)} | write 2000 | > . 1:1001(1000) ack 1 | < . 1:1(0) ack 1001 win 0 | +299999
    > * | state ESTABLISHED | +1 | > R. 1001:1001(0) ack 1 | failure timeout`,
  'closed from the start': `
    ${window(0)} | write 100 | +200 | > . 0:0(0) ack 1 | < . 1:1(0) ack 1 win 1000
    > P. 1:101(100) ack 1`,
  'it shrinks below what was sent: nothing more is sent, and the first is sent again': `
    ${window(4380)} | write 10000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > . 2921:4381(1460) ack 1 | < . 1:1(0) ack 1 win 1000 | +300 | > . 1:1461(1460) ack 1
    < . 1:1(0) ack 4381 win 4380 | > . 4381:5841(1460) ack 1 | > . 5841:7301(1460) ack 1
    > . 7301:8761(1460) ack 1`,
  'closed over what is in flight: a peer that responds is waited for': `
    ${window(4380)} | write 1460 | > P. 1:1461(1460) ack 1 | < . 1:1(0) ack 1 win 0
    ${'+60000 | > * | < . 1:1(0) ack 1 win 0 | '.repeat(60)} | state ESTABLISHED | +300000 | > *
    failure timeout`,
  'an old segment does not change it (§3.10.7.4, SND.WL1 and SND.WL2)': `
    ${window(3000)} | < P. 1:101(100) ack 1 win 3000 | > . 1:1(0) ack 101
    < P. 201:301(100) ack 1 win 2000 | > . 1:1(0) ack 101 | < P. 101:201(100) ack 1 win 9000
    > . 1:1(0) ack 301 | write 3000 | > . 1:1461(1460) ack 301`,
  'of the SYN-ACK it is not scaled, of others it is (RFC 7323 §2.2)': `
    with role=active | > S 0:0(0) | write 10000 | < S. 0:0(0) ack 1 win 1460 <mss 1460,wscale 2>
    > . 1:1461(1460) ack 1 | < . 1:1(0) ack 1461 win 730 | > . 1461:2921(1460) ack 1
    > . 2921:4381(1460) ack 1`,
});

describeScripts('timeouts', {
  'data that is never acknowledged: the user timeout ends it (RFC 9293 §3.8.3)': `
    established | write 100 | > P. 1:101(100) ack 1 | +299999 | > * | state ESTABLISHED | +1
    > R. 101:101(0) ack 1 win 0 | failure timeout | events failed closed`,
  'each acknowledgment of something new starts the user timeout again': `
    established | write 14600 | > *10 | ${[1, 2, 3, 4, 5]
      .map(
        (n) => `+299000 | > *
    < . 1:1(0) ack ${1 + n * 1460} | > *`,
      )
      .join(' | ')} | state ESTABLISHED`,
  'a silent peer is probed, and a response keeps the connection (§3.8.4)': `
    with keepAlive=60000 | established | +59999 | +1 | > . 0:0(0) ack 1 | < . 1:1(0) ack 1
    +60000 | > . 0:0(0) ack 1 | +10000 | > . 0:0(0) ack 1 | < . 1:1(0) ack 1 | +59999
    state ESTABLISHED | +1 | > . 0:0(0) ack 1`,
  'a peer that answers no probe is gone': `
    with keepAlive=60000 | established | +110000 | > *6 | state ESTABLISHED | +10000
    > R. 1:1(0) ack 1 | failure timeout`,
  'a peer that sends anything is not probed': `
    with keepAlive=60000 | established | +50000 | < P. 1:101(100) ack 1 | > . 1:1(0) ack 101
    +59999 | +1 | > . 0:0(0) ack 101`,
  'no keep-alive without the setting': 'with role=active | connected | idle',
});

describeScripts('what the application writes', {
  'nothing is written after closeWrite': 'established | close | > F. 1:1(0) ack 1 | full 1',
});

describeScripts('a path that is restored', {
  'gets the SYN at once, and the next waits begin anew': `
    with role=active | > S 0:0(0) | +1000 | > S 0:0(0) | +2000 | > S 0:0(0) | +1500 | restored
    > S 0:0(0) | +999 | +1 | > S 0:0(0) | +2000 | > S 0:0(0) | < S. 0:0(0) ack 1 <mss 1460>
    > . 1:1(0) ack 1 | state ESTABLISHED`,
  'gives a SYN all of its repetitions': `
    with role=active | > *1 | +60000 | > * | restored | > S 0:0(0) | +122999 | > *6
    state SYN-SENT | +1 | failure timeout | events failed closed`,
  'gets a SYN that has yet to leave only once':
    'with role=active | > *1 | room 0 | +1000 | restored | room 9 | > S 0:0(0)',
  'gets the SYN-ACK at once': `
    accept | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1 | +1000 | > S. 0:0(0) ack 1 | +500
    restored | > S. 0:0(0) ack 1`,
  'gets the first segment of what timed out, and the timeout is as at first': `
    established | write 3000 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > P. 2921:3001(80) ack 1 | +40000 | > *7 | restored | > . 1:1461(1460) ack 1 | wait 1000
    < . 1:1(0) ack 1461 | > . 1461:2921(1460) ack 1 | > P. 2921:3001(80) ack 1`,
  'gets a probe of a window that was probed in vain': `
    established | < . 1:1(0) ack 1 win 0 | write 100 | +30000 | > * | restored
    > . 0:0(0) ack 1 | +199 | +1 | > . 0:0(0) ack 1`,
  'gets a keep-alive that had no answer': `
    with keepAlive=60000 | established | +60000 | > . 0:0(0) ack 1 | +5000 | restored
    > . 0:0(0) ack 1 | +5000 | > . 0:0(0) ack 1`,
  'gets nothing where nothing has waited in vain': `
    established | restored | write 100 | > P. 1:101(100) ack 1 | restored | < . 1:1(0) ack 101
    restored | close | > F. 101:101(0) ack 1 | < R. 1:1(0) ack 102 | restored | state CLOSED`,
});
