import { MAX_RECEIVE_WINDOW } from '../../../../src/limits.ts';
import { describeScripts } from '../../../../../../test/support/netstack/tcp/script.ts';

describeScripts('delayed ACKs (RFC 9293 §3.8.6.3)', {
  'a segment is acknowledged after 40 ms':
    'settled | < P. 1:101(100) ack 1 | +39 | +1 | > . 1:1(0) ack 101',
  'every second full segment is acknowledged at once':
    'settled | < . 1:1461(1460) ack 1 | < . 1461:2921(1460) ack 1 | > . 1:1(0) ack 2921 | +1000',
  'full is what the peer sends at most: small segments add up to it': `
    settled | < P. 1:1001(1000) ack 1 | < P. 1001:2001(1000) ack 1 | < P. 2001:3001(1000) ack 1
    > . 1:1(0) ack 3001`,
  'a large segment that the device has merged is acknowledged at once':
    'settled | < . 1:14601(14600) ack 1 | > . 1:1(0) ack 14601',
  'data takes the ACK along': `
    settled | < P. 1:101(100) ack 1 | write 50 | > P. 1:51(50) ack 101 | < . 101:101(0) ack 51
    +1000`,
});

describeScripts('segments out of order (RFC 5681 §4.2)', {
  'each gets a duplicate ACK at once, and filling the gap an ACK': `
    settled | < . 1461:2921(1460) ack 1 | > . 1:1(0) ack 1 | < . 2921:4381(1460) ack 1
    > . 1:1(0) ack 1 | < . 1:1461(1460) ack 1 | > . 1:1(0) ack 4381 | read 4380`,
  'duplicate ACKs are counted when the output was full': `
    settled | room 0 | < . 1461:2921(1460) ack 1 | < . 2921:4381(1460) ack 1
    < . 4381:5841(1460) ack 1 | room 9 | > . 1:1(0) ack 1 | > . 1:1(0) ack 1 | > . 1:1(0) ack 1`,
  'no more than four leave in one turn': `
    settled | room 0 | < . 101:151(50) ack 1 | < . 201:251(50) ack 1 | < . 301:351(50) ack 1
    < . 401:451(50) ack 1 | < . 501:551(50) ack 1 | < . 601:651(50) ack 1 | room 9 | > *4`,
  'SACK reports them, the newest first (RFC 2018 §4)': `
    accept | < S 0:0(0) <mss 1460,sackOK> | > S. 0:0(0) ack 1 <mss 1460,sackOK>
    < . 1:1(0) ack 1 | < . 1001:2001(1000) ack 1 | > . 1:1(0) ack 1 <sack 1001:2001>
    < . 3001:4001(1000) ack 1 | > . 1:1(0) ack 1 <sack 3001:4001,sack 1001:2001>
    < . 1:1001(1000) ack 1 | > . 1:1(0) ack 2001 <sack 3001:4001> | < . 2001:3001(1000) ack 1
    > . 1:1(0) ack 4001 | read 4000`,
  'SACK blocks leave on their own while there is data to send': `
    accept | < S 0:0(0) <mss 1460,sackOK> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1 | write 100
    > P. 1:101(100) ack 1 | < . 1001:2001(1000) ack 101 | > . 101:101(0) ack 1 <sack 1001:2001>`,
  'a duplicate is reported (RFC 2883)': `
    accept | < S 0:0(0) <mss 1460,sackOK> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1
    < P. 1:1001(1000) ack 1 | > . 1:1(0) ack 1001 | < P. 1:1501(1500) ack 1
    > . 1:1(0) ack 1501 <sack 1:1001>`,
  'only what is new of an overlapping segment is taken': `
    established | < P. 1:101(100) ack 1 | > . 1:1(0) ack 101 | < P. 51:151(100) ack 1
    > . 1:1(0) ack 151 | read 150`,
});

const SMALL = 'with buffer=10000 | established';

describeScripts('the receive window (RFC 9293 §3.8.6)', {
  'it shrinks as data arrives, and opens as it is read': `
    with buffer=10000 | accept | < S 0:0(0) <mss 1460> | > S. 0:0(0) ack 1 win 10000
    < . 1:1(0) ack 1 | < . 1:5001(5000) ack 1 | > . 1:1(0) ack 5001 win 5000 | read 5000
    > . 1:1(0) ack 5001 win 10000`,
  'closed: data is not taken, but its ACK is (§3.10.7.4)': `
    ${SMALL} | write 100 | > P. 1:101(100) ack 1 | < . 1:10001(10000) ack 1
    > . 101:101(0) ack 10001 win 0 | < P. 10001:10002(1) ack 101
    > . 101:101(0) ack 10001 win 0 | read 10000 | > . 101:101(0) ack 10001 win 10000`,
  'a probe of the closed window gets an ACK': `
    ${SMALL} | < . 1:10001(10000) ack 1 | > . 1:1(0) ack 10001 win 0 | < . 10000:10000(0) ack 1
    > . 1:1(0) ack 10001 win 0`,
  'it opens by a segment or half at least: no silly window (§3.8.6.2.2)': `
    ${SMALL} | < . 1:9901(9900) ack 1 | > . 1:1(0) ack 9901 win 100 | < . 9901:10001(100) ack 1
    > . 1:1(0) ack 10001 win 0 | read 10000 | > . 1:1(0) ack 10001 win 10000`,
  'a RST is valid at the closed window': `
    ${SMALL} | < . 1:10001(10000) ack 1 | > . 1:1(0) ack 10001 win 0 | < R 10001:10001(0)
    failure reset`,
  'what reaches beyond the window is cut off there': `
    ${SMALL} | < . 1:12001(12000) ack 1 | > . 1:1(0) ack 10001 win 0 | read 10000
    > . 1:1(0) ack 10001 win 10000`,
  'scaled by the announced shift, except in a SYN (RFC 7323 §2.2)': `
    with buffer=1000000 | accept | < S 0:0(0) <mss 1460,wscale 2>
    > S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 7> | < . 1:1(0) ack 1 | < P. 1:101(100) ack 1
    > . 1:1(0) ack 101 win 2047`,
  'without scaling a segment that changes nothing gets no update of the window': `
    with buffer=${MAX_RECEIVE_WINDOW} | established | < P. 1:101(100) ack 1 | > . 1:1(0) ack 101
    read 100 | < . 101:101(0) ack 1 | < R 5000000:5000000(0) | write 50 | > P. 1:51(50) ack 101
    < . 101:101(0) ack 51 | +1000`,
});

