import { describe, test } from 'node:test';
import { Script, type ScriptChoices } from '../../../support/netstack/tcp/script.ts';

/*
 * What packetdrill's public scripts (google/packetdrill, gtests/net/tcp) check of Linux, as far as it
 * concerns a stack without sockets: the same situations, in this stack's words and with its options.
 */

interface Behaviour extends ScriptChoices {
  /** The script in gtests/net/tcp that the situation is from. */
  readonly from: string;
  readonly script: string;
}

/** With segmentation offload, which packetdrill's scripts assume. */
const OFFLOAD = { segmentBytes: 1460, announcedMss: 1460, largestPayload: 65_000 };

const SACK_HANDSHAKE = `
  accept
  < S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>
  +100
  < . 1:1(0) ack 1 win 320
`;

const FULL_SIZED = `
  accept
  < S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>
  +100
  < . 1:1(0) ack 1 win 511
`;

const STAMPED_HANDSHAKE = `
  accept
  < S 0:0(0) win 20000 <mss 1000,sackOK,TS val 100 ecr 0>
  > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 100>
  +100
  < . 1:1(0) ack 1 win 20000 <TS val 200 ecr 100>
`;

const BEHAVIOURS: readonly Behaviour[] = [
  {
    from: 'close/close-local-close-then-remote-fin',
    role: 'active',
    script: `
      > S 0:0(0)
      +11
      < S. 0:0(0) ack 1 win 32768 <mss 1000,wscale 6,sackOK>
      > . 1:1(0) ack 1
      write 1000
      > P. 1:1001(1000) ack 1
      < . 1:1(0) ack 1001 win 257
      close
      > F. 1001:1001(0) ack 1
      < . 1:1(0) ack 1002 win 257
      < F. 1:1(0) ack 1002 win 257
      > . 1002:1002(0) ack 2
    `,
  },
  {
    from: 'close/close-remote-fin-then-close',
    role: 'active',
    script: `
      > S 0:0(0)
      < S. 0:0(0) ack 1 win 32768 <mss 1000,wscale 6,sackOK>
      > . 1:1(0) ack 1
      write 1000
      > P. 1:1001(1000) ack 1
      < . 1:1(0) ack 1001 win 257
      < F. 1:1(0) ack 1001 win 257
      > . 1001:1001(0) ack 2
      close
      > F. 1001:1001(0) ack 2
      < . 2:2(0) ack 1002 win 257
      state CLOSED
    `,
  },
  {
    from: 'close/close-on-syn-sent',
    role: 'active',
    script: `
      > S 0:0(0)
      abort
      +100
      < S. 0:0(0) ack 1 win 32000 <mss 1460,wscale 7>   # the stack resets what is for no connection
      state CLOSED
    `,
  },
  {
    from: 'shutdown/shutdown-wr-close',
    script: `${SACK_HANDSHAKE}
      close
      > F. 1:1(0) ack 1
      < . 1:1(0) ack 2 win 257
      < P. 1:1001(1000) ack 2 win 257
      > . 2:2(0) ack 1001
      read 1000
      < F. 1001:1001(0) ack 2 win 257
      > . 2:2(0) ack 1002
      state TIME-WAIT
    `,
  },
  {
    from: 'shutdown/shutdown-rdwr-write-queue-close',
    path: OFFLOAD,
    script: `${SACK_HANDSHAKE}
      write 9000 # one segment below the initial window: a FIN is not exempt from it here
      > P. 1:9001(9000) ack 1
      +10
      close
      > F. 9001:9001(0) ack 1
      < . 1:1(0) ack 9002 win 320
      state FIN-WAIT-2
      < F. 1:1(0) ack 9002 win 320
      > . 9002:9002(0) ack 2
    `,
  },
  {
    from: 'fastopen/server/basic-non-tfo-listener',
    script: `
      accept
      < S 0:10(10) win 32792 <mss 1460,sackOK>
      > S. 0:0(0) ack 1 <mss 1460,sackOK>
      < . 1:31(30) ack 1 win 5840
      > . 1:1(0) ack 31
      read 30
    `,
  },
  {
    from: 'validate/validate-established-no-flags',
    script: `${SACK_HANDSHAKE}
      < - 1:1001(1000) win 20000
      read 0
      < . 1:1001(1000) ack 1 win 20000
      > . 1:1(0) ack 1001
      read 1000
    `,
  },
  {
    from: 'gro/gro-mss-option',
    script: `${SACK_HANDSHAKE}
      < . 1:10001(10000) ack 1 win 320
      > . 1:1(0) ack 10001
    `,
  },
  {
    from: 'mss/mss-setsockopt-tcp_maxseg-server',
    path: { segmentBytes: 1100, announcedMss: 1100, largestPayload: 65_000 },
    script: `
      accept
      < S 0:0(0) win 32792 <mss 1300,wscale 7>
      > S. 0:0(0) ack 1 <mss 1100,wscale 7>
      +100
      < . 1:1(0) ack 1 win 257
      write 12000
      > . 1:11001(11000) ack 1 win 511 <gso 1100>    # an initial window of ten segments
    `
      .replace(' win 511', '')
      .replace('<gso 1100>', ''),
  },
  {
    from: 'ts_recent/fin_tsval',
    now: 100,
    script: `${STAMPED_HANDSHAKE}
      +1000
      close
      > F. 1:1(0) ack 1 <TS val 1200 ecr 200>
    `,
  },
  {
    from: 'ts_recent/reset_tsval',
    now: 100,
    script: `${STAMPED_HANDSHAKE}
      < . 1:1001(1000) ack 1 win 20000 <TS val 201 ecr 100>
      > . 1:1(0) ack 1001 <TS val 200 ecr 201>
      +1000
      abort
      > R. 1:1(0) ack 1001 <TS val 1200 ecr 201>
    `,
  },
  {
    from: 'ts_recent/invalid_ack',
    now: 100,
    script: `${STAMPED_HANDSHAKE}
      < F. 1:1(0) ack 9999 win 20000 <TS val 200000 ecr 100>
      > . 1:1(0) ack 1 <TS val 200 ecr 200>       # RFC 9293 has an ACK here, Linux nothing
      < . 1:1001(1000) ack 1 win 20000 <TS val 201 ecr 100>
      > . 1:1(0) ack 1001 <TS val 200 ecr 201>
    `,
  },
  {
    from: 'fast_retransmit/fr-4pkt',
    script: `
      accept
      < S 0:0(0) win 32792 <mss 1460,wscale 7>
      > S. 0:0(0) ack 1
      +100
      < . 1:1(0) ack 1 win 257
      write 5840
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > . 2921:4381(1460) ack 1
      > P. 4381:5841(1460) ack 1
      +100
      < . 1:1(0) ack 1 win 257
      < . 1:1(0) ack 1 win 257
      < . 1:1(0) ack 1 win 257
      > . 1:1461(1460) ack 1
      +100
      < . 1:1(0) ack 5841 win 257
      +100
      close
      > F. 5841:5841(0) ack 1
      < F. 1:1(0) ack 5842 win 257
      > . 5842:5842(0) ack 2
    `,
  },
  {
    from: 'fast_retransmit/fr-4pkt-sack',
    script: `
      accept
      < S 0:0(0) win 32792 <mss 1460,sackOK,wscale 7>
      > S. 0:0(0) ack 1
      +100
      < . 1:1(0) ack 1 win 257
      write 5840
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > . 2921:4381(1460) ack 1
      > P. 4381:5841(1460) ack 1
      +100
      < . 1:1(0) ack 1 win 257 <sack 1461:2921>
      < . 1:1(0) ack 1 win 257 <sack 1461:4381>
      < . 1:1(0) ack 1 win 257 <sack 1461:5841>
      > . 1:1461(1460) ack 1
      +100
      < . 1:1(0) ack 5841 win 257
    `,
  },
  {
    from: 'limited_transmit/limited-transmit-sack',
    script: `${FULL_SIZED}
      write 21900
      > . 1:1461(1460) ack 1
      > . 1461:2921(1460) ack 1
      > . 2921:4381(1460) ack 1
      > . 4381:5841(1460) ack 1
      > . 5841:7301(1460) ack 1
      > . 7301:8761(1460) ack 1
      > . 8761:10221(1460) ack 1
      > . 10221:11681(1460) ack 1
      > . 11681:13141(1460) ack 1
      > . 13141:14601(1460) ack 1
      +110
      < . 1:1(0) ack 1 win 320 <sack 1461:2921>
      > . 14601:16061(1460) ack 1
      +10
      < . 1:1(0) ack 1 win 320 <sack 1461:4381>
      > . 16061:17521(1460) ack 1
    `,
  },
  {
    from: 'slow_start/slow-start-after-win-update',
    path: OFFLOAD,
    script: `${FULL_SIZED}
      write 30000
      > . 1:14601(14600) ack 1
      +100
      < . 1:1(0) ack 14601 win 511
      > P. 14601:30001(15400) ack 1
      +100
      < . 1:1(0) ack 30001 win 0
      write 20000
      +400           # the retransmission timeout of a path of 100 ms, doubled each time
      > . 30000:30000(0) ack 1
      +800
      > . 30000:30000(0) ack 1
      +1600
      > . 30000:30000(0) ack 1
      < . 1:1(0) ack 30001 win 511
      > . 30001:44601(14600) ack 1     # an initial window, after the pause
    `,
  },
  {
    from: 'nagle/sockopt_cork_nodelay (TCP_NODELAY)',
    script: `${SACK_HANDSHAKE}
      write 4
      > P. 1:5(4) ack 1
      write 5
      > P. 5:10(5) ack 1
    `,
  },
];

describe("behaviours of packetdrill's public scripts", () => {
  for (const { from, script, ...choices } of BEHAVIOURS) {
    test(from, () => {
      new Script(choices).run(script);
    });
  }
});
