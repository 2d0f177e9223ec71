import type { LocalFlows, LocalOptions } from '@weir/proxy/engine';
import { DialError } from '@weir/io';
import type { Instance } from '@weir/server/app/instance';
import { WeirAssociation } from './association.ts';
import type {
  Dialled,
  OpensStreams,
  WeirAssociateOptions,
  WeirConnectOptions,
  WeirDialOptions,
} from './dial.ts';
import { WeirSocket } from './socket.ts';

/** The tag of the inbound of flows that the host program opens, in records and for rules. */
const LIBRARY_INBOUND = 'library';

const MAX_PORT = 65_535;

/** Opens flows of the host program through a running proxy. */
export class FlowOpener implements OpensStreams {
  readonly #instance: Instance;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /**
   * Connects to a destination.
   * @throws {DialError} when it was not reached
   * @throws {TypeError} for a host that is not a string
   * @throws {RangeError} for an invalid port
   * @throws the reason of `signal`
   */
  async connect(options: WeirConnectOptions): Promise<Dialled> {
    const { host, port, signal, outbound } = options;
    checkText('host', host);
    if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) {
      throw new RangeError(`${String(port)} is not a port`);
    }
    signal?.throwIfAborted();
    this.#check(outbound);
    try {
      const local = localOptions(options);
      const { link, flow } = await this.#flows.connect({ host, port }, local, signal);
      const socket = new WeirSocket(link, flow.id, options);
      const { outbound: tag, outboundVersion, routingEpoch } = flow.info;
      const isStale = (): boolean => {
        const { running, snapshot } = this.#instance.supervisor;
        if (running.outbounds.get(tag)?.version.version !== outboundVersion) return true;
        return outbound === undefined && snapshot?.epoch !== routingEpoch;
      };
      return { socket, isStale };
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  /**
   * Opens an association.
   * @throws {DialError} `unknown_outbound`
   * @throws the reason of `signal` if it has aborted
   */
  associate(options: WeirAssociateOptions): WeirAssociation {
    const { signal, outbound } = options;
    signal?.throwIfAborted();
    this.#check(outbound);
    const association = new WeirAssociation((onFailure) =>
      this.#flows.associate({ ...localOptions(options), onFailure }),
    );
    const close = (): void => association.close();
    signal?.addEventListener('abort', close, { once: true });
    association.once('close', () => signal?.removeEventListener('abort', close));
    return association;
  }

  get #flows(): LocalFlows {
    return this.#instance.supervisor.local;
  }

  /** @throws {DialError} `aborted` when the proxy stops, `unknown_outbound` */
  #check(tag: string | undefined): void {
    if (this.#instance.stopping) throw new DialError('aborted', 'the proxy is stopping');
    if (tag === undefined || this.#instance.supervisor.pick(tag)) return;
    throw new DialError(
      'unknown_outbound',
      `no outbound or balancer has the tag ${JSON.stringify(tag)}`,
    );
  }
}

const localOptions = ({
  outbound,
  user,
  inbound = LIBRARY_INBOUND,
}: WeirDialOptions): LocalOptions => {
  checkText('inbound', inbound);
  if (user !== undefined) checkText('user', user);
  return { inbound, user, via: outbound };
};

/** Checks what a host program in JavaScript may have given. @throws {TypeError} */
function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`);
}
