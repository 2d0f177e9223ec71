import { lookup } from 'node:dns/promises';
import { shownEndpoint, ipVersion, numericEndpoint } from '@weir/io/addresses';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import type { Clock } from '@weir/io/time';
import { DialError, toDialError } from '@weir/io';
import type { Logger } from '@weir/base/log';
import { systemSockets } from '@weir/io/sockets';
import {
  addressText,
  isIPv4Endpoint,
  isSameEndpoint,
  toEndpoint,
  type IpEndpoint,
  type BindDatagrams,
} from '@weir/base/ip';
import { Netstack } from '@weir/netstack';
import { TunnelDevice } from './tunnel-device.ts';
import { MAX_FLOWS, RESOLVE_INTERVAL } from './limits.ts';
import { createStaticKeys } from './handshake/noise.ts';
import { causesOfSilence, type WireGuardSettings } from './settings.ts';
import type { TunnelEvent, TunnelSettings } from './contract.ts';
import { timestampAfter } from './wire.ts';

/** The system services that tunnels use; tests substitute them. */
interface TunnelMeans {
  readonly bind: BindDatagrams;
  /**
   * Resolves the first address of a name by the system's resolver.
   * @param family the family of the address; by default either.
   * @throws the system's error.
   */
  readonly resolve: (name: string, family?: 4 | 6) => Promise<string>;
  readonly random: RandomSource;
}

const SYSTEM: TunnelMeans = {
  bind: (options, handlers) => systemSockets().bindDatagrams(options, handlers),
  resolve: async (name, family) =>
    (await lookup(name, { family: family ?? 0, order: 'verbatim' })).address,
  random: new SystemRandomSource(),
};

/** The outbound that needs a tunnel. */
export interface TunnelUser {
  readonly tag: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Aborts when the proxy has stopped; see `OutboundContext`. */
  readonly stopped?: AbortSignal | undefined;
}

/** A tunnel in service, with the stack that runs on it. */
export interface RunningTunnel {
  readonly stack: Netstack;
  readonly device: TunnelDevice;
}

/** A use of a tunnel by one of its users. */
export interface TunnelLease {
  /** Rejects when the tunnel cannot be started. */
  readonly running: Promise<RunningTunnel>;
  /** Whether the tunnel has ended, so that another lease has to be taken. */
  readonly isOver: boolean;
  /** Ends the lease; the tunnel ends after its last lease, when its connections have closed. Idempotent. */
  release(): void;
}

/**
 * The tunnels of a running proxy. A peer keeps one session per public key, so outbounds with the same keys, preshared
 * key, endpoint and addresses share a tunnel: two versions of one outbound, for instance, while the older carries its
 * last flows.
 *
 * A newer outbound with the same keys, but another preshared key, endpoint or addresses, takes over the keys: two
 * tunnels would keep taking the peer's session from each other.
 */
export class SharedTunnels {
  readonly #means: TunnelMeans;
  /** The tunnels by `keysOf`. */
  readonly #tunnels = new Map<string, SharedTunnel>();
  #generations = 0;
  /** The timestamp of the last initiation: a tunnel may start in the same moment in which another has ended. */
  #timestamp: Uint8Array | undefined;

  constructor(means = SYSTEM) {
    this.#means = means;
  }

  /** Returns a number for each outbound: a newer one has a greater number. */
  nextGeneration(): number {
    return this.#generations++;
  }

  /** @param generation the generation of the outbound */
  lease(settings: WireGuardSettings, generation: number, user: TunnelUser): TunnelLease {
    const key = keysOf(settings);
    const running = this.#tunnels.get(key);
    if (running !== undefined && !running.isOver) {
      if (running.fits(settings)) return running.lease(settings, generation);
      if (running.isLeased && running.generation > generation) return refusedLease(user.tag);
      running.end(new DialError('aborted', 'wireguard: a newer version has taken over the keys'));
    }
    const tunnel = new SharedTunnel(settings, user, {
      ...this.#means,
      timestamp: () => this.#nextTimestamp(user.clock),
      onOver: () => {
        if (this.#tunnels.get(key) === tunnel) this.#tunnels.delete(key);
      },
    });
    this.#tunnels.set(key, tunnel);
    return tunnel.lease(settings, generation);
  }

  #nextTimestamp(clock: Clock): Uint8Array {
    this.#timestamp = timestampAfter(this.#timestamp, clock.wall());
    return this.#timestamp;
  }
}

