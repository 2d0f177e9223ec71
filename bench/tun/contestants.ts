import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../../test/support/process/child.ts';
import { freedom } from '../../test/support/process/config.ts';
import { eventually } from '../../test/support/wait.ts';
import { scratch, Weir } from '../../test/support/process/weir.ts';
import { probeArgs, type Contestant, type ContestantName } from '../contestants.ts';
import { attempt, FAR_HOST, run, UPLINK, type Networks } from './networks.ts';

const DEVICE = 'tun0';
const ADDRESS = '172.19.0.1/30';
/** Everything, beside the default route. */
const ROUTES = ['0.0.0.0/1', '128.0.0.0/1'];

const WEIR = `
[dns]
backend = "system"
[[inbound]]
tag = "tun"
protocol = "tun"
[inbound.settings]
name = "${DEVICE}"
address = ["${ADDRESS}"]
routes = ${JSON.stringify(ROUTES)}
`;

const singBox = (stack: string): object => ({
  log: { level: 'warn' },
  inbounds: [
    {
      type: 'tun',
      interface_name: DEVICE,
      address: [ADDRESS],
      mtu: 1500,
      auto_route: true,
      stack,
    },
  ],
  outbounds: [{ type: 'direct' }],
  route: { auto_detect_interface: true },
});

/** Xray makes no routes by itself. */
const XRAY: object = {
  log: { loglevel: 'warning' },
  inbounds: [{ protocol: 'tun', port: 0, settings: { name: DEVICE, MTU: 1500 } }],
  outbounds: [{ protocol: 'freedom', streamSettings: { sockopt: { interface: UPLINK } } }],
};

/**
 * Starts a contestant that takes everything from the programs of the near side, in front of the origin
 * at `port` of the far side.
 *
 * @param probed whether one in Node reports its event-loop delay, which takes processor time.
 */
export async function startOnDevice(
  name: ContestantName,
  { near }: Networks,
  port: number,
  probed: boolean,
): Promise<Contestant> {
  const via = { host: FAR_HOST, port };
  await using stack = new AsyncDisposableStack();
  const children: Child[] = [];
  const other = async (program: string, args: readonly string[], config: object): Promise<void> => {
    const { path } = stack.use(await scratch());
    const file = join(path, 'config.json');
    await writeFile(file, JSON.stringify(config));
    children.push(stack.use(new Child(program, [...args, file], { prefix: near })));
  };
  if (name === 'weir') {
    const options = { prefix: near, nodeArgs: probeArgs(probed) };
    const { child } = stack.use(await Weir.launch(WEIR + freedom(), options));
    await child.until('its device', ({ stderr }) => stderr.includes(`on ${DEVICE}`) || undefined);
    children.push(child);
  } else if (name === 'xray') {
    await other('xray', ['run', '-config'], XRAY);
    await eventually('the device of Xray', () => {
      return attempt(near, `ip link set ${DEVICE} up`).status === 0;
    });
    run(near, `ip address add ${ADDRESS} dev ${DEVICE}`);
    for (const route of ROUTES) run(near, `ip route add ${route} dev ${DEVICE}`);
  } else if (name === 'sing-box' || name === 'sing-box-system') {
    await other('sing-box', ['run', '-c'], singBox(name === 'sing-box' ? 'gvisor' : 'system'));
    await eventually('a route to the device', () => {
      return attempt(near, `ip route get ${FAR_HOST}`).stdout.includes(DEVICE);
    });
  } else if (name !== 'direct') throw new Error(`${name} has no TUN inbound`);
  const started = stack.move();
  return { via, children, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
