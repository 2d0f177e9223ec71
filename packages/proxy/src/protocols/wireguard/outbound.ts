import { shownEndpoint, ipVersion, type Endpoint, type FamilyPolicy } from '@weir/io/addresses';
import { Deadline, DIAL_MS, resumedInTurns, type Timer, unlessAborted } from '@weir/io/time';
import { abortedDial, DialError } from '@weir/io';
import { connectAny } from '@weir/io/sockets';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { toEndpoint } from '@weir/base/ip';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { ResolvedPackets } from '../outbounds/resolved-packets.ts';
import { LEAST_SILENCE, RETRY_DELAY, SILENCE_LIMIT } from './limits.ts';
import { causesOfSilence, type WireGuardSettings } from './settings.ts';
import type { RunningTunnel, SharedTunnels, TunnelLease } from './shared-tunnels.ts';

/** Connects to destinations through a WireGuard tunnel, which starts with the first connection. */
export class WireGuardOutbound implements Outbound {
  readonly #settings: WireGuardSettings;
  readonly #context: OutboundContext;
  readonly #tunnels: SharedTunnels;
  /** The generation, greater than that of every outbound created before: a newer version takes over the keys. */
  readonly #generation: number;
  /** The policy for names, limited to the families of the own addresses; `undefined` if none is left. */
  readonly #family: FamilyPolicy | undefined;
  #lease: TunnelLease | undefined;
  #isClosed = false;

  constructor(settings: WireGuardSettings, context: OutboundContext, tunnels: SharedTunnels) {
    this.#settings = settings;
    this.#context = context;
    this.#tunnels = tunnels;
    this.#generation = tunnels.nextGeneration();
    this.#family = limitedPolicy(context.family, settings.addresses);
  }

  async connect(
    destination: Endpoint,
    { signal, origin, observe }: DialOptions,
  ): Promise<ByteLink> {
    const { clock, resolver, family } = this.#context;
    this.#mustReach(destination);
    let tunnel: RunningTunnel | undefined;
    /** Time at which the connection attempts began; nothing is sent for this dial before that. */
    let since = Infinity;
    using dial = new Deadline(clock, DIAL_MS, 'the connection', signal);
    const limit = clock.after(SILENCE_LIMIT, () => {
      const hasWaited = clock.now() - since >= LEAST_SILENCE;
      const isSilent = hasWaited && tunnel !== undefined && tunnel.device.receivedAt < since;
      if (tunnel === undefined || isSilent) dial.abort(this.#silence(tunnel));
    });
    try {
      tunnel = await unlessAborted(this.#running(), dial.signal);
      if (tunnel.device.receivedAt > -Infinity) observe?.('reused');
      const policy = this.#family ?? family;
      const { host, port } = destination;
      const addresses = await resolver.resolve(host, policy, dial.signal, origin?.source);
      observe?.('resolved');
      since = clock.now();
      return await this.#race(tunnel, addresses, port, dial.signal);
    } catch (error) {
      throw dial.signal.aborted ? abortedDial(dial.signal, destination) : error;
    } finally {
      limit.cancel();
    }
  }

  async associate({ signal, origin }: DialOptions): Promise<PacketLink> {
    this.#mustHaveAddress();
    const tunnel = await unlessAborted(this.#running(), signal);
    const { resolver, family, log, tag } = this.#context;
    const socket = tunnel.stack.bindUdp(origin?.source);
    const retry = this.#retryHandshakeLater(tunnel);
    void socket.closed.then(() => retry.cancel());
    return new ResolvedPackets(socket, {
      resolver,
      family: this.#family ?? family,
      client: origin?.source,
      // The routes of the host are those of the tunnel's own packets.
      hasRoute: () => true,
      // The stack drops datagrams to families of which it has no address.
      allows: () => true,
      onUnresolved: (error) =>
        log.info(`udp by ${tag}: ${error.message}`, { outbound: tag, error: error.message }),
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#lease?.release();
  }

  /**
   * Checks the family of a destination.
   * @throws {DialError} if no own address can reach the destination.
   */
  #mustReach(destination: Endpoint): void {
    this.#mustHaveAddress();
    const version = ipVersion(destination.host);
    const { addresses } = this.#settings;
    const isReached =
      version === 0
        ? this.#family !== undefined
        : addresses.some((address) => ipVersion(address) === version);
    if (isReached) return;
    const what = version === 0 ? 'address of its family' : `IPv${version} address`;
    const where = shownEndpoint(destination);
    throw new DialError('unreachable_network', `${where}: the tunnel has no ${what}`);
  }

  /**
   * Checks the own addresses.
   * @throws {DialError} if there are none.
   */
  #mustHaveAddress(): void {
    if (this.#settings.addresses.length > 0) return;
    throw new DialError('failed', 'wireguard: no tunnel-local addresses configured');
  }

  #running(): Promise<RunningTunnel> {
    if (this.#isClosed) {
      return Promise.reject(new DialError('aborted', 'the outbound was closed'));
    }
    if (this.#lease === undefined || this.#lease.isOver) {
      this.#lease?.release();
      this.#lease = this.#tunnels.lease(this.#settings, this.#generation, this.#context);
    }
    return resumedInTurns(this.#lease.running);
  }

  async #race(
    tunnel: RunningTunnel,
    addresses: readonly string[],
    port: number,
    signal: AbortSignal,
  ): Promise<ByteLink> {
    const { clock } = this.#context;
    const retry = this.#retryHandshakeLater(tunnel);
    try {
      return await connectAny(
        addresses,
        async (address, attempt) => {
          const target = toEndpoint(address, port);
          if (target) return tunnel.stack.connect(target, attempt);
          const where = shownEndpoint({ host: address, port });
          throw new DialError('unreachable_host', `${where}: no address inside of a tunnel`);
        },
        { clock, signal, discard: (link) => link.destroy() },
      );
    } finally {
      retry.cancel();
    }
  }

  /** Starts another handshake after a delay: a restarted peer has no session and ignores packets until then. */
  #retryHandshakeLater({ device }: RunningTunnel): Timer {
    const { clock } = this.#context;
    const since = clock.now();
    return clock.after(RETRY_DELAY, () => device.retryHandshake(since));
  }

  /** Returns the error of a dial for which the peer was silent, whatever the destination. */
  #silence(tunnel: RunningTunnel | undefined): DialError {
    const peer = shownEndpoint(this.#settings.endpoint);
    const what = tunnel
      ? `the WireGuard peer does not respond${tunnel.device.receivedAt > -Infinity ? '' : `; ${causesOfSilence(this.#settings)}`}`
      : 'the name did not resolve in time';
    return new DialError('timed_out', `${peer}: ${what}`);
  }
}

/** Returns `policy` limited to the families of `addresses`; `undefined` if no family is left. */
function limitedPolicy(
  policy: FamilyPolicy,
  addresses: readonly string[],
): FamilyPolicy | undefined {
  const has = (version: number): boolean =>
    addresses.some((address) => ipVersion(address) === version);
  if (has(4) && has(6)) return policy;
  const only = has(4) ? 'ipv4_only' : 'ipv6_only';
  const other = has(4) ? 'ipv6_only' : 'ipv4_only';
  return policy === other ? undefined : only;
}