/** Dependencies of one tunnel. */
interface SharedTunnelMeans extends TunnelMeans {
  readonly timestamp: () => Uint8Array;
  readonly onOver: () => void;
}

const keysOf = ({ privateKey, peerPublicKey }: WireGuardSettings): string =>
  `${privateKey} ${peerPublicKey}`;

function refusedLease(tag: string): TunnelLease {
  const message = `wireguard: a newer version of ${tag} uses the keys with other settings`;
  const running = Promise.reject<RunningTunnel>(new DialError('failed', message));
  running.catch(() => undefined);
  return { running, isOver: true, release: () => undefined };
}

class SharedTunnel {
  readonly #settings: WireGuardSettings;
  readonly #user: TunnelUser;
  readonly #means: SharedTunnelMeans;
  readonly #running: Promise<RunningTunnel>;
  #generation = -Infinity;
  #current: TunnelSettings;
  #leases = 0;
  /** Number of leases taken so far. */
  #taken = 0;
  #started: RunningTunnel | undefined;
  #cause: Error | undefined;
  #isOver = false;
  /** Time at which the name of the peer was last resolved. */
  #resolvedAt = -Infinity;

  constructor(settings: WireGuardSettings, user: TunnelUser, means: SharedTunnelMeans) {
    this.#settings = settings;
    this.#user = user;
    this.#means = means;
    this.#current = tunnelSettings(settings);
    this.#running = this.#start();
    // A failed start ends the tunnel even if no user awaits `running`.
    this.#running.catch(() => this.end());
    user.stopped?.addEventListener('abort', this.#onStopped, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the tunnel has users, rather than only delivering data of former ones. */
  get isLeased(): boolean {
    return this.#leases > 0;
  }

  /** The generation of the tunnel's newest user. */
  get generation(): number {
    return this.#generation;
  }

  /** Whether flows with these settings can use the tunnel. */
  fits({ presharedKey, endpoint, addresses }: WireGuardSettings): boolean {
    const own = this.#settings;
    return (
      own.presharedKey === presharedKey &&
      own.endpoint.host === endpoint.host &&
      own.endpoint.port === endpoint.port &&
      own.addresses.length === addresses.length &&
      own.addresses.every((address, index) => address === addresses[index])
    );
  }

  /** Adds a user, whose MTU, keepalive interval and reserved bytes apply if it is the newest. */
  lease(settings: WireGuardSettings, generation: number): TunnelLease {
    this.#leases++;
    this.#taken++;
    if (generation > this.#generation) {
      this.#generation = generation;
      this.#current = tunnelSettings(settings);
      if (this.#started) this.#started.device.settings = this.#current;
    }
    let isReleased = false;
    const isOver = (): boolean => this.#isOver;
    return {
      running: this.#running,
      get isOver() {
        return isOver();
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#leases--;
        if (this.#leases === 0) void this.#retire();
      },
    };
  }

  /** Ends all flows. Idempotent. */
  end(cause?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cause = cause;
    this.#user.stopped?.removeEventListener('abort', this.#onStopped);
    this.#started?.stack.close(cause);
    this.#means.onOver();
  }

  readonly #onStopped = (): void => this.end();

  /** Ends the tunnel when the last data has been delivered, unless there is another lease by then. */
  async #retire(): Promise<void> {
    const taken = this.#taken;
    await this.#started?.stack.whenLeft();
    if (this.#taken === taken) this.end();
  }

  async #start(): Promise<RunningTunnel> {
    const { tag, clock, log } = this.#user;
    const { endpoint, addresses } = this.#settings;
    try {
      const staticKeys = staticKeysOf(this.#settings);
      const remote = await this.#resolve();
      const { bind, random, timestamp } = this.#means;
      let isKnown = false;
      const opened = this.#current;
      const device = await TunnelDevice.open({
        name: `wireguard ${tag}`,
        staticKeys,
        endpoint: remote,
        settings: opened,
        clock,
        random,
        bind,
        timestamp,
        onEvent: (event) => {
          logEvent(log, tag, this.#settings, event, isKnown);
          isKnown ||= event === 'established';
          if (event === 'unanswered') void this.#resolveAgain();
        },
      });
      const stack = new Netstack({
        device,
        clock,
        random,
        addresses: firstOfEachFamily(addresses),
        isPaced: true,
        settings: { maxFlows: MAX_FLOWS, udp: true, udpIdle: Infinity },
      });
      if (this.#isOver) stack.close(this.#cause);
      this.#started = { stack, device };
      if (this.#current !== opened) device.settings = this.#current;
      void stack.closed.then((cause) => this.end(cause));
      return this.#started;
    } catch (error) {
      throw toDialError(error, endpoint);
    }
  }

  /**
   * Resolves the name of a silent peer again and sends to its current address, since the address of a host may change.
   * A tunnel whose peer no longer has an address of the socket's family ends, so that the next flow starts another.
   */
  async #resolveAgain(): Promise<void> {
    const { tag, clock, log } = this.#user;
    const { host, port } = this.#settings.endpoint;
    if (ipVersion(host) !== 0 || clock.now() - this.#resolvedAt < RESOLVE_INTERVAL) return;
    this.#resolvedAt = clock.now();
    const device = this.#started?.device;
    if (!device) return;
    const family = isIPv4Endpoint(device.endpoint) ? 4 : 6;
    try {
      const remote = await this.#resolve(family).catch(() => this.#resolve());
      if (this.#isOver || isSameEndpoint(remote, device.endpoint)) return;
      // The peer has sent meanwhile.
      if (device.receivedAt > this.#resolvedAt) return;
      const where = shownEndpoint({ host: addressText(remote), port });
      log.info(
        `outbound ${tag}: the WireGuard peer ${shownEndpoint({ host, port })} is at ${where} now`,
        {
          outbound: tag,
          host,
          port,
        },
      );
      if (isIPv4Endpoint(remote) === isIPv4Endpoint(device.endpoint)) device.moveTo(remote);
      else this.end(new DialError('upstream', `wireguard: the peer has moved to ${where}`));
    } catch {
      // The name is resolved once more after the next interval; that the peer is silent is logged.
    }
  }

  /** Returns the current address of the peer, resolved by the system. @param family by default either */
  async #resolve(family?: 4 | 6): Promise<IpEndpoint> {
    const { host, port } = this.#settings.endpoint;
    const address = ipVersion(host) === 0 ? await this.#means.resolve(host, family) : host;
    const remote = numericEndpoint(address, port);
    if (remote) return remote;
    const where = shownEndpoint({ host, port });
    throw new DialError('not_found', `${where}: the name has no address`);
  }
}

/**
 * Returns the static keys of settings.
 * @throws {DialError} for a public key of low order.
 */
function staticKeysOf(settings: WireGuardSettings) {
  const { privateKey, peerPublicKey, presharedKey } = settings;
  const key = Buffer.from(privateKey, 'hex');
  const staticKeys = createStaticKeys(
    key,
    Buffer.from(peerPublicKey, 'hex'),
    presharedKey === undefined ? undefined : Buffer.from(presharedKey, 'hex'),
  );
  key.fill(0);
  if (staticKeys) return staticKeys;
  throw new DialError('failed', 'wireguard: peer_public_key is not the key of a peer');
}

const tunnelSettings = ({ mtu, keepalive, reserved }: WireGuardSettings): TunnelSettings => ({
  mtu,
  keepalive: keepalive * 1000,
  reserved,
});

/** Returns the own addresses from which the stack connects. */
function firstOfEachFamily(addresses: readonly string[]): readonly IpEndpoint[] {
  return ([4, 6] as const).flatMap((family) => {
    const first = addresses.find((address) => ipVersion(address) === family);
    const endpoint = first === undefined ? undefined : toEndpoint(first, 0);
    return endpoint ?? [];
  });
}

/**
 * Logs an event of a tunnel.
 * @param isKnown whether there has been a session with the peer.
 */
function logEvent(
  log: Logger,
  outbound: string,
  settings: WireGuardSettings,
  event: TunnelEvent,
  isKnown: boolean,
): void {
  const { endpoint } = settings;
  const peer = `outbound ${outbound}: the WireGuard peer ${shownEndpoint(endpoint)}`;
  const fields = { outbound, host: endpoint.host, port: endpoint.port };
  switch (event) {
    case 'established':
      log.info(`${peer} has completed a handshake`, fields);
      break;
    case 'unanswered':
      break;
    case 'silent':
      log.warn(
        `${peer} does not respond${isKnown ? '' : `; ${causesOfSilence(settings)}`}`,
        fields,
      );
      break;
    case 'restored':
      log.info(`${peer} responds again`, fields);
      break;
    case 'moved':
      log.info(`${peer} sends from another address`, fields);
      break;
    default:
      event satisfies never;
  }
}
