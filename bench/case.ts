import type { LoadName } from './load/messages.ts';
import type { ContestantName } from './contestants.ts';
import type { Tunnel } from './tunnels.ts';

/** One thing to measure, and how its main figure is shown. */
export interface Case {
  readonly name: string;
  readonly title: string;
  readonly load: LoadName;
  readonly parallel: number;
  /** Those that can do it. */
  readonly contestants: readonly ContestantName[];
  /** What lies between two processes; absent: one process, SOCKS in and freedom out. */
  readonly tunnel?: Tunnel;
  /** What a case in network namespaces of its own has as its way in (a TUN device) or out (WireGuard). */
  readonly setting?: Setting;
  /** The figure that is compared. */
  readonly figure: string;
  readonly unit: string;
  /** What one of the figure's raw units is divided by for `unit`. */
  readonly divisor: number;
  readonly digits: number;
  readonly better: 'higher' | 'lower';
  readonly goals: readonly Goal[];
  /** Amount of work that processor time is given for; absent: not given. */
  readonly work?: { readonly per: string; readonly divisor: number };
}

/** What a case needs beside the programs that are measured. */
export type Setting = 'tun' | 'wireguard';

/** Figures beside the main one that goals are set for, and how they are called. */
export const GOAL_FIGURES = {
  cpuPerUnit: 'processor time per unit',
  loopP99: 'event-loop delay p99 in ms',
} as const;

/** A limit of one of Weir's figures, or of its ratio to another contestant's. */
export type Goal = {
  /** Absent: the figure of the case. */
  readonly figure?: keyof typeof GOAL_FIGURES;
  /** Absent: the figure itself. The best peer is the one with the best median of this figure. */
  readonly against?: ContestantName | 'the best peer';
} & ({ readonly atLeast: number } | { readonly atMost: number });

/** At least the rate of the best peer, without much more processor time than the thriftiest one. */
const AS_GOOD_AS_PEERS: readonly Goal[] = [
  { against: 'the best peer', atLeast: 1 },
  { figure: 'cpuPerUnit', against: 'the best peer', atMost: 1.2 },
];

/** Contestants of the cases without a tunnel. */
const ALL: readonly ContestantName[] = ['direct', 'pipe', 'weir', 'v2ray', 'xray', 'sing-box'];

const GBIT = 1e9 / 8;

export const stream = (
  name: string,
  title: string,
  load: LoadName,
  parallel: number,
  contestants: readonly ContestantName[] = ALL,
): Case => ({
  name,
  title,
  load,
  parallel,
  contestants,
  figure: 'rate',
  unit: 'Gbit/s',
  divisor: GBIT,
  digits: 2,
  better: 'higher',
  goals:
    parallel === 1 ? AS_GOOD_AS_PEERS : [...AS_GOOD_AS_PEERS, { figure: 'loopP99', atMost: 30 }],
  work: { per: 'GB', divisor: 1e9 },
});

/** What cases that count operations have in common. */
const PER_SECOND = {
  contestants: ALL,
  figure: 'rate',
  unit: '1/s',
  divisor: 1,
  digits: 0,
  better: 'higher',
} as const;

export const CONNECT: Case = {
  name: 'connect',
  title: 'new connections a second (32 at once)',
  load: 'connect',
  parallel: 32,
  ...PER_SECOND,
  goals: [{ against: 'the best peer', atLeast: 1.2 }],
  work: { per: '1,000 connections', divisor: 1000 },
};

export const IDLE: Case = {
  name: 'idle',
  title: 'resident memory of an idle flow',
  load: 'idle',
  parallel: 10_000,
  // The direct connection has no process whose memory could be measured.
  contestants: ALL.filter((name) => name !== 'direct'),
  figure: 'memoryPerFlow',
  unit: 'KB',
  divisor: 1024,
  digits: 1,
  better: 'lower',
  goals: [{ atMost: 12 }],
};

export const DATAGRAMS: Case = {
  name: 'udp',
  title: 'datagrams there and back a second (512 bytes, 64 in flight)',
  load: 'datagrams',
  parallel: 64,
  ...PER_SECOND,
  goals: [{ against: 'the best peer', atLeast: 1 }],
  work: { per: '1,000 datagrams', divisor: 1000 },
};

export const latency = (name: string, title: string, parallel: number): Case => ({
  name,
  title,
  load: 'request',
  parallel,
  contestants: ALL,
  figure: 'p50',
  unit: 'µs',
  divisor: 0.001,
  digits: 0,
  better: 'lower',
  goals: [{ against: 'the best peer', atMost: 1 }],
});
