import { CONNECT, DATAGRAMS, IDLE, stream, type Case, type Goal } from './case.ts';
import type { ContestantName } from './contestants.ts';
import { HYSTERIA2, HYSTERIA2_FAR, HYSTERIA2_SALAMANDER, type Tunnel } from './tunnels.ts';

const CONTESTANTS: readonly ContestantName[] = ['weir', 'hysteria', 'sing-box'];

const GOALS: readonly Goal[] = [{ against: 'hysteria', atLeast: 1 }];

const MANY = 32;

/** hysteria serves no more than 1,024 streams of a connection at once. */
const IDLE_FLOWS = 500;
const SESSIONS = 220;

/** One stream and many, up and down. */
function streamsOf(tunnel: Tunnel): Case[] {
  const pour = (what: string, text: string, load: 'download' | 'upload', count: number): Case => ({
    ...stream(
      `tunnel-${tunnel.name}-${what}`,
      `${tunnel.title}: ${text}`,
      load,
      count,
      CONTESTANTS,
    ),
    goals: GOALS,
    tunnel,
  });
  return [
    pour('down', 'one stream down', 'download', 1),
    pour('up', 'one stream up', 'upload', 1),
    pour('streams-down', `${MANY} streams down`, 'download', MANY),
    pour('streams-up', `${MANY} streams up`, 'upload', MANY),
  ];
}

function other(what: string, test: Case): Case {
  return {
    ...test,
    name: `tunnel-${HYSTERIA2.name}-${what}`,
    title: `${HYSTERIA2.title}: ${test.title}`,
    contestants: CONTESTANTS,
    goals: [],
    tunnel: HYSTERIA2,
  };
}

/** Flows share one QUIC connection between the two processes, but for the last case. */
export const HYSTERIA2_CASES: readonly Case[] = [
  ...streamsOf(HYSTERIA2),
  ...streamsOf(HYSTERIA2_SALAMANDER),
  ...streamsOf(HYSTERIA2_FAR),
  other('connect', CONNECT),
  other('udp', DATAGRAMS),
  other('idle', { ...IDLE, parallel: IDLE_FLOWS }),
  other('sessions', {
    ...IDLE,
    title: "resident memory of an idle client's connection at the server",
    load: 'sessions',
    parallel: SESSIONS,
  }),
];
