import { PROGRAMS } from '../test/support/ways/programs.ts';
import type { Program } from '../test/support/ways/program.ts';
import { weirProgram } from '../test/support/ways/weir.ts';
import { MEASURED, socksTo, type Contestant, type ContestantName } from './contestants.ts';
import type { Tunnel } from './tunnels.ts';

export type TunnelContestant = Exclude<ContestantName, 'direct' | 'pipe'>;

/** Weir as it is measured; `WEIR_CRYPTO` of the benchmark's own environment must not reach it. */
const measured = (env: Readonly<Record<string, string>>): Program =>
  weirProgram({ nodeArgs: MEASURED, env: { WEIR_CRYPTO: undefined, ...env } });

/** The program at both ends of a tunnel. */
export const TUNNEL_PROGRAMS: Readonly<Record<TunnelContestant, Program>> = {
  weir: measured({}),
  baseline: measured({ WEIR_CRYPTO: 'baseline' }),
  v2ray: PROGRAMS.v2ray,
  xray: PROGRAMS.xray,
  'sing-box': PROGRAMS['sing-box'],
  'ss-libev': PROGRAMS['ss-libev'],
  'ss-rust': PROGRAMS['ss-rust'],
};

/** The pair of processes that stands between the generator and the origin at `port`. */
export async function startTunnel(
  name: ContestantName,
  tunnel: Tunnel,
  port: number,
): Promise<Contestant> {
  if (name === 'direct' || name === 'pipe') throw new Error(`${name} has no tunnel`);
  await using stack = new AsyncDisposableStack();
  const program = TUNNEL_PROGRAMS[name];
  const server = stack.use(await program.server(tunnel.way));
  const client = stack.use(await program.client(tunnel.way, server.address));
  const started = stack.move();
  return {
    via: socksTo(client.address, port),
    children: [client.child, server.child],
    isNode: name === 'weir' || name === 'baseline',
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
