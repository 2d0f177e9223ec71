import { CONNECT, DATAGRAMS, stream, type Case, type Goal } from '../case.ts';
import type { ContestantName } from '../contestants.ts';

const CONTESTANTS: readonly ContestantName[] = ['weir', 'xray', 'sing-box'];

const MANY = 16;

/** Well above the others' rates, without more processor time. */
const GOALS: readonly Goal[] = [
  { against: 'the best peer', atLeast: 1.2 },
  { figure: 'cpuPerUnit', against: 'the best peer', atMost: 1 },
];

/** A case of the relays, through a tunnel to wireguard-go. */
const through = (test: Case): Case => ({
  ...test,
  name: `wireguard-${test.name}`,
  title: `WireGuard: ${test.title}`,
  contestants: CONTESTANTS,
  goals: GOALS,
  setting: 'wireguard',
});

/** The cases of a SOCKS inbound in front of a WireGuard outbound. */
export const WIREGUARD_CASES: readonly Case[] = [
  through(stream('down', 'one stream down', 'download', 1)),
  through(stream('up', 'one stream up', 'upload', 1)),
  through(stream('streams-down', `${MANY} streams down`, 'download', MANY)),
  through(stream('streams-up', `${MANY} streams up`, 'upload', MANY)),
  through(CONNECT),
  through(DATAGRAMS),
];
