import type { RandomSource } from '../../crypto/random-source.ts';
import { formatEndpoint, ipVersion } from '../../net/addresses/address.ts';
import type { Clock } from '../../net/time/clock.ts';
import { DialError, toDialError } from '../../net/errors.ts';
import { numericEndpoint } from '../../net/addresses/numeric-endpoint.ts';
import type { Logger } from '../../log/logger.ts';
import { toEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { Netstack } from '../../netstack/driver.ts';
import { TunnelDevice, type BindDatagrams } from './driver.ts';
import { MAX_FLOWS } from './limits.ts';
import { createIdentity } from './handshake/noise.ts';
import type { WireGuardSettings } from './settings.ts';
import { causesOfSilence } from './silence.ts';
import type { TunnelEvent, TunnelSettings } from './tunnel.ts';
import { timestampAfter } from './wire.ts';

/** What tunnels use of their surroundings; tests give their own. */
export interface TunnelMeans {
  readonly bind: BindDatagrams;
  /** The first address of a name by the system's resolver. @throws the system's error. */
  readonly resolve: (name: string) => Promise<string>;
  readonly random: RandomSource;
}

/** The outbound that needs a tunnel. */
export interface TunnelUser {
  readonly tag: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A tunnel in service, with the stack that runs on it. */
export interface RunningTunnel {
  readonly stack: Netstack;
  readonly device: TunnelDevice;
}

/** Owned by one user of a tunnel. */
export interface TunnelLease {
  /** Rejects when the tunnel cannot be started. */
  readonly running: Promise<RunningTunnel>;
  /** Whether the tunnel has ended, so that another lease is to be taken. */
  readonly isOver: boolean;
  /** The tunnel ends with its last lease. Idempotent. */
  release(): void;
}

/**
 * The tunnels of a running proxy. A peer knows one session for a key: outbounds with the same keys, endpoint and
 * addresses share a tunnel, such as two versions of one of which the older carries its last flows.
 *
 * A newer version of an outbound that has its keys but another endpoint or other addresses takes the key
 * over: two tunnels would take the peer's session from each other time and again.
 */
export class SharedTunnels {
  readonly #means: TunnelMeans;
  /** By their keys. */
  readonly #tunnels = new Map<string, SharedTunnel>();
  /** That of the last initiation: a tunnel may begin in the same moment in which another one ended. */
  #timestamp: Uint8Array | undefined;
  #ages = 0;

  constructor(means: TunnelMeans) {
    this.#means = means;
  }

  /** An age for each outbound in the order of their creation: a greater one is newer. */
  nextAge(): number {
    return this.#ages++;
  }

  /** @param age of the outbound: a greater one is newer. */
  lease(settings: WireGuardSettings, age: number, user: TunnelUser): TunnelLease {
    const key = keysOf(settings);
    const known = this.#tunnels.get(key);
    if (known !== undefined && !known.isOver) {
      if (known.fits(settings)) return known.lease(settings, age);
      if (known.age > age) return refusedLease(user.tag);
      known.end(new DialError('aborted', 'wireguard: a newer version has taken over the keys'));
    }
    const tunnel = new SharedTunnel(settings, user, {
      ...this.#means,
      timestamp: () => this.#nextTimestamp(user.clock),
      onOver: () => {
        if (this.#tunnels.get(key) === tunnel) this.#tunnels.delete(key);
      },
    });
    this.#tunnels.set(key, tunnel);
    return tunnel.lease(settings, age);
  }

  #nextTimestamp(clock: Clock): Uint8Array {
    this.#timestamp = timestampAfter(this.#timestamp, clock.wall());
    return this.#timestamp;
  }
}

/** What one tunnel uses of its surroundings. */
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
  #age = -Infinity;
  #current: TunnelSettings;
  #leases = 0;
  #started: RunningTunnel | undefined;
  #cause: Error | undefined;
  #isOver = false;

  constructor(settings: WireGuardSettings, user: TunnelUser, means: SharedTunnelMeans) {
    this.#settings = settings;
    this.#user = user;
    this.#means = means;
    this.#current = tunnelSettings(settings);
    this.#running = this.#start();
    // A user that has gone does not wait for it.
    this.#running.catch(() => this.end());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** That of its newest user. */
  get age(): number {
    return this.#age;
  }

  /** Whether flows of these settings can use it. */
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

  /** The MTU, the interval and the reserved bytes are those of its newest user. */
  lease(settings: WireGuardSettings, age: number): TunnelLease {
    this.#leases++;
    if (age > this.#age) {
      this.#age = age;
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
        if (this.#leases === 0) this.end();
      },
    };
  }

  /** Ends all flows. Idempotent. */
  end(cause?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cause = cause;
    this.#started?.stack.close(cause);
    this.#means.onOver();
  }

  async #start(): Promise<RunningTunnel> {
    const { tag, clock, log } = this.#user;
    const { endpoint, addresses } = this.#settings;
    try {
      const identity = identityOf(this.#settings);
      const remote = await this.#resolve();
      const { bind, random, timestamp } = this.#means;
      let isKnown = false;
      const device = await TunnelDevice.open({
        name: `wireguard ${tag}`,
        identity,
        endpoint: remote,
        settings: this.#current,
        clock,
        random,
        bind,
        timestamp,
        onEvent: (event) => {
          logEvent(log, tag, this.#settings, event, isKnown);
          isKnown ||= event === 'established';
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
      device.settings = this.#current;
      void stack.closed.then((cause) => this.end(cause));
      return this.#started;
    } catch (error) {
      throw toDialError(error, endpoint);
    }
  }

  /** The address of the peer, as the system resolves it at this moment. */
  async #resolve(): Promise<IpEndpoint> {
    const { host, port } = this.#settings.endpoint;
    const address = ipVersion(host) === 0 ? await this.#means.resolve(host) : host;
    const remote = numericEndpoint(address, port);
    if (remote) return remote;
    const where = formatEndpoint({ host, port });
    throw new DialError('not_found', `${where}: the name has no address`);
  }
}

/** @throws {DialError} for a public key with which no handshake can succeed. */
function identityOf(settings: WireGuardSettings) {
  const { privateKey, peerPublicKey, presharedKey } = settings;
  const key = Buffer.from(privateKey, 'hex');
  const identity = createIdentity(
    key,
    Buffer.from(peerPublicKey, 'hex'),
    presharedKey === undefined ? undefined : Buffer.from(presharedKey, 'hex'),
  );
  key.fill(0);
  if (identity) return identity;
  throw new DialError('failed', 'wireguard: peer_public_key is not the key of a peer');
}

const tunnelSettings = ({ mtu, keepalive, reserved }: WireGuardSettings): TunnelSettings => ({
  mtu,
  keepalive: keepalive * 1000,
  reserved,
});

/** What the stack connects from. */
export function firstOfEachFamily(addresses: readonly string[]): readonly IpEndpoint[] {
  return ([4, 6] as const).flatMap((family) => {
    const first = addresses.find((address) => ipVersion(address) === family);
    const endpoint = first === undefined ? undefined : toEndpoint(first, 0);
    return endpoint ?? [];
  });
}

/** @param isKnown whether there was a session with the peer. */
function logEvent(
  log: Logger,
  outbound: string,
  settings: WireGuardSettings,
  event: TunnelEvent,
  isKnown: boolean,
): void {
  const { endpoint } = settings;
  const peer = `outbound ${outbound}: the WireGuard peer ${formatEndpoint(endpoint)}`;
  const fields = { outbound, host: endpoint.host, port: endpoint.port };
  switch (event) {
    case 'established':
      log.info(`${peer} has completed a handshake`, fields);
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
