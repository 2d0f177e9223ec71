import { openTunnel, TunnelError } from '@weir/server/control';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { SocketLink } from '@weir/io/sockets';
import { FlowError, type OpenedFlow, type OutboundFlows } from './outbound-flows.ts';

/** Opens flows through the outbounds of a running Weir, by its control socket. */
export class RunningOutbounds implements OutboundFlows {
  readonly #socket: string;
  /**
   * Links of open flows. The control socket closes together with its last unread flow; nothing else would keep the
   * process alive.
   */
  readonly #open = new Set<SocketLink>();

  /** @param socket the path of the control socket */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /** @throws {ControlRequestError} when the running Weir has ended */
  async open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    try {
      const { stream, opened } = await openTunnel(this.#socket, { outbound, ...target }, signal);
      const link = new SocketLink(stream);
      this.#open.add(link);
      void link.closed.then(() => this.#open.delete(link));
      const { times, suspect } = opened;
      return { link, outbound: opened.outbound, times, suspect: suspect ?? undefined };
    } catch (error) {
      if (!(error instanceof TunnelError)) throw error;
      // The caller knows target and outbound; only a balancer's member is new.
      const known = `${formatEndpoint(target)} by ${outbound}: `;
      const { message, times } = error;
      const reason = message.startsWith(known) ? message.slice(known.length) : message;
      throw new FlowError(reason, times, { cause: error });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#open) link.destroy();
    return Promise.resolve();
  }
}
