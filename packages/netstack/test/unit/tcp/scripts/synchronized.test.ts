import { MAX_CHALLENGE_ACKS } from '../../../../src/limits.ts';
import {
  AT,
  describeScripts,
  SYNCHRONIZED,
} from '../../../../../../test/support/netstack/tcp/script.ts';

const WINDOW = 65_535;

/** What arrives in a synchronized state, with the response: SND.NXT is `n`, RCV.NXT `r`, SND.UNA `u`. */
for (const state of SYNCHRONIZED) {
  const { next: n, received: r, una: u } = AT[state];
  const isComplete = state === 'CLOSING' || state === 'LAST-ACK';
  const ack = `> . ${n}:${n}(0) ack ${r}`;
  const old = `< . ${r - 1}:${r - 1}(0) ack ${u}`;
  const syn = `< S ${r}:${r}(0) | ${ack}`;
  const scripts: Readonly<Record<string, string>> = {
    'first: what lies before the window gets an ACK': `
      < P. 1:101(100) ack ${u} | ${ack} | ${old} | ${ack} | state ${state}`,
    'first: what lies behind the window gets an ACK': `
      < P. ${r + WINDOW + 1}:${r + WINDOW + 11}(10) ack ${u} | ${ack} | state ${state}`,
    'first: segments without data outside of the window get one ACK in a while': `
      ${old} | ${ack} | ${old} | ${old} | +100 | ${old} | ${ack}`,
    'second: a RST with the next number ends it': `
      < R ${r}:${r}(0) | state CLOSED
      ${isComplete ? 'events closed' : 'failure reset | events failed closed'}`,
    'second: a RST elsewhere in the window gets a challenge ACK (RFC 5961 §3.2)': `
      < R ${r + 1}:${r + 1}(0) | ${ack} | < R. ${r + 1000}:${r + 1000}(0) ack ${u} | ${ack}
      state ${state}`,
    'second: a RST outside of the window is dropped': `
      < R ${r - 2}:${r - 2}(0) | < R ${r + WINDOW + 1}:${r + WINDOW + 1}(0)
      < R ${r + 1e9}:${r + 1e9}(0) | state ${state}`,
    'fourth: a SYN gets a challenge ACK, wherever it is (RFC 5961 §4.2)': `
      ${syn} | < S ${r + 5}:${r + 5}(0) | ${ack} | < S ${r + 1e9}:${r + 1e9}(0) | ${ack}
      < S. 0:0(0) ack 1 | ${ack} | state ${state}`,
    'challenge ACKs are limited (RFC 5961 §7)': `
      ${`${syn} | `.repeat(MAX_CHALLENGE_ACKS)} < S ${r}:${r}(0) | < R ${r + 1}:${r + 1}(0)
      state ${state} | ++1000 | ${syn}`,
    'fifth: a segment without ACK is dropped': `
      < P ${r}:${r + 10}(10) | < F ${r}:${r}(0) | state ${state}`,
    'fifth: an ACK of data never sent gets an ACK, and nothing of it is used': `
      < P. ${r}:${r + 10}(10) ack ${n + 1} | ${ack} | state ${state} | read 0`,
    'fifth: an ACK that is too old gets an ACK (RFC 5961 §5.2)': `
      < P. ${r}:${r + 10}(10) ack ${u - WINDOW - 1} | ${ack} | state ${state} | read 0`,
    'an abort resets the peer (§3.10.5)': `
      abort ${isComplete ? '' : `| > R. ${n}:${n}(0) ack ${r}`}
      state CLOSED | failure aborted | events failed closed`,
    'ICMP does not end it (RFC 5927 §5.2)': `unreachable ${u} | state ${state}`,
    ...(r === 102 && {
      'seventh: data after the FIN of the peer is not taken': `
        < P. ${r}:${r + 10}(10) ack ${u} | ${ack} | read 0
        < F. ${r + 1}:${r + 1}(0) ack ${u} | ${ack}`,
    }),
  };
  describeScripts(
    `in ${state} (RFC 9293 §3.10.7.4)`,
    Object.fromEntries(
      Object.entries(scripts).map(([name, script]) => [name, `in ${state} | ${script}`]),
    ),
  );
}

describeScripts('in a connection that is, or was, established', {
  'a RST with the number of the FIN counts where the FIN was reached, as macOS sends it':
    'in CLOSE-WAIT | < R 101:101(0) | failure reset',
  'what was received before a RST can still be read': `
    established | < P. 1:101(100) ack 1 | > . 1:1(0) ack 101 | < R 101:101(0) | read 100`,
  'urgent data is data like any other (§3.8.5)':
    'established | < PU. 1:101(100) ack 1 | > . 1:1(0) ack 101 | read 100',
  'nothing is taken and nothing sent after its end': `
    in ESTABLISHED | < R 101:101(0) | < P. 101:201(100) ack 101 | < S 0:0(0) | write 100 | close
    abort | +1000000 | read 0 | events failed closed | idle`,
  'a FIN at another place, later, changes nothing': `
    established | < F. 1001:1001(0) ack 1 | > . 1:1(0) ack 1 | < F. 501:501(0) ack 1
    > . 1:1(0) ack 1 | < . 1:1001(1000) ack 1 | > . 1:1(0) ack 1002 | read 1000
    state CLOSE-WAIT`,
});
