import { API, type Control } from '../process/control.ts';
import { eventually } from '../wait.ts';

/** Routes that cover every destination, beside the default routes. */
export const EVERYTHING = ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1'] as const;

/** The subnets of the device: `.1` and `::1` are its own, another address is the resolver's. */
export const TUN = {
  name: 'weir0',
  addresses: ['172.19.0.1/30', 'fd19::1/126'],
  host: '172.19.0.1',
  host6: 'fd19::1',
  resolver: '172.19.0.2',
  resolver6: 'fd19::2',
} as const;

export interface TunOptions {
  readonly tag?: string;
  /** `undefined` lets the kernel choose. */
  readonly name?: string | undefined;
  readonly address?: readonly string[];
  readonly routes?: readonly string[];
  /** Lines of the inbound's own table. */
  readonly inbound?: string;
  /** Lines of its settings. */
  readonly settings?: string;
}

/** A TUN inbound that takes everything, unless the settings say less. */
export function tunIn(options: TunOptions = {}): string {
  const { tag = 'tun', address = TUN.addresses, routes = EVERYTHING } = options;
  const name = 'name' in options ? options.name : TUN.name;
  return [
    '[[inbound]]',
    `tag = "${tag}"`,
    'protocol = "tun"',
    options.inbound ?? '',
    '[inbound.settings]',
    name === undefined ? '' : `name = "${name}"`,
    `address = ${JSON.stringify(address)}`,
    `routes = ${JSON.stringify(routes)}`,
    options.settings ?? '',
    '',
  ].join('\n');
}

/** With the API on the loopback, which the kernel never sends to the device. */
export const tunConfig = (outbounds: string, options?: TunOptions): string =>
  `${API}${tunIn(options)}${outbounds}`;

/** Ends every flow: a device is only replaced when it has none. */
export async function endFlows(control: Control): Promise<void> {
  await eventually('no live flows', async () => {
    await control.api.ask('DELETE', '/v1/connections');
    return (await control.connections()).flows.length === 0;
  });
}