const STAMPED = `
  with now=1000 | accept | < S 0:0(0) <mss 1460,TS val 100 ecr 0>
  > S. 0:0(0) ack 1 <mss 1460,TS val 1000 ecr 100> | < . 1:1(0) ack 1 <TS val 101 ecr 1000>`;

describeScripts('timestamps (RFC 7323)', {
  'each segment echoes the newest timestamp of an acknowledged one (§4.3)': `
    ${STAMPED} | < P. 1:101(100) ack 1 <TS val 110 ecr 1000>
    > . 1:1(0) ack 101 <TS val 1000 ecr 110> | < P. 201:301(100) ack 1 <TS val 120 ecr 1000>
    > . 1:1(0) ack 101 <TS val 1000 ecr 110> | < P. 101:201(100) ack 1 <TS val 130 ecr 1000>
    > . 1:1(0) ack 301 <TS val 1000 ecr 130>`,
  'PAWS: an older timestamp is an old duplicate (§5.3, R1)': `
    ${STAMPED} | < P. 1:101(100) ack 1 <TS val 99 ecr 1000> | > . 1:1(0) ack 1 | read 0
    < P. 1:101(100) ack 1 <TS val 101 ecr 1000> | > . 1:1(0) ack 101 | read 100`,
  'PAWS: timestamps wrap': `
    with now=5 | accept | < S 0:0(0) <mss 1460,TS val 4294967290 ecr 0> | > S. 0:0(0) ack 1
    < . 1:1(0) ack 1 <TS val 4294967295 ecr 5> | < P. 1:101(100) ack 1 <TS val 3 ecr 5>
    > . 1:1(0) ack 101 <TS val 5 ecr 3> | < P. 101:201(100) ack 1 <TS val 4294967295 ecr 5>
    > . 1:1(0) ack 101`,
  'PAWS does not hold for a RST (§5.2)': `
    ${STAMPED} | < R 1:1(0) <TS val 50 ecr 1000> | failure reset`,
  'PAWS: after 24 days of silence an older timestamp is valid (§5.5)': `
    ${STAMPED} | ++2073600000 | < P. 1:101(100) ack 1 <TS val 50 ecr 1000> | > . 1:1(0) ack 101
    read 100`,
  'a segment without the option is dropped, but for a RST (§3.2)': `
    ${STAMPED} | < P. 1:101(100) ack 1 | read 0 | < R 1:1(0) | failure reset`,
  'without the option of the SYN-ACK none is sent': `
    with role=active | > S 0:0(0) | < S. 0:0(0) ack 1 <mss 1460,sackOK>
    > . 1:1(0) ack 1 win 65535`,
});

describeScripts('sequence numbers wrap', {
  ...Object.fromEntries(
    [0xffff_ff00, 0xffff_ffff, 0x7fff_ff00].flatMap((from) => [
      [
        `of the peer, from ${from}`,
        `with peer=${from} | established | < P. 1:201(200) ack 1 | > . 1:1(0) ack 201
        < P. 401:601(200) ack 1 | > . 1:1(0) ack 201 | < P. 201:401(200) ack 1
        > . 1:1(0) ack 601 | read 600 | < F. 601:601(0) ack 1 | > . 1:1(0) ack 602`,
      ],
      [
        `of this side, from ${from}`,
        `with role=active own=${from} | connected | write 1000 | > P. 1:1001(1000) ack 1
        < . 1:1(0) ack 1001 | write 1000 | > P. 1001:2001(1000) ack 1 | < . 1:1(0) ack 2001
        close | > F. 2001:2001(0) ack 1 | < . 1:1(0) ack 2002 | state FIN-WAIT-2`,
      ],
    ]),
  ),
  'a reader that comes later finds everything': `
    established | < P. 1:101(100) ack 1 | > . 1:1(0) ack 101 | events readable
    < P. 101:201(100) ack 1 | > . 1:1(0) ack 201 | events readable | read 200 | events | read 0`,
});
