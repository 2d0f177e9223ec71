import assert from 'node:assert/strict';
import { SystemRandomSource } from '@weir/base/random';
import { LiveSessions } from '@weir/proxy/engine';
import { type IpEndpoint, toEndpoint } from '@weir/base/ip';
import { type Logger, silentLogger } from '@weir/base/log';
import { systemClock } from '@weir/io/time';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { TunPlan } from '@weir/io/sockets';
import { Netstack } from '@weir/netstack';
import { InboundMemory, type TunSettings } from '@weir/proxy/protocols';
import { Tracker } from '@weir/proxy/tracker';
import type {
  Dispatcher,
  PacketRequest,
  SessionListener,
  StreamRequest,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import { TunServer } from '../../../../packages/proxy/src/protocols/tun/inbound.ts';
import { devicePair, type MemoryDevice } from '../../netstack/device-pair.ts';

export const SETTINGS: TunSettings = {
  name: 'weir0',
  mtu: 1500,
  addresses: [{ address: '172.19.0.1', prefix: 30 }],
  routes: [],
  udp: { idleSeconds: 60 },
  maxFlows: 100,
};

/** The address of the programs that use the device. */
export const PROGRAM = '172.19.0.1';

/** Requests that came, with what their dispatcher does about them. */
export class RecordingDispatcher implements Dispatcher {
  readonly streams: StreamRequest[] = [];
  readonly associations: PacketRequest[] = [];
  onStream: (request: StreamRequest) => Promise<void> = async (request) => {
    const link = await request.accept();
    for (let chunk = await link.read(); chunk; chunk = await link.read()) await link.write(chunk);
    await link.closeWrite();
  };

  stream(request: StreamRequest): Promise<void> {
    this.streams.push(request);
    return this.onStream(request);
  }

  async packets(request: PacketRequest): Promise<void> {
    this.associations.push(request);
    const { client } = request;
    try {
      for (let packet = await client.receive(); packet; packet = await client.receive()) {
        client.send(packet);
      }
    } catch {
      // The association was ended with a cause.
    }
  }
}

/** The device in memory has no address on this host. */
const noSocket = (): Promise<never> => Promise.reject(new Error('no such address'));

/** A server on one of two devices in memory, and a stack with programs on the other. */
export class TunRig {
  readonly dispatcher = new RecordingDispatcher();
  readonly lines: string[] = [];
  hasRoomForDial = true;
  readonly plans: TunPlan[] = [];
  readonly #devices: [MemoryDevice, MemoryDevice][] = [];
  readonly #names = new Set<string>();
  readonly #programs = new Map<MemoryDevice, Netstack>();

  server(settings: Partial<TunSettings> = {}, tag = 'tun'): TunServer {
    const log: Logger = {
      ...silentLogger,
      enabled: () => true,
      debug: (line) => this.lines.push(String(line)),
      error: (line) => this.lines.push(String(line)),
    };
    const context = {
      tag,
      sniffing: true,
      unixSocket: false,
      dispatcher: this.dispatcher,
      memory: new InboundMemory(),
      clock: systemClock,
      log,
    };
    const open = (plan: TunPlan): MemoryDevice => {
      this.plans.push(plan);
      const { name } = plan;
      if (name !== undefined && this.#names.has(name)) throw new Error(`${name} exists already`);
      const pair = devicePair();
      if (name !== undefined) {
        this.#names.add(name);
        void pair[0].closed.then(() => this.#names.delete(name));
      }
      this.#devices.push(pair);
      return pair[0];
    };
    return new TunServer({ ...SETTINGS, ...settings }, context, {
      descriptorLimit: () => 1024,
      takeRoomForDial: () => this.hasRoomForDial,
      open,
      random: new SystemRandomSource(),
      sockets: { listen: noSocket, bindUdp: noSocket },
      programRoute: () => 'none',
      systemResolvers: () => Promise.resolve([]),
    });
  }

  registry(tag = 'tun'): LiveSessions {
    return new LiveSessions(tag, new Tracker(systemClock), new OwnListeners());
  }

  async bound(
    settings: Partial<TunSettings> = {},
  ): Promise<{ listener: SessionListener; registry: LiveSessions; device: MemoryDevice }> {
    const registry = this.registry();
    const listener = await this.server(settings).bind({ kind: 'none' }, registry);
    const [device] = this.#devices.at(-1) ?? [];
    assert.ok(device);
    return { listener, registry, device };
  }

  /** The programs' side of the device that was opened last. */
  programs(): Netstack {
    const [, device] = this.#devices.at(-1) ?? [];
    assert.ok(device);
    const known = this.#programs.get(device);
    if (known) return known;
    const programs = new Netstack({
      device,
      clock: systemClock,
      random: new SystemRandomSource(),
      addresses: [endpoint(PROGRAM, 0)],
      isPaced: false,
      settings: { maxFlows: 1000, udp: true, udpIdle: 60_000 },
    });
    this.#programs.set(device, programs);
    return programs;
  }
}

export function endpoint(host: string, port: number): IpEndpoint {
  const found = toEndpoint(host, port);
  assert.ok(found);
  return found;
}
