import { toEndpoint, type IpEndpoint, type DeviceTraits } from '@weir/base/ip';
import { type Clock, type Defer, systemClock } from '@weir/io/time';
import { FaultyDevice, type Faults } from '../../../packages/netstack/src/faulty-device.ts';
import { Netstack, type AssociationRequest, type ConnectionRequest } from '@weir/netstack';
import type { StackSettings } from '../../../packages/netstack/src/stack.ts';
import type { Trace } from '../../../packages/netstack/src/trace.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';
import { devicePair, plainTraits, type MemoryDevice } from './device-pair.ts';

export const settings: StackSettings = { maxFlows: 65_536, udp: true, udpIdle: 60_000 };

/** An endpoint from its text. */
export function endpoint(host: string, port: number): IpEndpoint {
  const numbers = toEndpoint(host, port);
  if (numbers === undefined) throw new Error(`${host} is no IP address`);
  return numbers;
}

export const CLIENT_V4 = endpoint('10.0.0.1', 0);
export const CLIENT_V6 = endpoint('fd00::1', 0);

export interface StackPairOptions {
  readonly traits?: DeviceTraits;
  readonly clock?: Clock;
  readonly settings?: StackSettings;
  /** Those of the client, where they are to be others. */
  readonly clientSettings?: StackSettings;
  readonly trace?: Trace;
  readonly soon?: Defer;
  readonly seed?: number;
  /** Faults of the client's device, in both directions. */
  readonly faults?: Faults;
}

/** A client, from which connections begin, and a stack that stands for every destination. */
export interface StackPair {
  readonly client: Netstack;
  readonly server: Netstack;
  readonly devices: readonly [MemoryDevice, MemoryDevice];
  /** The next request. */
  connection(): Promise<ConnectionRequest>;
  association(): Promise<AssociationRequest>;
}

export function stackPair(options: StackPairOptions = {}): StackPair {
  const { clock = systemClock, traits = plainTraits(), soon, trace, seed = 1, faults } = options;
  const devices = devicePair(traits, soon);
  const connections = new Waiting<ConnectionRequest>();
  const associations = new Waiting<AssociationRequest>();
  const shared = { clock, settings: options.settings ?? settings, isPaced: false, soon, trace };
  const client = new Netstack({
    ...shared,
    settings: options.clientSettings ?? shared.settings,
    device: faults
      ? new FaultyDevice(devices[0], faults, clock, new SeededRandom(seed + 2))
      : devices[0],
    addresses: [CLIENT_V4, CLIENT_V6],
    random: new SeededRandom(seed),
  });
  const server = new Netstack({
    ...shared,
    device: devices[1],
    addresses: 'any',
    random: new SeededRandom(seed + 1),
    handlers: {
      onConnection: (request) => connections.push(request),
      onAssociation: (request) => associations.push(request),
    },
  });
  return {
    client,
    server,
    devices,
    connection: () => connections.next(),
    association: () => associations.next(),
  };
}

/** What came, for those that wait for it. */
class Waiting<Item> {
  readonly #items: Item[] = [];
  readonly #waiters: ((item: Item) => void)[] = [];

  push(item: Item): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter(item);
    else this.#items.push(item);
  }

  next(): Promise<Item> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }
}
