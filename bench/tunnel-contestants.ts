import { startSingBoxSessions } from './sing-box-sessions.ts';
import { startPath } from './path/start-path.ts';
import { PROGRAMS } from '../test/support/ways/programs.ts';
import type { Program } from '../test/support/ways/program.ts';
import { weirProgram } from '../test/support/ways/weir.ts';
import { probeArgs, socksTo, type Contestant, type ContestantName } from './contestants.ts';
import type { Tunnel } from './tunnels.ts';

export type TunnelContestant = Exclude<
  ContestantName,
  'direct' | 'pipe' | 'weir-2' | 'weir-4' | 'sing-box-system'
>;

/** Weir as it is measured; `WEIR_CRYPTO` of the benchmark's own environment must not reach it. */
const weir = (env: Readonly<Record<string, string>>, probed = false): Program =>
  weirProgram({ nodeArgs: probeArgs(probed), env: { WEIR_CRYPTO: undefined, ...env } });

const BASELINE = { WEIR_CRYPTO: 'baseline' };

/** The program at both ends of a tunnel. */
export const TUNNEL_PROGRAMS: Readonly<Record<TunnelContestant, Program>> = {
  weir: weir({}),
  baseline: weir(BASELINE),
  v2ray: PROGRAMS.v2ray,
  xray: PROGRAMS.xray,
  'sing-box': PROGRAMS['sing-box'],
  hysteria: PROGRAMS.hysteria,
  'ss-libev': PROGRAMS['ss-libev'],
  'ss-rust': PROGRAMS['ss-rust'],
};

const isTunnelContestant = (name: ContestantName): name is TunnelContestant =>
  Object.hasOwn(TUNNEL_PROGRAMS, name);

/**
 * The pair of processes that stands between the generator and the origin at `port`.
 *
 * @param probed whether those in Node report their event-loop delay, which takes processor time.
 */
export async function startTunnel(
  name: ContestantName,
  tunnel: Tunnel,
  port: number,
  probed: boolean,
): Promise<Contestant> {
  if (!isTunnelContestant(name)) throw new Error(`${name} has no tunnel`);
  await using stack = new AsyncDisposableStack();
  const program = probed ? probedProgram(name) : TUNNEL_PROGRAMS[name];
  const server = stack.use(await program.server(tunnel.way));
  const path = tunnel.path && stack.use(await startPath(tunnel.path, server.address));
  const client = stack.use(await program.client(tunnel.way, (path ?? server).address));
  const started = stack.move();
  return {
    via: socksTo(client.address, port),
    children: [client.child, server.child],
    path,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const probedProgram = (name: TunnelContestant): Program =>
  weir(name === 'baseline' ? BASELINE : {}, true);

/**
 * A server in front of which many clients stand, each with a connection of its own: for the cost of
 * those at the server. They are one sing-box, so that each server has the same ones.
 *
 * @param count connections; the generator opens the one of a number by its destination.
 */
export async function startSessions(
  name: ContestantName,
  tunnel: Tunnel,
  port: number,
  probed: boolean,
  count: number,
): Promise<Contestant> {
  if (!isTunnelContestant(name)) throw new Error(`${name} has no tunnel`);
  await using stack = new AsyncDisposableStack();
  const program = probed ? probedProgram(name) : TUNNEL_PROGRAMS[name];
  const server = stack.use(await program.server(tunnel.way));
  const client = stack.use(await startSingBoxSessions(tunnel.way, server.address, count));
  const started = stack.move();
  return {
    via: socksTo(client.address, port),
    children: [server.child],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
