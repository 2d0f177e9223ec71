import { CONNECT, DATAGRAMS, IDLE, latency, stream, type Case } from './case.ts';
import { TUN_CASES } from './tun/cases.ts';
import { TUNNEL_CASES } from './tunnel-cases.ts';
import { WIREGUARD_CASES } from './wireguard/cases.ts';

/** The cases of one process that only relays. */
const RELAY_CASES: readonly Case[] = [
  stream('stream-down', 'one stream down', 'download', 1),
  stream('stream-up', 'one stream up', 'upload', 1),
  stream('streams-down', '64 streams down', 'download', 64),
  stream('streams-up', '64 streams up', 'upload', 64),
  CONNECT,
  latency('latency', 'small request, one at a time, p50', 1),
  latency('latency-busy', 'small request, 64 at once, p50', 64),
  IDLE,
  DATAGRAMS,
];

/** One process beside several that share its listening socket: docs/scaling.md. */
const PROCESSES = ['weir', 'weir-2', 'weir-4'] as const;

const PROCESS_CASES: readonly Case[] = [
  stream('processes-stream-down', 'processes: one stream down', 'download', 1, PROCESSES),
  stream('processes-streams-down', 'processes: 64 streams down', 'download', 64, PROCESSES),
  {
    ...CONNECT,
    name: 'processes-connect',
    title: `processes: ${CONNECT.title}`,
    contestants: PROCESSES,
  },
].map((test) => ({ ...test, goals: [] }));

export const CASES: readonly Case[] = [
  ...RELAY_CASES,
  ...PROCESS_CASES,
  ...TUN_CASES,
  ...TUNNEL_CASES,
  ...WIREGUARD_CASES,
];

/** The cases whose names start with one of `words`; without words, those of relays. */
export const chosen = (words: readonly string[]): readonly Case[] =>
  words.length === 0
    ? RELAY_CASES
    : CASES.filter(({ name }) => words.some((word) => name.startsWith(word)));
