import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf } from '../../test/support/data/address.ts';
import { Child } from '../../test/support/process/child.ts';
import { eventually } from '../../test/support/wait.ts';
import { scratch, Weir } from '../../test/support/process/weir.ts';
import { probeArgs, type Contestant, type ContestantName } from '../contestants.ts';
import { attempt, FAR_HOST } from '../tun/networks.ts';
import { singBoxConfig, weirConfig, xrayConfig } from './configs.ts';
import type { WireGuardFar } from './peer.ts';

/** Of the others' SOCKS inbounds, in a namespace where nothing else listens. */
const SOCKS_PORT = 1080;

/**
 * Starts a contestant with a SOCKS inbound on the near side, whose tunnel leads to the origin at `port` of
 * the far side.
 *
 * @param probed whether one in Node reports its event-loop delay, which takes processor time.
 */
export async function startBeforePeer(
  name: ContestantName,
  { networks: { near }, end }: WireGuardFar,
  port: number,
  probed: boolean,
): Promise<Contestant> {
  const target = { host: FAR_HOST, port };
  if (name === 'weir') {
    const options = { prefix: near, nodeArgs: probeArgs(probed) };
    const weir = await Weir.start(weirConfig(end), options);
    return {
      via: { host: '127.0.0.1', port: portOf(weir.address('socks')), target },
      children: [weir.child],
      [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
    };
  }
  const [args, config] = programOf(name, end);
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await scratch());
  const file = join(path, 'config.json');
  await writeFile(file, JSON.stringify(config));
  const child = stack.use(new Child(name, [...args, file], { prefix: near }));
  await eventually(`the listener of ${name}`, () => {
    if (child.ended) throw new Error(`${name} ended:\n${child.stdout}${child.stderr}`);
    return attempt(near, `ss -Hltn sport = :${SOCKS_PORT}`).stdout !== '';
  });
  const started = stack.move();
  return {
    via: { host: '127.0.0.1', port: SOCKS_PORT, target },
    children: [child],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Its arguments before the configuration file, and the configuration. */
function programOf(
  name: ContestantName,
  end: WireGuardFar['end'],
): readonly [args: readonly string[], config: object] {
  if (name === 'sing-box') return [['run', '-c'], singBoxConfig(end, SOCKS_PORT)];
  if (name === 'xray') return [['run', '-config'], xrayConfig(end, SOCKS_PORT)];
  throw new Error(`${name} has no WireGuard outbound that is measured`);
}
