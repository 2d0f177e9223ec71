import { CONNECT, DATAGRAMS, IDLE, stream, type Case, type Goal } from './case.ts';
import type { ContestantName } from './contestants.ts';
import { isPlain, type Way } from '../test/support/ways/way.ts';
import { TUNNEL_PROGRAMS, type TunnelContestant } from './tunnel-contestants.ts';
import { HYSTERIA2_CASES } from './hysteria2-cases.ts';
import { TUNNELS, type Tunnel } from './tunnels.ts';

/** Those that support the tunnel. */
function contestantsOf({ way }: Tunnel): ContestantName[] {
  const names = Object.keys(TUNNEL_PROGRAMS) as TunnelContestant[];
  // TLS is Node's own either way.
  const able = (name: TunnelContestant): boolean =>
    (name !== 'baseline' || isPlain(way)) &&
    TUNNEL_PROGRAMS[name].unable(way, 'server') === undefined &&
    TUNNEL_PROGRAMS[name].unable(way, 'client') === undefined;
  return names.filter(able);
}

/** To reach on one stream; for 64 no more is asked than for the carriers. */
function goalsOf({ protocol, cipher = '', carrier }: Way, parallel: number): Goal[] {
  if (carrier !== undefined) return [{ against: 'v2ray', atLeast: 1 }];
  if (parallel > 1 || !cipher.includes('-gcm')) return [];
  const v2ray: Goal = { against: 'v2ray', atLeast: 1 };
  return protocol === 'shadowsocks' ? [v2ray, { against: 'ss-rust', atLeast: 0.7 }] : [v2ray];
}

function casesOf(tunnel: Tunnel): Case[] {
  const contestants = contestantsOf(tunnel);
  const name = (what: string): string => `tunnel-${tunnel.name}-${what}`;
  const title = (what: string): string => `${tunnel.title}: ${what}`;
  const pour = (
    what: string,
    text: string,
    load: 'download' | 'upload',
    parallel: number,
  ): Case => ({
    ...stream(name(what), title(text), load, parallel, contestants),
    goals: goalsOf(tunnel.way, parallel),
    tunnel,
  });
  const other = (what: string, test: Case): Case => ({
    ...test,
    name: name(what),
    title: title(test.title),
    contestants,
    goals: [],
    tunnel,
  });
  return [
    pour('down', 'one stream down', 'download', 1),
    pour('up', 'one stream up', 'upload', 1),
    pour('streams-down', '64 streams down', 'download', 64),
    other('connect', CONNECT),
    ...(tunnel.way.protocol === 'shadowsocks' ? [other('udp', DATAGRAMS)] : []),
    // Both processes together; enough flows for a steady figure, few enough for a handshake each.
    ...(tunnel.way.carrier === undefined ? [] : [other('idle', { ...IDLE, parallel: 1000 })]),
  ];
}

export const TUNNEL_CASES: readonly Case[] = [...TUNNELS.flatMap(casesOf), ...HYSTERIA2_CASES];
