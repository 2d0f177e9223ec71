import { describeScripts } from '../../../../../../test/support/netstack/tcp/script.ts';

/*
 * What packetdrill's public scripts (google/packetdrill, gtests/net/tcp) check of Linux, as far as it
 * concerns a stack without sockets: the same situations, in this stack's words and with its options.
 */

const SACK_HANDSHAKE = `
  accept | < S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7> | +100 | < . 1:1(0) ack 1 win 320`;

const FULL_SIZED = `
  accept | < S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7> | +100 | < . 1:1(0) ack 1 win 511`;

const STAMPED_HANDSHAKE = `
  accept | < S 0:0(0) win 20000 <mss 1000,sackOK,TS val 100 ecr 0>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 100> | +100
  < . 1:1(0) ack 1 win 20000 <TS val 200 ecr 100>`;

// By their names in gtests/net/tcp; with segmentation offload where packetdrill assumes it.
describeScripts("behaviours of packetdrill's public scripts", {
  'close/close-local-close-then-remote-fin': `
    with role=active | > S 0:0(0) | +11 | < S. 0:0(0) ack 1 win 32768 <mss 1000,wscale 6,sackOK>
    > . 1:1(0) ack 1 | write 1000 | > P. 1:1001(1000) ack 1 | < . 1:1(0) ack 1001 win 257
    close | > F. 1001:1001(0) ack 1 | < . 1:1(0) ack 1002 win 257 | < F. 1:1(0) ack 1002 win 257
    > . 1002:1002(0) ack 2`,
  'close/close-remote-fin-then-close': `
    with role=active | > S 0:0(0) | < S. 0:0(0) ack 1 win 32768 <mss 1000,wscale 6,sackOK>
    > . 1:1(0) ack 1 | write 1000 | > P. 1:1001(1000) ack 1 | < . 1:1(0) ack 1001 win 257
    < F. 1:1(0) ack 1001 win 257 | > . 1001:1001(0) ack 2 | close | > F. 1001:1001(0) ack 2
    < . 2:2(0) ack 1002 win 257 | state CLOSED`,
  'close/close-on-syn-sent': `
    with role=active | > S 0:0(0) | abort | +100 | < S. 0:0(0) ack 1 win 32000 <mss 1460,wscale 7>   # the stack resets what is for no connection
    state CLOSED`,
  'shutdown/shutdown-wr-close': `
    ${SACK_HANDSHAKE} | close | > F. 1:1(0) ack 1 | < . 1:1(0) ack 2 win 257
    < P. 1:1001(1000) ack 2 win 257 | > . 2:2(0) ack 1001 | read 1000
    < F. 1001:1001(0) ack 2 win 257 | > . 2:2(0) ack 1002 | state TIME-WAIT`,
  'shutdown/shutdown-rdwr-write-queue-close': `
    with offload=1460 | ${SACK_HANDSHAKE} | write 9000 # one segment below the initial window: a FIN is not exempt from it here
    > P. 1:9001(9000) ack 1 | +10 | close | > F. 9001:9001(0) ack 1
    < . 1:1(0) ack 9002 win 320 | state FIN-WAIT-2 | < F. 1:1(0) ack 9002 win 320
    > . 9002:9002(0) ack 2`,
  'fastopen/server/basic-non-tfo-listener': `
    accept | < S 0:10(10) win 32792 <mss 1460,sackOK> | > S. 0:0(0) ack 1 <mss 1460,sackOK>
    < . 1:31(30) ack 1 win 5840 | > . 1:1(0) ack 31 | read 30`,
  'validate/validate-established-no-flags': `
    ${SACK_HANDSHAKE} | < - 1:1001(1000) win 20000 | read 0 | < . 1:1001(1000) ack 1 win 20000
    > . 1:1(0) ack 1001 | read 1000`,
  'gro/gro-mss-option': `
    ${SACK_HANDSHAKE} | < . 1:10001(10000) ack 1 win 320 | > . 1:1(0) ack 10001`,
  'mss/mss-setsockopt-tcp_maxseg-server': `
    with offload=1100 | accept | < S 0:0(0) win 32792 <mss 1300,wscale 7>
    > S. 0:0(0) ack 1 <mss 1100,wscale 7> | +100 | < . 1:1(0) ack 1 win 257 | write 12000 | > . 1:11001(11000) ack 1    # an initial window of ten segments`,
  'ts_recent/fin_tsval': `
    with now=100 | ${STAMPED_HANDSHAKE} | +1000 | close
    > F. 1:1(0) ack 1 <TS val 1200 ecr 200>`,
  'ts_recent/reset_tsval': `
    with now=100 | ${STAMPED_HANDSHAKE} | < . 1:1001(1000) ack 1 win 20000 <TS val 201 ecr 100>
    > . 1:1(0) ack 1001 <TS val 200 ecr 201> | +1000 | abort
    > R. 1:1(0) ack 1001 <TS val 1200 ecr 201>`,
  'ts_recent/invalid_ack': `
    with now=100 | ${STAMPED_HANDSHAKE} | < F. 1:1(0) ack 9999 win 20000 <TS val 200000 ecr 100> | > . 1:1(0) ack 1 <TS val 200 ecr 200>       # RFC 9293 has an ACK here, Linux nothing
    < . 1:1001(1000) ack 1 win 20000 <TS val 201 ecr 100>
    > . 1:1(0) ack 1001 <TS val 200 ecr 201>`,
  'fast_retransmit/fr-4pkt': `
    accept | < S 0:0(0) win 32792 <mss 1460,wscale 7> | > S. 0:0(0) ack 1 | +100
    < . 1:1(0) ack 1 win 257 | write 5840 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > . 2921:4381(1460) ack 1 | > P. 4381:5841(1460) ack 1 | +100 | < . 1:1(0) ack 1 win 257
    < . 1:1(0) ack 1 win 257 | < . 1:1(0) ack 1 win 257 | > . 1:1461(1460) ack 1 | +100
    < . 1:1(0) ack 5841 win 257 | +100 | close | > F. 5841:5841(0) ack 1
    < F. 1:1(0) ack 5842 win 257 | > . 5842:5842(0) ack 2`,
  'fast_retransmit/fr-4pkt-sack': `
    accept | < S 0:0(0) win 32792 <mss 1460,sackOK,wscale 7> | > S. 0:0(0) ack 1 | +100
    < . 1:1(0) ack 1 win 257 | write 5840 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > . 2921:4381(1460) ack 1 | > P. 4381:5841(1460) ack 1 | +100
    < . 1:1(0) ack 1 win 257 <sack 1461:2921> | < . 1:1(0) ack 1 win 257 <sack 1461:4381>
    < . 1:1(0) ack 1 win 257 <sack 1461:5841> | > . 1:1461(1460) ack 1 | +100
    < . 1:1(0) ack 5841 win 257`,
  'limited_transmit/limited-transmit-sack': `
    ${FULL_SIZED} | write 21900 | > . 1:1461(1460) ack 1 | > . 1461:2921(1460) ack 1
    > . 2921:4381(1460) ack 1 | > . 4381:5841(1460) ack 1 | > . 5841:7301(1460) ack 1
    > . 7301:8761(1460) ack 1 | > . 8761:10221(1460) ack 1 | > . 10221:11681(1460) ack 1
    > . 11681:13141(1460) ack 1 | > . 13141:14601(1460) ack 1 | +110
    < . 1:1(0) ack 1 win 320 <sack 1461:2921> | > . 14601:16061(1460) ack 1 | +10
    < . 1:1(0) ack 1 win 320 <sack 1461:4381> | > . 16061:17521(1460) ack 1`,
  'slow_start/slow-start-after-win-update': `
    with offload=1460 | ${FULL_SIZED} | write 30000 | > . 1:14601(14600) ack 1 | +100
    < . 1:1(0) ack 14601 win 511 | > P. 14601:30001(15400) ack 1 | +100
    < . 1:1(0) ack 30001 win 0 | write 20000 | +400           # the retransmission timeout of a path of 100 ms, doubled each time
    > . 30000:30000(0) ack 1 | +800 | > . 30000:30000(0) ack 1 | +1600
    > . 30000:30000(0) ack 1 | < . 1:1(0) ack 30001 win 511 | > . 30001:44601(14600) ack 1     # an initial window, after the pause`,
  'nagle/sockopt_cork_nodelay (TCP_NODELAY)': `
    ${SACK_HANDSHAKE} | write 4 | > P. 1:5(4) ack 1 | write 5 | > P. 5:10(5) ack 1`,
});
